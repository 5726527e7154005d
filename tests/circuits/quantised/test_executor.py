"""The vectorised executor against the slow one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.circuits.quantised import networks, slow
from tests.circuits.quantised.networks import KINDS
from tests.refusals import refuses
from zenserve.circuits.graphs.types import Affine, Rescale, WeightType
from zenserve.circuits.operators.dense import QuantDense
from zenserve.circuits.quantised import QuantGraph
from zenserve.errors import ModelError
from zenserve.relations.planes import Sliding


@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=4),
    st.sampled_from([8, 16]),
    st.sampled_from([None, 1]),
)
def test_executes_as_the_semantics_say(
    seed: int, kinds: list[str], most_bits: int, input_bits: int | None
) -> None:
    graph = networks.of_kinds(seed, *kinds, most_bits=most_bits, input_bits=input_bits)
    batch = networks.inputs(graph, 3, seed)
    fast = dict(graph.tensors(batch))
    for index, q in enumerate(batch):
        expected = slow.tensors(graph, q)
        assert fast.keys() == expected.keys()
        for name, tensor in expected.items():
            assert fast[name][index].tolist() == tensor.tolist(), name
        assert graph.execute(q).label == slow.label(expected, graph.output)


@given(st.integers(0, 2**32), st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
def test_bounds_hold_and_the_tighter_ones_are_reached(seed: int, kinds: list[str]) -> None:
    graph = networks.of_kinds(seed, *kinds)
    values = slow.tensors(graph, networks.inputs(graph, 3, seed)[2])
    logits = graph.nodes[-1]
    assert isinstance(logits, QuantDense)
    types, shapes = graph.types_of(logits), graph.shapes_of(logits)
    low, high = logits.bounds(types, shapes)
    wide_low, wide_high = logits.type_bounds(types, shapes)
    assert (wide_low <= low).all()
    assert (high <= wide_high).all()
    assert (low <= values["logits"]).all()
    assert (values["logits"] <= high).all()
    worst = np.where(logits.centred_weight > 0, types[0].top, 0)
    reached = [int(logits.accumulate([worst[i : i + 1]], types)[0, i]) for i in range(3)]
    assert reached == high.tolist()


@given(st.integers(0, 2**32))
def test_windows_meet_what_a_loop_meets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sliding = Sliding(
        (4, int(rng.integers(2, 6)), int(rng.integers(2, 6))),
        (int(rng.integers(1, 3)), int(rng.integers(1, 3))),
        (int(rng.integers(1, 3)), int(rng.integers(1, 3))),
        (int(rng.integers(0, 2)), 1, 0, int(rng.integers(0, 2))),
        int(rng.choice([1, 2, 4])),
    )
    channels, height, width = sliding.image[0] // sliding.groups, *sliding.image[1:]
    expected = []
    for down, across in np.ndindex(sliding.out):
        for channel, p, q in np.ndindex(channels, *sliding.kernel):
            row = down * sliding.stride[0] + p - sliding.padding[0]
            column = across * sliding.stride[1] + q - sliding.padding[1]
            if 0 <= row < height and 0 <= column < width:
                tap = (channel * sliding.kernel[0] + p) * sliding.kernel[1] + q
                expected.append(
                    (down * sliding.out[1] + across, (channel * height + row) * width + column, tap)
                )
    windows = sliding.windows()
    position = np.repeat(np.arange(len(windows.offsets) - 1), np.diff(windows.offsets))
    assert list(zip(position, windows.inputs, windows.taps, strict=True)) == expected


def dense(name: str, read: str, rescale: Rescale | None = None, bias: int = 0) -> QuantDense:
    kind = WeightType(np.array([0.5]), np.array([1]), 2)
    weight = np.array([[0, 3], [2, 1]], dtype=np.uint8)
    return QuantDense(name, (read,), weight, kind, np.array([bias, 0]), rescale=rescale)


def graph(*nodes: QuantDense, output: str = "b") -> QuantGraph:
    return QuantGraph.of("x", (2,), Affine(1.0, 0, 8), nodes, output)


def test_refuses_networks_without_a_meaning() -> None:
    rescale = Rescale(np.array([1]), 3, Affine(1.0, 0, 8), 0, 255)
    assert graph(dense("a", "x", rescale), dense("b", "a")).classes == 2
    with pytest.raises(ModelError, match="without a type"):
        graph(dense("a", "x"), dense("b", "a"))
    with pytest.raises(ModelError, match="out of order"):
        graph(dense("b", "a"), dense("a", "x", rescale))
    with pytest.raises(ModelError, match="out of order"):
        graph(dense("b", "x", rescale), dense("b", "b"))
    with pytest.raises(ModelError, match="no node makes the output"):
        graph(dense("a", "x"))
    with pytest.raises(ModelError, match="has 2 inputs"):
        graph(QuantDense("b", ("x", "x"), *_parts()))
    with pytest.raises(ModelError, match="multipliers of shape"):
        graph(dense("b", "x", Rescale(np.array([1, 1, 1]), 3, Affine(1.0, 0, 8), 0, 255)))


def _parts() -> tuple[np.ndarray, WeightType, np.ndarray]:
    node = dense("b", "x")
    return node.weight, node.weight_type, node.bias


@pytest.mark.parametrize(
    ("bias", "multiplier", "shift", "high"),
    [
        (1 << 60, 1, 3, 255),
        (1 << 40, 1 << 22, 3, 255),
        (1 << 62, 1, 3, 255),
        (1 << 58, 1, 0, 255),
        # The narrower a clamp, the more digits stand above it, and its slack is a multiple of their number.
        (1 << 42, 1, 0, 1),
    ],
)
def test_refuses_integers_beyond_62_bits(bias: int, multiplier: int, shift: int, high: int) -> None:
    rescale = Rescale(np.array([multiplier]), shift, Affine(1.0, 0, 8), 0, high)
    with refuses("model.range_too_wide"):
        graph(dense("a", "x", rescale, bias), dense("b", "a"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Affine(1.0, 0, 0),
        lambda: Affine(1.0, 0, 33),
        lambda: Affine(0.0, 0, 8),
        lambda: Affine(float("nan"), 0, 8),
        lambda: Affine(1.0, 1 << 53, 8),
        lambda: Affine(1.0, -(1 << 53), 8),
        lambda: WeightType(np.array([-1.0]), np.array([0]), 8),
        lambda: WeightType(np.array([1.0]), np.array([4]), 2),
        lambda: Rescale(np.array([0]), 3, Affine(1.0, 0, 8), 0, 255),
        lambda: Rescale(np.array([1]), 62, Affine(1.0, 0, 8), 0, 255),
        lambda: Rescale(np.array([1]), 3, Affine(1.0, 0, 8), 7, 7),
        lambda: Rescale(np.array([1]), 3, Affine(1.0, 0, 2), 0, 4),
        lambda: Rescale(np.array([1]), 3, Affine(1.0, 256, 8), 0, 255),
        lambda: Rescale(np.array([1]), 3, Affine(1.0, -1, 8), 0, 255),
        lambda: dense("a", "x", bias=1 << 62),
        lambda: QuantDense("a", ("x",), np.array([[4]], dtype=np.uint8), _parts()[1], np.array([0])),
        lambda: QuantDense("a", ("x",), np.array([[3]], dtype=np.uint8), _parts()[1], np.array([0, 0])),
    ],
)
def test_refuses_types_without_a_meaning(make: object) -> None:
    with pytest.raises(ModelError):
        make()  # type: ignore[operator]
