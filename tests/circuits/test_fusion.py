"""Each pass alone: the graph gets the shape it should, and computes what it did."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from circuits.graphs import fusion
from circuits.graphs.graph import (
    Add,
    AveragePool,
    Clip,
    Conv,
    Declared,
    Dense,
    Graph,
    MaxPool,
    Node,
    Pad,
    Reshape,
    Scale,
)

RNG = np.random.default_rng(17)


def conv(name: str, read: str, shape: Sequence[int], **fields: object) -> Conv:
    return Conv(name, (read,), RNG.normal(size=shape), RNG.normal(size=shape[0]), **fields)  # type: ignore[arg-type]


def dense(name: str, read: str, out: int, inner: int) -> Dense:
    return Dense(name, (read,), RNG.normal(size=(out, inner)), RNG.normal(size=out))


def scale(name: str, read: str, channels: int, shift: bool = True) -> Scale:
    return Scale(name, (read,), RNG.normal(size=channels), RNG.normal(size=channels) * shift)


def graph(*nodes: Node, shape: tuple[int, ...] = (4, 7, 6), output: str = "", **declared: Declared) -> Graph:
    return Graph("x", shape, nodes, output or nodes[-1].name, declared)


INT8 = Declared(np.array(0.5), np.array(3), 8, True)

Case = tuple[Callable[[Graph], Graph], Graph, list[type[Node]]]
CASES: dict[str, Case] = {
    "three scales": (
        fusion.merge_scales,
        graph(scale("s", "x", 4), scale("t", "s", 4), scale("u", "t", 4)),
        [Scale],
    ),
    "a scale after a convolution": (
        fusion.scale_into_previous,
        graph(
            conv("c", "x", (6, 2, 3, 3), groups=2, padding=(1, 0, 2, 1)),
            scale("s", "c", 6),
            Clip("r", ("s",)),
        ),
        [Conv, Clip],
    ),
    "a scale after a dense layer": (
        fusion.scale_into_previous,
        graph(dense("d", "x", 3, 5), scale("s", "d", 3), shape=(5,)),
        [Dense],
    ),
    "a scale of a tensor that another node reads": (
        fusion.scale_into_previous,
        graph(conv("c", "x", (6, 4, 1, 1)), scale("s", "c", 6), Add("a", ("c", "s"))),
        [Conv, Scale, Add],
    ),
    "a scale of a declared tensor": (
        fusion.scale_into_previous,
        graph(conv("c", "x", (6, 4, 1, 1)), scale("s", "c", 6), c=INT8),
        [Conv, Scale],
    ),
    "a scale after declared weights": (
        fusion.scale_into_previous,
        graph(conv("c", "x", (6, 4, 1, 1), declared_weight=INT8), scale("s", "c", 6)),
        [Conv, Scale],
    ),
    "a scale of the output": (
        fusion.scale_into_previous,
        graph(conv("c", "x", (6, 4, 1, 1)), scale("s", "c", 6), output="c"),
        [Conv, Scale],
    ),
    "a scale before a convolution": (
        fusion.scale_into_next,
        graph(scale("s", "x", 4), conv("c", "s", (6, 4, 3, 2), stride=(2, 1))),
        [Conv],
    ),
    "a scale before groups": (
        fusion.scale_into_next,
        graph(scale("s", "x", 4), conv("c", "s", (6, 2, 3, 2), groups=2)),
        [Conv],
    ),
    "a factor before a padded convolution": (
        fusion.scale_into_next,
        graph(scale("s", "x", 4, shift=False), conv("c", "s", (6, 4, 3, 2), padding=(1, 1, 1, 1))),
        [Conv],
    ),
    "a shift before a padded convolution": (
        fusion.scale_into_next,
        graph(scale("s", "x", 4), conv("c", "s", (6, 4, 3, 2), padding=(1, 1, 1, 1))),
        [Scale, Conv],
    ),
    "a scale before a dense layer": (
        fusion.scale_into_next,
        graph(scale("s", "x", 5), dense("d", "s", 3, 5), shape=(5,)),
        [Dense],
    ),
    "a scale that stays": (fusion.scale_to_conv, graph(Clip("r", ("x",)), scale("s", "r", 4)), [Clip, Conv]),
    "a scale of a vector that stays": (
        fusion.scale_to_conv,
        graph(scale("s", "x", 5), Clip("r", ("s",)), shape=(5,)),
        [Reshape, Conv, Reshape, Clip],
    ),
    "a pad before a convolution": (
        fusion.pad_into_conv,
        graph(Pad("p", ("x",), ((0, 0), (1, 2), (0, 3))), conv("c", "p", (2, 4, 3, 3), padding=(1, 1, 0, 0))),
        [Conv],
    ),
    "a pad of channels": (
        fusion.pad_into_conv,
        graph(Pad("p", ("x",), ((1, 0), (1, 2), (0, 3))), conv("c", "p", (2, 5, 3, 3))),
        [Pad, Conv],
    ),
    "two clips": (fusion.merge_clips, graph(Clip("r", ("x",)), Clip("t", ("r",), -2.0, 0.7), t=INT8), [Clip]),
    "clips that share no interval": (
        fusion.merge_clips,
        graph(Clip("r", ("x",)), Clip("t", ("r",), -2.0, 0.0)),
        [Clip, Clip],
    ),
    "two declared clips": (
        fusion.merge_clips,
        graph(Clip("r", ("x",)), Clip("t", ("r",), -2.0, 0.7), r=INT8, t=INT8),
        [Clip, Clip],
    ),
    "two reshapes": (
        fusion.merge_reshapes,
        graph(Reshape("a", ("x",), (2, 84)), Reshape("b", ("a",), (168,)), dense("d", "b", 2, 168)),
        [Reshape, Dense],
    ),
    "a pool before a convolution": (
        fusion.average_pool_into_linear,
        graph(AveragePool("p", ("x",), (2, 2), (2, 2)), conv("c", "p", (5, 4, 2, 2))),
        [Conv],
    ),
    "an overlapping pool before a strided convolution": (
        fusion.average_pool_into_linear,
        graph(
            AveragePool("p", ("x",), (3, 2), (1, 2)), conv("c", "p", (6, 2, 2, 1), stride=(2, 1), groups=2)
        ),
        [Conv],
    ),
    "a pool that tiles the image before a padded convolution": (
        fusion.average_pool_into_linear,
        graph(
            AveragePool("p", ("x",), (2, 3), (2, 3)),
            conv("c", "p", (5, 4, 2, 2), padding=(1, 0, 1, 2)),
            shape=(4, 6, 6),
        ),
        [Conv],
    ),
    "a pool that leaves a rest before a padded convolution": (
        fusion.average_pool_into_linear,
        graph(AveragePool("p", ("x",), (2, 2), (2, 2)), conv("c", "p", (5, 4, 2, 2), padding=(1, 0, 1, 2))),
        [AveragePool, Conv],
    ),
    "a padded pool": (
        fusion.average_pool_into_linear,
        graph(AveragePool("p", ("x",), (2, 2), (2, 2), (1, 0, 0, 0)), conv("c", "p", (5, 4, 2, 2))),
        [AveragePool, Conv],
    ),
    "a pool before a dense layer": (
        fusion.average_pool_into_linear,
        graph(AveragePool("p", ("x",), (2, 3), (2, 3)), Reshape("f", ("p",), (24,)), dense("d", "f", 3, 24)),
        [Reshape, Dense],
    ),
    "a pool of the whole image that two layers read": (
        fusion.average_pool_into_linear,
        graph(
            AveragePool("p", ("x",), (7, 6), (7, 6)),
            Reshape("f", ("p",), (4,)),
            dense("d", "f", 3, 4),
            dense("e", "f", 3, 4),
            Add("a", ("d", "e")),
        ),
        [Reshape, Dense, Reshape, Dense, Add],
    ),
    "what the output does not need": (
        fusion.without_dead_nodes,
        graph(Clip("r", ("x",)), MaxPool("m", ("r",), (2, 2), (2, 2)), Clip("t", ("m",)), output="r", t=INT8),
        [Clip],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_pass_keeps_the_function_and_changes_the_nodes_it_should(name: str) -> None:
    rewrite, before, kinds = CASES[name]
    after = rewrite(before)
    assert [type(node) for node in after.nodes] == kinds
    x = RNG.normal(size=(3, *before.input_shape))
    np.testing.assert_allclose(after.run(x), before.run(x), atol=1e-12)
    assert set(after.declared) <= set(after.shapes)


def test_a_layer_keeps_its_name_when_a_scale_folds_into_it() -> None:
    before = graph(conv("c", "x", (6, 4, 1, 1)), scale("s", "c", 6), s=INT8)
    after = fusion.scale_into_previous(before)
    assert (after.output, [node.name for node in after.nodes], list(after.declared)) == ("c", ["c"], ["c"])


def test_a_long_chain_fuses_in_linear_time() -> None:
    nodes: list[Node] = [conv("n0", "x", (4, 4, 3, 3))]
    for index in range(1, 4000):
        nodes.append(scale(f"n{index}", f"n{index - 1}", 4, shift=False))
    assert len(fusion.fuse(graph(*(nodes[:40]))).nodes) == 1
    with np.errstate(all="ignore"):
        assert len(fusion.merge_scales(graph(*nodes)).nodes) == 2
