"""Networks with a prior: the sum is exact, and takes hardly more rows than their own sums; refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.circuits.support import challenged, first_violation
from tests.refusals import refuses
from zenserve.circuits import QuantGraph, compile_inference, load_onnx, plan_inference, quantise
from zenserve.circuits.banks import MARGIN, form_of
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.lowering.clamps import Uncut
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.operators.add import QuantAdd
from zenserve.circuits.operators.dense import QuantDense
from zenserve.circuits.priors import Member, with_prior
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.verifier.bank import ANSWER, PRIOR, SEEN

ROWS = np.random.default_rng(0).random((8, 4))

TAPS, CLASSES = 60, 40
MOST_MORE = 5 * CLASSES + 2
"""Rows: a second argmax, whose margins have two limbs, and the prior's check; margins of what is seen have a
limb less than those of sums, and what is cut off of sums one more where it has 9 bits."""


def images(taps: int, count: int = 32) -> FloatArray:
    return np.random.default_rng(1).random((count, taps))


def dense(taps: int, classes: int) -> bytes:
    rng = np.random.default_rng(taps + classes)
    weight, bias = rng.normal(0, 2 / np.sqrt(taps), (classes, taps)), rng.normal(0, 0.2, classes)
    return to_onnx(tensor("x", taps).dense(weight, bias).graph())


def quantised(member: Member, x: FloatArray, classes: int, bits: int = 8) -> QuantGraph:
    return quantise(load_onnx(member.onnx), {"x": x, PRIOR: member.priors(classes, len(x))}, bits)


def test_a_prior_takes_few_rows() -> None:
    """All 16 bits of the sums' own, so that nothing is multiplied or clamped."""
    x, network = images(TAPS), dense(TAPS, CLASSES)
    graph = quantised(with_prior(network, x), x, CLASSES)
    (layer,) = (node for node in graph.nodes if isinstance(node, QuantDense))
    assert layer.rescale is not None
    assert layer.rescale.multiplier.tolist() == [1]
    plan = plan_inference(graph, input_privacy={PRIOR: "public"}, weight_privacy="committed")
    assert isinstance(plan.ways[layer.name].clamp, Uncut)
    without = plan_inference(quantise(load_onnx(network), x), weight_privacy="committed")
    assert plan.rows - without.rows <= MOST_MORE


@pytest.mark.parametrize(("taps", "bits"), [(4, 8), (60, 8), (60, 6), (3000, 8)])
def test_the_sum_is_exact_and_the_label_that_of_the_network(taps: int, bits: int) -> None:
    """Also of networks whose sums 16 bits do not hold, or that are quantised to other bits."""
    x, network = images(taps, 16), dense(taps, 5)
    member = with_prior(network, x)
    graph = quantised(member, x, 5, bits)
    assert form_of(graph).bit == member.bit
    integers = graph.entries["x"].type.quantise(x)
    added = np.random.default_rng(2).integers(0, MARGIN + 1, (len(x), 5))
    made = graph.run_all({"x": integers, PRIOR: added}, {*graph.outputs.values()})
    seen, answer = (made[graph.outputs[name]] for name in (SEEN, ANSWER))
    (zero,) = {graph.types[graph.outputs[SEEN]].zero_point}  # type: ignore[union-attr]
    assert (answer == seen - zero + added - MARGIN).all()
    real, exact = member.step * (seen - zero), load_onnx(network).run(x)
    assert np.abs(real - exact).max() < 0.05 * np.abs(exact).max() + member.step


@pytest.mark.parametrize("end", [-1, 1])
def test_what_sums_reach_at_most_is_within_their_bounds(end: int) -> None:
    """Of weights that no calibration has seen: a circuit with private weights is for all of their types."""
    x = images(6, 16)
    graph = quantised(with_prior(dense(6, 3), x), x, 3)
    (layer,) = (node for node in graph.nodes if isinstance(node, QuantDense))
    top = layer.weight_type.bits
    weight = np.full_like(layer.weight, 0 if end < 0 else (1 << top) - 1)
    weight[0] = layer.weight[0]
    extreme = replace(
        graph, nodes=tuple(replace(each, weight=weight) if each is layer else each for each in graph.nodes)
    )
    typed = TypedGraph(graph, "private", "private")
    given = {"x": np.full((1, 6), 255), PRIOR: np.full((1, 3), 0 if end < 0 else MARGIN)}
    made = extreme.run_all(given, {*graph.outputs.values()})
    for name in (SEEN, ANSWER):
        low, high = typed.outputs[name].bound.interval
        assert low <= made[graph.outputs[name]].min() <= made[graph.outputs[name]].max() <= high
    assert typed.outputs[SEEN].bound.interval > (0, 0)
    circuit = compile_inference(extreme, weight_privacy="private", reveal="label")
    z = circuit.assign({name: value[0] for name, value in given.items()})
    answered = challenged(circuit.program, z)
    assert first_violation(circuit.constraint_system, answered) is None
    for name in (SEEN, ANSWER):
        lie = z.copy()
        wire = int(circuit.layout[f"label/{name}"][0])
        lie[wire] = (lie[wire] + 1) % 3
        assert first_violation(circuit.constraint_system, challenged(circuit.program, lie)) is not None


def test_a_sum_reaches_no_further_than_its_terms() -> None:
    x = images(6, 16)
    graph = quantised(with_prior(dense(6, 3), x), x, 3)
    (added,) = (node for node in graph.nodes if isinstance(node, QuantAdd))
    typed = TypedGraph(graph, "private", "private")
    (low, high), zero = typed.outputs[SEEN].bound.interval, 1 << 15
    assert typed.made[added.name].bound.interval == (low - zero - MARGIN, high - zero)
    assert high - low < (1 << 16) - 1


def file(classes: int = 3, name: str = "x") -> bytes:
    return to_onnx(tensor(name, 4).dense(np.eye(classes, 4)).graph())


def of_an_old_opset() -> bytes:
    edited = onnx.load_from_string(file())
    edited.opset_import[0].version = 9
    return bytes(edited.SerializeToString())


def of_two_outputs() -> bytes:
    edited = onnx.load_from_string(file())
    edited.graph.node.append(helper.make_node("Relu", [edited.graph.output[0].name], ["more"]))
    edited.graph.output.append(helper.make_tensor_value_info("more", TensorProto.FLOAT, ["batch", 3]))
    return bytes(edited.SerializeToString())


@pytest.mark.parametrize(
    ("model", "images", "code"),
    [
        (file(name=PRIOR), ROWS, "model.inputs"),
        (file(classes=1), ROWS, "model.shape"),
        (to_onnx(tensor("x", 1, 2, 2).average_pool(1).graph()), ROWS.reshape(8, 1, 2, 2), "model.shape"),
        (of_two_outputs(), ROWS, "model.outputs"),
        (of_an_old_opset(), ROWS, "model.opset"),
    ],
    ids=["an input called prior", "one class", "an image of classes", "two outputs", "an old operator set"],
)
def test_what_cannot_be_a_model_of_a_bank_is_refused(model: bytes, images: FloatArray, code: str) -> None:
    with refuses(code):
        with_prior(model, images)


def test_a_network_without_a_prior_is_in_no_bank() -> None:
    with refuses("model.bank"):
        form_of(quantise(load_onnx(file()), ROWS))
