"""What only moves values: as onnxruntime does, for any shapes, and at no cost but wires."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import NodeProto
from onnx.helper import make_node

from tests.circuits.quantised import networks
from tests.circuits.support import answered, first_violation, make_model
from tests.circuits.test_lowering import refuse_all_lies
from tests.refusals import refuses
from zenserve.circuits import compile_inference, load_onnx, quantise
from zenserve.circuits.lowering import Level
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.operators.gather import Gather

Rng = np.random.Generator
# Nodes from "x" to "h", their constants, and the shape of x without its batch.
Case = tuple[Sequence[NodeProto], Mapping[str, NDArray[Any]], tuple[int, ...]]


def floats(rng: Rng, *shape: int) -> NDArray[np.float32]:
    return rng.standard_normal(shape).astype(np.float32)


def shape_of(rng: Rng, rank: int = 3) -> tuple[int, ...]:
    return tuple(int(size) for size in rng.integers(2, 6, rank))


def axis_of(rng: Rng, shape: Sequence[int]) -> int:
    """Of the ONNX tensor, from either end, the batch too."""
    return int(rng.integers(-len(shape) - 1, len(shape) + 1))


def one(kind: str, shape: tuple[int, ...], constants: Mapping[str, Any] | None = None, **said: Any) -> Case:
    weights = {name: np.asarray(value) for name, value in (constants or {}).items()}
    return [make_node(kind, ["x", *weights], ["h"], **said)], weights, shape


def slices(rng: Rng) -> Case:
    shape = (4, 5, 6)
    axes = rng.permutation(3)[: rng.integers(1, 4)]
    backwards = rng.random() < 0.5
    ends = {"s": [-1] * len(axes), "e": [-(1 << 40)] * len(axes), "a": axes + 1, "t": [-1] * len(axes)}
    forwards = {"s": [1] * len(axes), "e": [1 << 40] * len(axes), "a": axes + 1, "t": [2] * len(axes)}
    return one("Slice", shape, ends if backwards else forwards)


def gather(rng: Rng) -> Case:
    shape, axis = shape_of(rng), int(rng.integers(1, 4))
    size = shape[axis - 1]
    return one("Gather", shape, {"i": rng.integers(-size, size, (2, 2))}, axis=axis)


def gather_scalar(rng: Rng) -> Case:
    return one("Gather", shape_of(rng), {"i": 1}, axis=2)


def gather_batch(rng: Rng) -> Case:
    return one("Gather", shape_of(rng), {"i": 0}, axis=0)


def gather_elements(rng: Rng) -> Case:
    shape, axis = shape_of(rng), int(rng.integers(1, 4))
    inner = [1, *(int(rng.integers(1, size + 1)) for size in shape)]
    return one("GatherElements", shape, {"i": rng.integers(0, shape[axis - 1], inner)}, axis=axis)


def gather_nd(rng: Rng) -> Case:
    shape = shape_of(rng)
    wanted = np.stack([rng.integers(0, size, 4) for size in shape[:2]], axis=-1)
    if rng.random() < 0.5:
        return one("GatherND", shape, {"i": wanted[None]}, batch_dims=1)
    return one("GatherND", shape, {"i": np.concatenate([np.zeros((4, 1), np.int64), wanted], axis=1)})


def split(rng: Rng) -> Case:
    shape = (2, 6, 3)
    parts = make_node("Split", ["x", "s"], ["a", "b", "c"], axis=2)
    joined = make_node("Concat", ["c", "a", "b"], ["h"], axis=-2)
    return [parts, joined], {"s": np.array([1, 3, 2])}, shape


def joined_in_front(rng: Rng) -> Case:
    nodes = [make_node("Relu", ["x"], ["r"]), make_node("Concat", ["x", "r", "x"], ["h"], axis=0)]
    return nodes, {}, shape_of(rng)


def expand(rng: Rng) -> Case:
    return one("Expand", (3, 1, 2), {"s": [4, 1, 3, 5, 2]} if rng.random() < 0.5 else {"s": [1, 4, 1]})


def tile(rng: Rng) -> Case:
    return one("Tile", shape_of(rng), {"r": rng.integers(1, 4, 4)})


def trilu(rng: Rng) -> Case:
    return one("Trilu", shape_of(rng), {"k": int(rng.integers(-3, 4))}, upper=int(rng.integers(0, 2)))


def pad(rng: Rng) -> Case:
    shape = shape_of(rng)
    mode = str(rng.choice(["constant", "edge", "reflect", "wrap"]))
    pads = rng.integers(0, 2, (2, 4))
    pads[:, 0] = 0 if mode == "reflect" else pads[:, 0]
    return one("Pad", shape, {"p": pads.ravel()}, mode=mode)


def crop(rng: Rng) -> Case:
    return one("Pad", (3, 4, 5), {"p": [0, 0, -1, 1, 0, 2, 0, -2]})


def centred(rng: Rng) -> Case:
    return one("CenterCropPad", (5, 6, 3), {"s": rng.integers(1, 9, 3)}, axes=[1, 2, -1])


def reversed_sequences(rng: Rng) -> Case:
    nodes = [
        make_node("Squeeze", ["x", "a"], ["s"]),
        make_node("ReverseSequence", ["s", "l"], ["h"], batch_axis=1, time_axis=0),
    ]
    return nodes, {"a": np.array([0]), "l": rng.integers(1, 6, 4)}, (5, 4, 2)


def compressed(rng: Rng) -> Case:
    said = {"axis": 2} if rng.random() < 0.5 else {}
    return one("Compress", (3, 4), {"c": np.array([False, True, True])}, **said)


def sampled(rng: Rng) -> Case:
    said = {
        "align_corners": int(rng.integers(0, 2)),
        "padding_mode": str(rng.choice(["zeros", "border", "reflection"])),
    }
    grid = rng.uniform(-1.5, 1.5, (1, 2, 3, 2)).astype(np.float32)
    return one("GridSample", (2, 4, 5), {"g": grid}, mode="nearest", **said)


def depth_to_space(rng: Rng) -> Case:
    return one("DepthToSpace", (8, 2, 3), blocksize=2, mode=str(rng.choice(["DCR", "CRD"])))


def space_to_depth(rng: Rng) -> Case:
    return one("SpaceToDepth", (2, 4, 6), blocksize=2)


def resize(rng: Rng) -> Case:
    said = {
        "coordinate_transformation_mode": str(
            rng.choice(["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"])
        ),
        "nearest_mode": str(rng.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])),
    }
    shape = shape_of(rng)
    if rng.random() < 0.5:
        sizes = np.array([1, shape[0], *rng.integers(1, 12, 2)])
        inputs, weights = ["x", "", "", "z"], {"z": sizes}
    else:
        scales = np.array([1, 1, *rng.choice([0.5, 1.5, 2.0, 3.0], 2)], np.float32)
        inputs, weights = ["x", "", "z"], {"z": scales}
    return [make_node("Resize", inputs, ["h"], mode="nearest", **said)], weights, shape


def transpose(rng: Rng) -> Case:
    return one("Transpose", shape_of(rng), perm=rng.permutation(4).tolist())


def reshape(rng: Rng) -> Case:
    nodes = [make_node("Reshape", ["x", "s"], ["r"]), make_node("Transpose", ["r"], ["h"], perm=[1, 0])]
    return nodes, {"s": np.array([-1, 4])}, (2, 3, 4)


def axes(rng: Rng) -> Case:
    nodes = [
        make_node("Unsqueeze", ["x", "a"], ["u"]),
        make_node("Squeeze", ["u", "b"], ["q"]),
        make_node("Flatten", ["q"], ["h"], axis=int(rng.integers(-3, 4))),
    ]
    return nodes, {"a": np.array([0, 3]), "b": np.array([1])}, (2, 3)


def broadcast(rng: Rng) -> Case:
    """Sums and differences of tensors and constants of other shapes."""
    nodes = [
        make_node("GlobalAveragePool", ["x"], ["g"]),
        make_node("Sub", ["x", "g"], ["d"]),
        make_node("Mul", ["d", "m"], ["p"]),
        make_node("Add", ["p", "c"], ["h"]),
    ]
    constants = {"m": floats(rng, 3, 4, 5), "c": floats(rng, 2, 1, 1, 5)}
    return nodes, constants, (3, 4, 5)


def batch_size(rng: Rng) -> Case:
    """Shapes that the file computes from the batch."""
    nodes = [
        make_node("Shape", ["x"], ["s"]),
        make_node("Gather", ["s", "zero"], ["n"], axis=0),
        make_node("Mul", ["n", "twelve"], ["all"]),
        make_node("Unsqueeze", ["all", "axis"], ["t"]),
        make_node("Reshape", ["x", "t"], ["h"]),
    ]
    constants = {"zero": np.array(0), "twelve": np.array(12), "axis": np.array([0])}
    return nodes, constants, (3, 4)


CASES: list[Callable[[Rng], Case]] = [
    *(slices, gather, gather_scalar, gather_batch, gather_elements, gather_nd, split, joined_in_front),
    *(expand, tile, trilu, pad, crop, depth_to_space, space_to_depth, resize, transpose, reshape, axes),
    *(broadcast, batch_size, centred, reversed_sequences, compressed, sampled),
]


def model(case: Case, *tail: NodeProto, **weights: NDArray[Any]) -> bytes:
    nodes, constants, shape = case
    tail = tail or (make_node("Relu", ["h"], ["y"]),)
    return make_model([*nodes, *tail], {**constants, **weights}, ("batch", *shape), opset=19)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_it_agrees_with_onnxruntime(case: Callable[[Rng], Case]) -> None:
    rng = np.random.default_rng(20261122)
    for _ in range(8):
        made = case(rng)
        data, x = model(made), floats(rng, 1, *made[2])
        (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": x})
        graph = load_onnx(data)
        np.testing.assert_allclose(graph.run(x.astype(np.float64)).ravel(), expected.ravel(), atol=1e-5)
        written = onnxruntime.InferenceSession(to_onnx(graph)).run(None, {"x": x})[0]
        np.testing.assert_allclose(written.ravel(), expected.ravel(), atol=1e-5)


@pytest.mark.parametrize("level", get_args(Level))
def test_it_costs_nothing_and_what_it_moves_is_proven(level: Level) -> None:
    """A few values, moved and repeated, zeros among them, before a layer: one wire for the zeros, no more."""
    nodes = [
        make_node("Slice", ["x", "one", "all", "axis"], ["s"]),
        make_node("Trilu", ["s"], ["t"]),
        make_node("Concat", ["t", "s"], ["c"], axis=1),
        make_node("Transpose", ["c"], ["h"], perm=[2, 1, 0]),
        make_node("Reshape", ["h", "flat"], ["f"]),
        make_node("MatMul", ["f", "w"], ["y"]),
    ]
    rng = np.random.default_rng(7)
    constants = {"one": np.array([1]), "all": np.array([1 << 60]), "axis": np.array([2])}
    weights = {"flat": np.array([1, -1]), "w": floats(rng, 8, 2)}
    graph = load_onnx(model((nodes[:4], constants, (2, 3)), *nodes[4:], **weights))
    network = quantise(graph, floats(rng, 32, 2, 3).astype(np.float64), 3)
    circuit = compile_inference(network, level=level)
    rows = {block.name for block in circuit.constraint_system.blocks}
    assert {name for name in rows if name.startswith(("gather", "reshape", "pad"))} == {"pad1/padding"}
    for q in networks.inputs(network, 3, 2):
        z = circuit.assign(q)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        assert z[circuit.layout["label"][0]] == network.execute(q).label
    refuse_all_lies(circuit, q)


@pytest.mark.parametrize(
    ("made", "code", "words"),
    [
        (one("Slice", (3,), {"s": [0], "e": [2], "a": [1], "t": [0]}), "shape", "no step 0"),
        (one("Slice", (3,), {"s": [2], "e": [1], "a": [1]}), "outputs", "nothing to prove"),
        (one("Gather", (3,), {"i": 3}, axis=1), "shape", "outside an axis of 3"),
        (one("Gather", (3,), {"i": np.float32(1)}, axis=1), "shape", "outside"),
        (one("GatherElements", (3, 2), {"i": np.zeros((1, 3), np.int64)}, axis=1), "shape", "takes entries"),
        (one("GatherND", (3, 2), {"i": np.zeros((1, 4), np.int64)}), "shape", "takes entries"),
        (one("Split", (4,), {"s": [3, 2]}, axis=1), "shape", "into"),
        (one("Expand", (3,), {"s": [1, 4]}), "shape", "another shape"),
        (one("Expand", (3,), {"s": [1 << 40, 1]}), "too_large", "Expand"),
        (one("Tile", (3,), {"r": [1, 0]}), "shape", "repeats"),
        (one("Tile", (3,), {"r": [1 << 31, 1 << 31]}), "too_large", "Tile"),
        (one("Pad", (3,), {"p": [0, 4, 0, 0]}, mode="reflect"), "shape", "more than there is"),
        (one("Pad", (3,), {"p": [0, 1, 0, 0]}, mode="mirror"), "unsupported_attribute", "mode"),
        (one("Pad", (3,), {"p": [0, -9, 0, 9]}), "shape", "more than there is"),
        (one("Expand", (3,), {"s": [1] * 40}), "shape", "40 dimensions"),
        (one("Gather", (3,), {"i": np.zeros([1] * 8, np.int64)}, axis=1), "shape", "9 dimensions"),
        (one("Gather", (3,), {"i": np.zeros([1] * 9, np.int64)}, axis=1), "shape", "9 dimensions"),
        (one("Trilu", (3, 3), {"k": np.float32("nan")}), "tensor_type", "int64"),
        (one("DepthToSpace", (3, 2, 2), blocksize=2), "shape", "blocks"),
        (one("SpaceToDepth", (3, 3, 2), blocksize=2), "shape", "blocks"),
        (
            one("Resize", (3,), {"r": np.zeros(0), "s": np.ones(2)}, mode="sinc"),
            "unsupported_attribute",
            "use nearest",
        ),
    ],
    ids=lambda each: str(each)[:20],
)
def test_what_makes_no_sense_is_refused(made: Case, code: str, words: str) -> None:
    with refuses(f"model.{code}", match=words):
        load_onnx(model(made))


def test_dimensions_that_have_a_name_take_a_size() -> None:
    nodes = [make_node("Relu", ["x"], ["y"])]
    data = make_model(nodes, {}, ("batch", "tokens", 4))
    with refuses("model.dynamic_shape", match="--shape tokens="):
        load_onnx(data)
    assert load_onnx(data, {"tokens": 3}).input.shape == (3, 4)
    assert load_onnx(data, {"tokens": 3, "batch": 2}).input.shape == (2, 3, 4)
    with refuses("model.dynamic_shape", "shape", match="no input has a dimension 'tokn'.*'batch', 'tokens'"):
        load_onnx(data, {"tokn": 3, "tokens": 3})


def test_all_dimensions_without_a_size_are_named_those_without_a_name_by_their_place() -> None:
    data = make_model([make_node("Relu", ["x"], ["y"])], {}, ("batch", "tokens", None))
    with refuses("model.dynamic_shape", "shape", match="dimensions 1, 2 .* --shape tokens=… --shape x.2=…"):
        load_onnx(data)
    assert load_onnx(data, {"tokens": 3, "x.2": 4}).input.shape == (3, 4)


@pytest.mark.parametrize("wanted", [[0, 1], [1, 0], [0, 1, 2, 3, 0], [2]])
@pytest.mark.parametrize("level", get_args(Level))
def test_the_label_is_that_of_the_sums_that_are_left(wanted: list[int], level: Level) -> None:
    """Of four sums the first two, the largest being any of the four."""
    wanted = wanted * 2 if len(wanted) == 1 else wanted
    nodes = [make_node("MatMul", ["x", "w"], ["h"])]
    weights = {"w": np.eye(4, dtype=np.float32), "i": np.array(wanted)}
    data = model((nodes, weights, (4,)), make_node("Gather", ["h", "i"], ["y"], axis=1))
    network = quantise(load_onnx(data), np.random.default_rng(3).normal(size=(32, 4)), 3)
    circuit = compile_inference(network, level=level, reveal="logits")
    assert circuit.constraint_system.constraints == circuit.plan.rows
    for largest in range(4):
        q = np.where(np.arange(4) == largest, 7, np.arange(4))
        z = circuit.assign(q)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        assert z[circuit.layout["label"][0]] == np.argmax(q[wanted])
        assert z[circuit.layout["logits"]].tolist() == network.execute(q).logits.tolist()


@pytest.mark.parametrize("number", [2, -(1 << 63), (1 << 63) - 1])
@pytest.mark.parametrize("upper", [0, 1])
def test_a_diagonal_may_be_anywhere(number: int, upper: int) -> None:
    made = one("Trilu", (3, 4), {"k": number}, upper=upper)
    x = np.arange(1.0, 13.0).reshape(1, 3, 4)
    expected = np.triu(x, min(max(number, -9), 9)) if upper else np.tril(x, min(max(number, -9), 9))
    np.testing.assert_array_equal(load_onnx(model(made)).run(x).ravel(), expected.ravel())


@pytest.mark.parametrize("operator", ["Max", "Pow"])
def test_a_number_of_more_axes_adds_them(operator: str) -> None:
    """To [1, 3] two in front: axis 2 is then the batch."""
    nodes = [
        make_node(operator, ["x", "c"], ["m"]),
        make_node("Concat", ["m", "m"], ["t"], axis=2),
        make_node("Transpose", ["t"], ["h"]),
    ]
    x, weights = np.array([[1.0, 2.0, 3.0]], np.float32), {"c": np.full((1, 1, 1, 1), 2, np.float32)}
    data = model((nodes, weights, (3,)))
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": x})
    np.testing.assert_allclose(load_onnx(data).run(x.astype(np.float64)).ravel(), expected.ravel())


def test_places_keep_no_more_than_themselves() -> None:
    (node, *_) = (
        node
        for node in load_onnx(model(one("Slice", (1 << 12,), {"s": [0], "e": [2], "a": [1]}))).nodes
        if isinstance(node, Gather)
    )
    assert node.places.base is None or node.places.base.nbytes < 100


def test_a_slice_backwards_from_before_the_first_entry_has_that() -> None:
    made = one("Slice", (4,), {"s": [-9], "e": [-99], "a": [1], "t": [-1]})
    data, x = model(made, make_node("Concat", ["h", "h"], ["y"], axis=1)), np.arange(1.0, 5.0)[np.newaxis]
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": x.astype(np.float32)})
    np.testing.assert_array_equal(load_onnx(data).run(x).ravel(), expected.ravel())
