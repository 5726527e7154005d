"""Decision trees: random forests and boosted trees. A path of each is proven, not all nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, Self

import numpy as np

from zenserve.circuits.graphs import rescaling
from zenserve.circuits.graphs.calibration import Interval
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Constants, Node, Written, dims
from zenserve.circuits.graphs.rewriting import join
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import MOST_BITS, MOST_COMPARED_BITS, Affine, Bounds, FloatArray, Shape
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.scale import Scale
from zenserve.circuits.operators.sums import Accumulating
from zenserve.circuits.operators.weighted import PROOFS
from zenserve.errors import ModelError
from zenserve.relations.bounds import Bound
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Forest as ForestRelation
from zenserve.relations.relation import Parameter, Relation, Tensor, Term
from zenserve.verifier.schemes import Privacy

# As many as tensors may have: they cost hardly more than fewer.
_LEAF_BITS: Final = MOST_BITS
# Levels of a block, at most: each doubles what a block costs.
_MOST_LEVELS: Final = 10
_MOST_ROWS: Final = 1 << 24
# What an integer of the field has room for, about.
_PACKED: Final = 250
# Of all nodes of a path.
_DEEPEST: Final = 512
# The thresholds of a feature are told apart to this part of what they span.
_FINEST: Final = 2.0**-17
# Of what an input spans: more than two of its steps, where it has the most bits.
_BEYOND: Final = 2.0**-30
# Bits of the limbs of range checks, about.
_LIMB: Final = 8


@dataclass(frozen=True, eq=False)
class Forest(Node):
    """An ensemble of decision trees: the sums of the leaves to which they lead a vector. Fields are int64 and
    float64 arrays.

    ``roots`` [trees], ``children`` [nodes, 2] and so on: 0 and above are nodes, -1 and below the leaves 0, 1
    and so on. A node leads to the first child where ``x[feature] <= threshold``, or, where ``strict``, ``<``.
    The v-th number of a leaf [leaves, V] of tree t counts for column ``targets[t, v]``, and the output is
    ``base + mix columns``, mix[outputs, columns] of integers. ``near``: an entry within this distance of a
    threshold counts as equal to it, as in floats of fewer bits.

    Raises ``ModelError``: ``model.shape`` for invalid trees, and ``model.not_finite``.
    """

    called = "forest"
    adds = multiplies = compares = True
    widest = MOST_COMPARED_BITS
    # Votes are nearer to one another than 8 bits tell.
    least_bits = MOST_BITS

    roots: IntArray = field(repr=False)
    feature: IntArray = field(repr=False)
    threshold: FloatArray = field(repr=False)
    strict: IntArray = field(repr=False)
    children: IntArray = field(repr=False)
    leaf: FloatArray = field(repr=False)
    targets: IntArray = field(repr=False)
    mix: IntArray = field(repr=False)
    base: FloatArray = field(repr=False)
    near: FloatArray = field(default_factory=lambda: np.zeros(1), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "near", np.broadcast_to(self.near, self.threshold.shape))
        for values in (self.threshold, self.leaf, self.base):
            if not np.isfinite(values).all():
                raise ModelError(
                    "model.not_finite", f"node {self.name[:80]!r} has trees with NaN or infinity"
                )
        self.depth  # noqa: B018  refuses nodes that lead back to themselves

    @cached_property
    def depth(self) -> int:
        """The most nodes on a path."""
        at, depth = np.unique(self.roots), 0
        while (at := at[at >= 0]).size:
            if (depth := depth + 1) > _DEEPEST:
                raise self.refuse(f"has trees deeper than {_DEEPEST}, or nodes that lead back to themselves")
            at = np.unique(self.children[at])
        return depth

    def shape(self, *shapes: Shape) -> Shape:
        if len(shapes[0]) != 1 or self.feature.max(initial=0) >= shapes[0][0]:
            most = self.feature.max(initial=0) + 1
            raise self.refuse(f"reads shape [batch, {dims(shapes[0])}]; it takes {most} features or more")
        return (len(self.mix),)

    def run(self, *inputs: FloatArray) -> FloatArray:
        leaves, rows = self._leaves(inputs[0]), np.arange(len(inputs[0]))[:, np.newaxis, np.newaxis]
        columns = np.zeros((len(inputs[0]), self.mix.shape[1]))
        np.add.at(columns, (rows, self.targets), self.leaf[leaves])
        made: FloatArray = self.base + columns @ self.mix.T
        return made

    def _leaves(self, x: FloatArray) -> IntArray:
        """Of each row in each tree: int64[n, trees]."""
        at = np.tile(self.roots, (len(x), 1))
        while (at >= 0).any():
            row, tree = np.nonzero(at >= 0)
            node = at[row, tree]
            entry, threshold = x[row, self.feature[node]], self._ends[node]
            left = np.where(self.strict[node] != 0, entry < threshold, entry <= threshold)
            at[row, tree] = self.children[node, np.where(left, 0, 1)]
        return ~at

    @cached_property
    def _ends(self) -> FloatArray:
        """The thresholds, with what is near them on the side of what equals them."""
        return np.where(self.strict != 0, self.threshold - self.near, self.threshold + self.near)

    def compared(self, span: Interval) -> tuple[Interval, float]:
        """Return the interval of an input that is compared alone, thresholds included, and the step that
        resolves its thresholds."""
        if not self.threshold.size:
            return span, math.inf
        steps = []
        for feature in np.unique(self.feature):
            own = self.threshold[self.feature == feature]
            spread = float(own.max() - own.min())
            steps.append((spread or float(np.abs(own).max()) or 1.0) * _FINEST)
        step, low, high = min(steps), float(self.threshold.min()), float(self.threshold.max())
        # Beyond the outermost thresholds there is an integer left on either side.
        margin = max(2 * step, (max(high, span.high) - min(low, span.low)) * _BEYOND)
        return Interval(min(span.low, low - margin), max(span.high, high + margin)), step

    def nearest(self, x: FloatArray) -> float:
        gaps = []
        for feature in np.unique(self.feature):
            here = self.feature == feature
            own, first = np.unique(self.threshold[here], return_index=True)
            near = np.concatenate([[0.0], self.near[here][first], [0.0]])
            ends = np.concatenate([[-np.inf], own, [np.inf]])
            entries = np.unique(x[:, feature])
            above = np.searchsorted(ends, entries)
            for end, gap in ((above, ends[above] - entries), (above - 1, entries - ends[above - 1])):
                gaps.append(gap[gap > near[end]])
        return float(np.concatenate([[np.inf], *gaps]).min())

    def quantise(self, site: Site) -> QuantForest:
        span = Interval(min(0.0, self.leaf.min()), max(0.0, self.leaf.max()))
        # Whole numbers name leaves, or count.
        whole = not np.mod(self.leaf, 1).any() and span.high - span.low < 2**_LEAF_BITS
        what = f"the leaves of {self.name[:80]!r}"
        value = rescaling.exact(span, what) if whole else rescaling.affine(span, _LEAF_BITS, what)
        blocks = _blocks(self._compared(site.incoming()), value.quantise(self.leaf) - value.zero_point)
        base = np.rint(self.base / value.scale)
        if not (np.abs(base) < 2.0**53).all():
            raise ModelError(
                "model.range_too_wide",
                f"the base values of {self.name[:80]!r} are out of proportion to its leaves",
            )
        rescale = None if site.unscaled else site.rescale(np.array([value.scale]))
        return QuantForest(
            *(site.name, site.inputs, *blocks, base.astype(np.int64), value),
            *(self.targets, self.mix),
            rescale=rescale,
        )

    def _compared(self, kind: Affine) -> _Trees:
        """The trees of integers: what a node says of all integers of the type is left out."""
        q = np.rint(self._ends / kind.scale) + kind.zero_point - (self.strict != 0)
        q = np.clip(q, -1, kind.top).astype(np.int64)
        # Where a node does not decide, its child stands for it.
        sure = np.where(
            q < 0, self.children[:, 1], np.where(q == kind.top, self.children[:, 0], np.arange(len(q)))
        )
        sure, children, roots = np.append(sure, 0), self.children, self.roots
        for _ in range(self.depth):
            children, roots = (
                np.where(each < 0, each, sure[np.maximum(each, -1)]) for each in (children, roots)
            )
        return _Trees(roots, self.feature, q, children)

    def written(self, constant: Constants) -> Written:
        raise ModelError("model.unsupported_operator", "trees are not written to ONNX")


class _Trees(NamedTuple):
    """As ``Forest`` has them: left is ``q <= threshold``."""

    roots: IntArray
    feature: IntArray
    threshold: IntArray
    children: IntArray

    @property
    def depth(self) -> int:
        at, depth = np.unique(self.roots), 0
        while (at := at[at >= 0]).size:
            at, depth = np.unique(self.children[at]), depth + 1
        return depth

    def expanded(self, blocks: IntArray, levels: int) -> tuple[IntArray, IntArray, IntArray]:
        """Features and thresholds of the blocks that begin at these nodes or leaves, int64[blocks, nodes],
        and the nodes or leaves at their exits. Below a leaf there is nothing but it."""
        at, features, thresholds = blocks[:, np.newaxis], [], []
        feature, threshold = np.append(self.feature, 0), np.append(self.threshold, 0)
        for _ in range(levels):
            node = np.maximum(at, -1)
            features.append(feature[node])
            thresholds.append(threshold[node])
            children = np.append(self.children, [[0, 0]], axis=0)[node]
            at = np.where(at[..., np.newaxis] < 0, at[..., np.newaxis], children).reshape(len(at), -1)
        return np.concatenate(features, axis=1), np.concatenate(thresholds, axis=1), at

    def blocks(self, levels: int) -> IntArray:
        """The nodes that blocks begin at, after those of the roots: each once, whatever leads to it."""
        found, new = [np.zeros(0, np.int64)], np.unique(self.roots)
        while True:
            exits = np.unique(self.expanded(new, levels)[2])
            new = np.setdiff1d(exits[exits >= 0], np.concatenate(found))
            if not new.size:
                return np.concatenate(found)
            found.append(new)


class _Blocks(NamedTuple):
    """As ``zenserve.relations.relation.Forest`` has them: feature, threshold, following, value, and the
    steps.
    """

    feature: IntArray
    threshold: IntArray
    following: IntArray
    value: IntArray
    steps: int


def _blocks(trees: _Trees, leaf: IntArray) -> _Blocks:
    """With as many levels as make the fewest rows."""
    depth = max(trees.depth, 1)
    most = range(1, min(depth, _MOST_LEVELS) + 1)
    rows, levels = min((_rows(trees, levels, depth, leaf.shape[1]), levels) for levels in most)
    if rows > _MOST_ROWS:
        raise ModelError("model.too_large", f"the trees take about {rows} rows, more than {_MOST_ROWS}")
    steps, count = -(-depth // levels), len(trees.roots)
    # Paths that are done wait at a leaf of their own, which adds nothing.
    leaf = np.append(leaf, np.zeros((1, leaf.shape[1]), np.int64), axis=0)
    behind = trees.blocks(levels)
    waiting = [~np.int64(len(leaf) - 1)] if steps > 1 else []
    begin = np.concatenate([trees.roots, np.array(waiting, np.int64), behind])
    feature, threshold, exits = trees.expanded(begin, levels)
    number = np.full(len(trees.feature) + 1, count)
    number[behind] = count + 1 + np.arange(len(behind))
    following = number[np.maximum(exits, -1)] if steps > 1 else np.zeros((0, exits.shape[1]), np.int64)
    value = np.where(exits[..., np.newaxis] < 0, leaf[np.where(exits < 0, ~exits, 0)], 0)
    return _Blocks(feature, threshold, following, value, steps)


def _rows(trees: _Trees, levels: int, depth: int, values: int) -> int:
    """About how many rows the trees take in blocks of so many levels
    (``zenserve.circuits.lowering.forests``).
    """
    count, steps = len(trees.roots), -(-depth // levels)
    behind = len(trees.blocks(levels)) + 1 if steps > 1 else 0
    bits, feature_bits = (
        int(trees.threshold.max(initial=1)).bit_length(),
        int(trees.feature.max(initial=1)).bit_length(),
    )
    number = (count + behind).bit_length()
    packed = levels * (bits + 2 + feature_bits) + 2 * number + values * _LEAF_BITS
    columns = -(-packed // _PACKED)
    path = (
        steps * (levels * (3 + bits / _LIMB) + columns + values * _LEAF_BITS / _LIMB)
        + (steps - 1) * number / _LIMB
    )
    return round((count + behind) * (1 << levels) * columns + count * path)


@dataclass(frozen=True, eq=False)
class QuantForest(Accumulating):
    """Paths through blocks of trees, int64 arrays as ``zenserve.relations.relation.Forest`` has them, but
    following [0, exits] where there is one step. ``value_type``: of the values plus its zero point."""

    repeatable = False

    feature: IntArray = field(repr=False)
    threshold: IntArray = field(repr=False)
    following: IntArray = field(repr=False)
    value: IntArray = field(repr=False)
    steps: int
    base: IntArray = field(repr=False)
    value_type: Affine
    targets: IntArray = field(repr=False)
    mix: IntArray = field(repr=False)

    def __post_init__(self) -> None:
        arrays = (self.feature, self.threshold, self.following, self.value, self.targets, self.mix)
        dimensions = [array.ndim for array in arrays] + [self.base.ndim]
        self._require(dimensions == [2, 2, 2, 3, 2, 2, 1], "has arrays of other dimensions")
        blocks, exits, values = self.value.shape
        self._require(
            exits in [1 << level for level in range(1, _MOST_LEVELS + 1)], "has blocks that are no trees"
        )
        shapes = [array.shape for array in (self.feature, self.threshold, self.following)]
        nodes, more = (blocks, exits - 1), (blocks if self.steps > 1 else 0, exits)
        self._require(shapes == [nodes, nodes, more], "has blocks of several sizes")
        self._require(self.targets.shape == (self.trees, values) and values > 0, "has leaves of other sizes")
        self._require(
            self.mix.shape[0] == len(self.base) > 0 < self.mix.shape[1], "has other columns than outputs"
        )
        self._require(_within(self.mix, -1, 1), "mixes columns by other numbers than 1, 0 and -1")
        self._require(
            _within(self.targets, 0, self.mix.shape[1] - 1), "has values for columns beyond the last"
        )
        self._require(_within(self.value, *self.value_type.centred), "has values beyond their type")
        self._require(self.trees > 0 and 1 <= self.steps <= _DEEPEST, "has no trees, or no steps")
        self._require_an_end(blocks)

    def _require_an_end(self, blocks: int) -> None:
        """All paths must come to the block where they wait: no honest prover is to fail."""
        if self.steps == 1:
            return self._require(blocks == self.trees, "has blocks that no path comes to")
        self._require(blocks > self.trees, "has no block to wait in")
        self._require(_within(self.following, 0, blocks - 1), "leads to blocks beyond the last")
        at = np.arange(self.trees)
        for _ in range(self.steps):
            at = np.unique(self.following[at])
        return self._require(np.array_equal(at, [self.trees]), "has paths without an end")

    @property
    def trees(self) -> int:
        return len(self.targets)

    @property
    def levels(self) -> int:
        """Of a block."""
        return int(self.value.shape[1]).bit_length() - 1

    @property
    def base_bits(self) -> int:
        """A b >= 1 with -2^b <= base < 2^b for every output."""
        return max(1, int(self.base.min()).bit_length(), int(self.base.max()).bit_length())

    def shape(self, *shapes: Shape) -> Shape:
        if len(shapes[0]) != 1:
            raise self.refuse(f"reads shape [batch, {dims(shapes[0])}]; it takes a vector of features")
        return (len(self.mix),)

    def check(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> None:
        self._require(_within(self.feature, 0, shapes[0][0] - 1), "reads features beyond the last")
        self._require(_within(self.threshold, 0, types[0].top), "has thresholds beyond their type")
        super().check(types, shapes)

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        (q,) = inputs
        rows = np.arange(len(q))[:, np.newaxis]
        block = np.tile(np.arange(self.trees), (len(q), 1))
        columns = np.zeros((len(q), self.mix.shape[1]), np.int64)
        for _ in range(self.steps):
            leaving = np.zeros_like(block)
            for level in range(self.levels):
                node = (1 << level) - 1 + leaving
                right = q[rows, self.feature[block, node]] > self.threshold[block, node]
                leaving = 2 * leaving + right
            np.add.at(columns, (rows[..., np.newaxis], self.targets), self.value[block, leaving])
            block = self.following[block, leaving] if self.steps > 1 else block
        return self.base + columns @ self.mix.T

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        low, high = self._reach
        return self.base + low, self.base + high

    def type_bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        (low, high), base = self._reach, 1 << self.base_bits
        return low - base, high + base - 1

    @property
    def _reach(self) -> Bounds:
        """Of the outputs without the base, whatever the trees are."""
        terms = self.steps * np.bincount(self.targets.ravel(), minlength=self.mix.shape[1])
        ends = np.array([self.mix * terms * end for end in self.value_type.centred])
        return ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)

    def step(self, types: Sequence[Affine]) -> float | None:
        return self.value_type.scale

    def blank(self) -> Self:
        """The same node with trees that add 0, and a base that says no more than ``base_bits``."""
        return replace(
            self,
            feature=np.zeros_like(self.feature),
            threshold=np.zeros_like(self.threshold),
            following=np.full_like(self.following, self.trees),
            value=np.zeros_like(self.value),
            base=np.full_like(self.base, (1 << self.base_bits) - 1),
        )

    def summed(self, sums: Tensor, terms: Sequence[Term], privacy: Privacy) -> list[Relation]:
        x = terms[0].tensor
        assert x.bits is not None  # noqa: S101  trees read no sums
        low, high = self.value_type.centred
        several, base = self.steps > 1, 1 << self.base_bits

        def parameter(name: str, values: IntArray, low: int, high: int) -> Parameter:
            bound = Bound.of(low, high, PROOFS[privacy])
            return Parameter(f"{self.name}/{name}", values.shape, bound, values=values, privacy=privacy)

        def numbers(name: str, values: IntArray, count: int) -> Parameter:
            """Below ``count``, a power of two if the proof is a range check."""
            return parameter(name, values, 0, (1 << max(1, (count - 1).bit_length())) - 1)

        return [
            ForestRelation(
                self.name,
                sums,
                x,
                numbers("features", self.feature, math.prod(x.shape[1:])),
                numbers("thresholds", self.threshold, 1 << x.bits),
                numbers("next", self.following, len(self.value)) if several else None,
                parameter("leaves", self.value, low, high),
                parameter("base", self.base, -base, base - 1),
                self.targets,
                self.mix,
                self.steps,
            )
        ]

    def scales(self) -> dict[str, Any] | None:
        leaves = {
            "scale": self.value_type.scale,
            "zero_point": self.value_type.zero_point,
            "bits": self.value_type.bits,
        }
        return {"name": self.name, "leaves": leaves, "base_bits": self.base_bits} | (super().scales() or {})


def _within(values: IntArray, low: int, high: int) -> bool:
    return bool(((low <= values) & (values <= high)).all())


def scales_into_thresholds(graph: Graph) -> Graph:
    """Scales before trees into what they compare with: order stays, so all factors must be positive."""
    while len((joined := join(graph, _unscaled)).nodes) < len(graph.nodes):
        graph = joined
    return graph


def _unscaled(graph: Graph, before: Node, node: Node) -> Node | None:
    if not isinstance(before, Scale) or not isinstance(node, Forest) or not (before.weight > 0).all():
        return None
    factor, shift = before.weight[node.feature], before.bias[node.feature]
    with np.errstate(over="ignore", invalid="ignore"):
        threshold = (node.threshold - shift) / factor
    return replace(node, inputs=before.inputs, threshold=threshold, near=node.near / factor)


ENTRY = Entry(integers=(QuantForest,), passes=(scales_into_thresholds,))
