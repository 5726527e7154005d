"""Networks of several inputs and outputs, each with a name, a type and a privacy of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.helper import make_node

from tests.circuits.support import answered, challenged, first_violation
from tests.circuits.test_lowering import refuse_all_lies
from tests.circuits.test_uniqueness import assert_unique
from tests.refusals import refuses
from zenserve.circuits import (
    QuantGraph,
    compile_accuracy,
    compile_inference,
    compile_recognition,
    compile_registration,
    input_values,
    load_onnx,
    plan_inference,
    quantise,
)
from zenserve.circuits.lowering import Level
from zenserve.circuits.quantisation import report
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy, Reveal

ELEMENTS: Final = {"image": TensorProto.FLOAT, "mask": TensorProto.BOOL, "token::ids": TensorProto.INT64}
RNG = np.random.default_rng(23)
WEIGHT = RNG.normal(size=(4, 3)).astype(np.float32)
# By the names of the network of integers.
PRIVACIES: Final[dict[str, Privacy]] = {"image": "committed", "mask": "public", "token__ids": "private"}


def model(**outputs: str) -> bytes:
    """``scores``: of the image where the mask lets it through; ``shifted``: the tokens, and 1 more."""
    nodes = [
        make_node("Cast", ["mask"], ["kept"], to=TensorProto.FLOAT),
        make_node("Mul", ["image", "kept"], ["seen"]),
        make_node("MatMul", ["seen", "w"], ["scores"]),
        make_node("Cast", ["token::ids"], ["ids"], to=TensorProto.FLOAT),
        make_node("Add", ["ids", "one"], ["shifted"]),
        make_node("Identity", ["mask"], ["same"]),
        make_node("Add", ["one", "one"], ["two"]),
    ]
    shapes = {"image": 4, "mask": 4, "token::ids": 2, "never": 3}
    graph = helper.make_graph(
        nodes,
        "test",
        [
            helper.make_tensor_value_info(name, ELEMENTS.get(name, TensorProto.STRING), ["batch", size])
            for name, size in shapes.items()
        ],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
            for name in outputs or ("scores", "shifted")
        ],
        [numpy_helper.from_array(WEIGHT, "w"), numpy_helper.from_array(np.ones(1, np.float32), "one")],
    )
    opsets = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def samples(count: int = 16) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(5)
    return {
        "image": rng.normal(size=(count, 4)),
        "mask": rng.integers(0, 2, (count, 4)),
        "token::ids": rng.integers(0, 6, (count, 2)),
    }


@pytest.fixture(scope="module")
def graph() -> QuantGraph:
    return quantise(load_onnx(model()), samples(), 6, ranges={"token::ids": (0, 10)})


def integers(graph: QuantGraph, index: int = 0) -> dict[str, IntArray]:
    named = {"token__ids" if name == "token::ids" else name: each[index] for name, each in samples().items()}
    return graph.quantise_inputs(named)


def test_inputs_have_names_and_types_of_their_own(graph: QuantGraph) -> None:
    floats = load_onnx(model())
    assert [(each.name, each.shape, each.values) for each in floats.inputs] == [
        ("image", (4,), "real"), ("mask", (4,), "boolean"), ("token::ids", (2,), "integer"),
    ]  # fmt: skip
    kinds = {name: entry.type for name, entry in graph.entries.items()}
    assert [*kinds] == [*PRIVACIES]
    assert [(kind.zero_point, kind.bits) for kind in kinds.values()][1:] == [(0, 1), (0, 4)]
    assert kinds["image"].bits == 6
    assert {kinds["mask"].scale, kinds["token__ids"].scale} == {1.0}
    assert QuantGraph.from_bytes(graph.to_bytes()).to_bytes() == graph.to_bytes()
    assert {found.name for found in report(floats, graph, samples()).tensors} > {*PRIVACIES}


def test_it_agrees_with_onnxruntime() -> None:
    floats, x = load_onnx(model()), samples()
    kinds = {"image": np.float32, "mask": np.bool_, "token::ids": np.int64}
    data = without_strings(model())
    session = onnxruntime.InferenceSession(data)
    found = session.run(None, {name: each.astype(kinds[name]) for name, each in x.items()})
    made = floats.run_all(
        {name: each.astype(np.float64) for name, each in x.items()}, set(floats.outputs.values())
    )
    network = quantise(floats, x)
    named = {"token__ids" if name == "token::ids" else name: each for name, each in x.items()}
    q = {name: entry.type.quantise(named[name]) for name, entry in network.entries.items()}
    exact = network.run_all(q, set(network.outputs.values()))
    for name, expected in zip(floats.outputs, found, strict=True):
        np.testing.assert_allclose(made[floats.outputs[name]], expected, atol=1e-5)
        scale, zero = network.scale_of(network.outputs[name]) or (0.0, 0)
        real = scale * (exact[network.outputs[name]] - zero)
        assert np.abs(real - expected).max() < 0.03 * np.ptp(expected)


def without_strings(data: bytes) -> bytes:
    """The same without the input that nothing reads, and that onnxruntime would want."""
    read = ModelProto.FromString(data)
    del read.graph.input[3]
    return bytes(read.SerializeToString())


@pytest.mark.parametrize("level", [0, 2, 3, 5])
def test_every_wire_of_every_input_and_output_is_bound(graph: QuantGraph, level: Level) -> None:
    privacies: Mapping[str, Privacy] = PRIVACIES if level == 5 else PRIVACIES | {"image": "private"}
    circuit = compile_inference(
        graph, input_privacy=privacies, reveal={"scores": "logits", "shifted": "values"}, level=level
    )
    refuse_all_lies(circuit, integers(graph))
    z = circuit.assign(integers(graph, 1))
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
    assert_unique(circuit.program, challenged(circuit.program, z))


def test_what_is_shown_is_as_asked(graph: QuantGraph) -> None:
    circuit = compile_inference(
        graph, input_privacy=PRIVACIES, reveal={"scores": "logits", "shifted": "values"}
    )
    names = [group["name"] for group in circuit.public_layout]
    assert names == ["statement", "input/mask", "label/scores", "logits/scores", "values/shifted"]
    assert circuit.commitments == ["input/image"]
    assert circuit.privacy == {
        "input/image": "committed", "input/mask": "public", "input/token__ids": "private",
        "weights": "public",
    }  # fmt: skip
    assert "of the output scores" in circuit.meaning
    assert "The input image is the one that the commitment is to." in circuit.meaning
    q = integers(graph)
    exact = graph.run_all({name: each[None] for name, each in q.items()}, set(graph.outputs.values()))
    scores, shifted = (exact[tensor].ravel().tolist() for tensor in graph.outputs.values())
    assert circuit.values(q) == {
        "input/mask": q["mask"].tolist(), "label/scores": int(np.argmax(scores)), "logits/scores": scores,
        "values/shifted": shifted,
    }  # fmt: skip
    alone = compile_inference(graph, reveal={"shifted": "values"})
    assert [*alone.values(q)] == ["values/shifted"]
    assert "of the output scores, to what is not shown" in alone.meaning
    one = compile_inference(graph, input_privacy={"mask": "public"})
    assert one.privacy == {
        "input/image": "private", "input/mask": "public", "input/token__ids": "private", "weights": "public",
    }  # fmt: skip
    default = compile_inference(graph)
    assert default.reveal == {"scores": "label", "shifted": "label"}
    assert default.constraint_system.constraints == default.plan.rows == plan_inference(graph).rows


def test_a_commitment_is_to_an_input_by_its_name(graph: QuantGraph) -> None:
    q = integers(graph)["image"]
    own = input_values(graph, q, name="image")
    image, mask, tokens = graph.inputs
    types = [image, replace(mask, type=image.type), tokens]
    twins = QuantGraph(tuple(types), graph.nodes, graph.outputs)
    assert input_values(twins, q, name="image").tolist() == own.tolist()
    assert input_values(twins, q, name="mask").tolist()[:5] != own.tolist()[:5]
    with refuses("input.names"):
        input_values(graph, q)


def test_wrong_requests_are_refused(graph: QuantGraph) -> None:
    floats, x = load_onnx(model()), samples()
    with refuses("input.names", match="image, mask, token::ids"):
        quantise(floats, x["image"])
    with refuses("input.names"):
        quantise(floats, {"image": x["image"]})
    with refuses("input.shape", match="more samples"):
        quantise(floats, x | {"mask": x["mask"][1:]})
    with refuses("input.not_integer"):
        quantise(floats, x | {"mask": x["mask"] / 2})
    with refuses("input.names", "range", match="there are token::ids"):
        quantise(floats, x, ranges={"image": (0, 3)})
    with refuses("model.quantised", match="33 bits"):
        quantise(floats, x, ranges={"token::ids": (0, 1 << 32)})
    with refuses("input.out_of_range", "input/token__ids"):
        named = {"token__ids" if name == "token::ids" else name: each[0] for name, each in x.items()}
        graph.quantise_inputs(named | {"token__ids": [1, 16]})
    with refuses("statement.privacy", "input_privacy", match="image, mask, token__ids"):
        compile_inference(graph, input_privacy={"nothing": "public"})
    with refuses("statement.reveal"):
        compile_inference(graph, reveal={"nothing": "label"})
    with refuses("statement.reveal"):
        compile_inference(graph, reveal={})
    with refuses("statement.reveal", "top"):
        compile_inference(graph, top=2)
    with refuses("statement.several"):
        compile_accuracy(graph, batch=2)
    with refuses("statement.several"):
        compile_recognition(graph)


def test_outputs_may_be_inputs_and_one_tensor_twice() -> None:
    floats = load_onnx(model(same="", scores="", two=""))
    assert floats.outputs == {"same": "mask", "scores": "scores"}  # what is constant is left out
    x = {name: each for name, each in samples().items() if name in ("image", "mask")}
    network = quantise(floats, x)
    doubled = QuantGraph(
        network.inputs, network.nodes, dict(network.outputs) | {"again": network.outputs["scores"]}
    )
    q = doubled.quantise_inputs({name: each[0] for name, each in x.items()})
    reveal: dict[str, Reveal] = {"same": "values", "scores": "label", "again": "values"}
    circuit = compile_inference(doubled, reveal=reveal, weight_privacy="committed")
    values = circuit.values(q)
    assert values["values/same"] == q["mask"].tolist()
    z = answered(circuit.program, circuit.assign(q))
    assert first_violation(circuit.constraint_system, z) is None
    assert circuit.constraint_system.constraints == circuit.plan.rows
    refuse_all_lies(circuit, q)
    assert compile_registration(doubled).constraint_system.constraints > 0


def test_an_identity_is_proven() -> None:
    floats = load_onnx(model(same=""))
    assert (floats.nodes, floats.input.values) == ((), "boolean")
    network = quantise(floats, samples()["mask"])
    circuit = compile_inference(network, reveal="values")
    q = np.array([1, 0, 0, 1])
    assert circuit.values(q) == {"values": q.tolist()}
    refuse_all_lies(circuit, q)
    with refuses("model.outputs", match="'two'"):
        load_onnx(model(two=""))
