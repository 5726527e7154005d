"""A tiny transformer over tokens, under a causal mask and one from outside: what a prover may not do.

Each attack is of a prover who insists on one step and computes all that follows honestly from it.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.helper import make_node

from tests.circuits.support import answered, challenged, first_violation, forge
from tests.circuits.test_lowering import refuse_all_lies
from tests.circuits.test_uniqueness import assert_unique
from tests.refusals import refuses
from zenserve.circuits import Inference, QuantGraph, compile_inference, load_onnx, quantise
from zenserve.kernels import fr
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy

WORDS, TOKENS = 4, 3
IDS, KEEP = np.array([3, 1, 2]), np.array([[1, 0, 1]])


def model() -> bytes:
    """An embedding, a normalisation, and attention of one head."""
    rng = np.random.default_rng(3)
    nodes = [
        make_node("Gather", ["table", "ids"], ["e"]),
        make_node("LayerNormalization", ["e", "ones"], ["x"]),
        make_node("MatMul", ["x", "w"], ["k"]),
        make_node("Transpose", ["k"], ["t"], perm=[0, 2, 1]),
        make_node("MatMul", ["x", "t"], ["s"]),
        make_node("Add", ["s", "causal"], ["c"]),
        make_node("Where", ["keep", "c", "least"], ["m"]),
        make_node("Softmax", ["m"], ["p"]),
        make_node("MatMul", ["p", "x"], ["y"]),
    ]
    constants = {
        "table": rng.normal(size=(WORDS, 2)),
        "ones": np.ones(2),
        "w": rng.normal(size=(2, 2)),
        "causal": np.triu(np.full((TOKENS, TOKENS), -np.inf), 1),
        "least": np.array(-1e9),
    }
    graph = helper.make_graph(
        nodes,
        "test",
        [
            helper.make_tensor_value_info("ids", TensorProto.INT64, [1, TOKENS]),
            helper.make_tensor_value_info("keep", TensorProto.BOOL, [1, 1, TOKENS]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


@pytest.fixture(scope="module")
def network() -> QuantGraph:
    rng = np.random.default_rng(5)
    keep = rng.integers(0, 2, (20, 1, TOKENS))
    keep[:, :, 0] = 1
    return quantise(load_onnx(model()), {"ids": rng.integers(0, WORDS, (20, TOKENS)), "keep": keep}, 3)


@pytest.fixture(scope="module")
def circuit(network: QuantGraph) -> Inference:
    return compile_inference(network, weight_privacy="private", reveal="values")


def given(network: QuantGraph, ids: NDArray[Any] = IDS, keep: NDArray[Any] = KEEP) -> dict[str, IntArray]:
    return network.quantise_inputs({"ids": ids, "keep": keep})


def test_every_wire_is_bound_and_has_one_value(network: QuantGraph, circuit: Inference) -> None:
    q = given(network)
    refuse_all_lies(circuit, q)
    assert_unique(circuit.program, challenged(circuit.program, circuit.assign(q)))


@pytest.mark.parametrize(
    "other",
    [{"ids": np.array([3, 1, 0])}, {"keep": np.array([[1, 1, 1]])}, {"keep": np.array([[1, 0, 0]])}],
    ids=["another token", "a longer sentence", "a shorter one"],
)
def test_public_tokens_and_masks_are_those_of_the_statement(
    network: QuantGraph, other: dict[str, NDArray[Any]]
) -> None:
    """The public inputs of one statement, and all wires of an honest proof of another."""
    public = compile_inference(
        network, input_privacy={"ids": "public", "keep": "public"}, weight_privacy="private", reveal="values"
    )
    honest, lie = (
        answered(public.program, public.assign(q)) for q in (given(network), given(network, **other))
    )
    assert first_violation(public.constraint_system, honest) is None
    assert first_violation(public.constraint_system, lie) is None
    count = 1 + public.constraint_system.public
    shown = [name for name in ("input/ids", "input/keep") if name in public.layout]
    assert shown == ["input/ids", "input/keep"]
    assert all(public.layout[name].max() < count for name in shown)
    for name in shown:
        wires = public.layout[name].ravel()
        lie[wires] = honest[wires]
    assert first_violation(public.constraint_system, lie) is not None


def embedding(first: int = 0) -> QuantGraph:
    """Of five words: of two tokens of three bits, ids and one more, the first of ids is left out. Calibration
    shows ``first`` alone."""
    nodes = [
        make_node("Slice", ["ids", "one", "two", "one"], ["last"]),
        make_node("Concat", ["last", "more"], ["joined"], axis=1),
        make_node("Gather", ["table", "joined"], ["y"]),
    ]
    constants = {
        "table": np.linspace(-1, 1, 10, dtype=np.float32).reshape(5, 2),
        "one": np.array([1]),
        "two": np.array([2]),
    }
    graph = helper.make_graph(
        nodes,
        "test",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, [1, n])
            for name, n in (("ids", 2), ("more", 1))
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    file = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return quantise(load_onnx(file), {"ids": [[0, first]], "more": [[0]]})


def test_a_token_beyond_the_vocabulary_is_refused_at_the_door() -> None:
    network = embedding()
    one, other = network.execute(network.quantise_inputs({"ids": [7, 4], "more": [4]})).logits.reshape(2, 2)
    assert np.array_equal(one, other)
    for saturate, token in product([False, True], [5, 7, 8, -1]):
        with refuses("input.out_of_range", "input/ids", match=r"^input/ids\[1\].* names none of"):
            network.quantise_inputs({"ids": [0, token], "more": [0]}, saturate=saturate)


def test_a_token_beyond_the_vocabulary_has_no_row_in_floats_or_integers() -> None:
    network = embedding()
    q = {"ids": np.array([[0, 5]]), "more": np.array([[0]])}
    with refuses("input.out_of_range", match="has 5 entries"):
        network.run(q)
    with refuses("input.out_of_range", match="has 5 entries"):
        embedding(first=5)
    # Before the first it names them from the end, as in ONNX.
    negative, places = embedding(first=-5), np.array([[0, 0]])
    assert np.array_equal(
        negative.run({"ids": places, "more": np.array([[1]])}),
        network.run({"ids": places, "more": np.array([[1]])}),
    )


@pytest.mark.parametrize("privacy", ["public", "private"])
@pytest.mark.parametrize("first", [0, -5], ids=["a place", "a place from either end"])
def test_no_witness_has_a_token_beyond_the_vocabulary(privacy: Privacy, first: int) -> None:
    """Whichever row a prover takes for it, or none, or several whose numbers sum to it."""
    network = embedding(first)
    circuit = compile_inference(
        network, input_privacy={"ids": privacy, "more": privacy}, weight_privacy="public", reveal="values"
    )
    zero, (selector,) = network.entries["more"].type.zero_point, circuit.layout["place1/selector"][1:]
    rows = [*np.eye(5, dtype=np.int64), np.zeros(5, np.int64), np.array([0, 1, 0, 0, 1])]
    for token in (*range(5), *range(5, 8 if first == 0 else 11)):
        honest = 0
        for row in rows:
            q = {"ids": np.full(2, zero), "more": np.array([zero + token])}
            wires = dict(zip(selector.tolist(), row.tolist(), strict=True))
            lie = answered(circuit.program, forge(circuit, q, wires))
            honest += first_violation(circuit.constraint_system, lie) is None
        assert honest == (token < 5)
    with refuses("input.out_of_range", "input/more"):
        circuit.witness({"ids": np.full(2, zero), "more": np.array([zero + 5])})


# Wires by the node that makes them, and what their integers are to be; of 3 bits, 8 is none.
ATTACKS = {
    "the row of another token": ("place1/selector", 1),
    "no row at all": ("place1/selector", 0),
    "a reciprocal root beyond its bound": ("activation1/out", 8),
    "another reciprocal root": ("activation1/out", 6),
    "a score that the mask lets through": ("only1/out", 7),
    "a hidden key with an exponential": ("only2/out", 7),
    "an exponential of another score": ("activation2/out", 5),
    "a saturated lookup": ("activation2/out", 8),
    "a largest score that is not one of them": ("max1/windows3/chosen", 7),
    "a reciprocal of another sum": ("sum2/out", 1),
    "a reciprocal that is none of it": ("sum2/out", 3),
    "shares that do not sum to one": ("mul2/out", 7),
    "a share of what the causal mask leaves out": ("pad2/padding", 7),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_prover_who_insists_on_one_step_is_refused(
    network: QuantGraph, circuit: Inference, name: str
) -> None:
    layer, value = ATTACKS[name]
    q = given(network)
    z = circuit.assign(q)
    tried = 0
    for wire in circuit.layout[layer].ravel().tolist():
        if int(z[wire]) != value:
            tried += 1
            lie = answered(circuit.program, forge(circuit, q, {wire: value}))
            assert fr.to_ints(lie[wire]) == [value]
            assert first_violation(circuit.constraint_system, lie) is not None
    assert tried
