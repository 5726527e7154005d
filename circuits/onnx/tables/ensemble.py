"""Trees as libraries have them, and the ONNX nodes that they are written as."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from zenserve.errors import ModelError

ML: Final = "ai.onnx.ml"
LEQ, LT, MEMBER = "LEQ", "LT", "MEMBER"
# By TreeEnsemble's numbers.
_MODES: Final = {LEQ: 0, LT: 1, MEMBER: 6}
# No finite float32 lies beyond.
FLOAT_MAX: Final = float(np.finfo(np.float32).max)
# Nodes of a file, at most: those that several lead to stand there several times.
_MOST_NODES: Final = 1 << 21

Link = Literal["identity", "sigmoid", "exp", "softmax", "signed_square", "softplus", "step", "uncertainty"]


@dataclass
class Trees:
    """Binary trees. ``roots``, ``holds`` and ``fails``: nodes, or ``~leaf``. A node leads to ``holds`` where
    its feature is at most (LEQ) or less than (LT) the first of its ``values``, or is one of them (MEMBER);
    ``missing``: or is missing. ``leaves``: what each adds to the scores, all of one length."""

    roots: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    modes: list[str] = field(default_factory=list)
    values: list[tuple[float, ...]] = field(default_factory=list)
    holds: list[int] = field(default_factory=list)
    fails: list[int] = field(default_factory=list)
    missing: list[bool] = field(default_factory=list)
    leaves: list[NDArray[np.float64]] = field(default_factory=list)

    def leaf(self, values: Sequence[float] | NDArray[Any]) -> int:
        self.leaves.append(np.asarray(values, np.float64))
        return ~(len(self.leaves) - 1)

    def split(
        self,
        feature: int,
        mode: str,
        values: Sequence[float],
        holds: int,
        fails: int,
        *,
        missing: bool | None = None,
    ) -> int:
        """A node; or the child that all inputs take. ``missing``: whether it holds where the feature is
        missing; None where none ever is."""
        if mode != MEMBER and abs(values[0]) >= FLOAT_MAX and missing in (None, values[0] > 0):
            return holds if values[0] > 0 else fails
        if not values and not missing:
            return fails
        self.features.append(feature)
        self.modes.append(mode)
        self.values.append(tuple(values))
        self.holds.append(holds)
        self.fails.append(fails)
        self.missing.append(bool(missing))
        return len(self.features) - 1

    def add(self, root: int) -> None:
        """A tree. One of a leaf alone is a node that decides nothing."""
        if root < 0:
            root = self.split(0, LEQ, [0.0], root, root)
        self.roots.append(root)

    def rebuilt(self, split: Callable[[Trees, int, int, int], int]) -> Trees:
        """The same trees, with each node made anew by ``split``: of the new trees, the node, and the children
        that it leads to there where it holds and where not."""
        made = Trees(leaves=self.leaves)
        known = dict[int, int]()
        for root in self.roots:
            wanted = [root]
            while wanted:
                at = wanted[-1]
                left = [each for each in (self.holds[at], self.fails[at]) if each >= 0 and each not in known]
                if not left:
                    holds, fails = (
                        each if each < 0 else known[each] for each in (self.holds[at], self.fails[at])
                    )
                    known[at] = split(made, at, holds, fails)
                    wanted.pop()
                wanted += left
            made.add(known[root])
        return made

    def without_missing(self) -> Trees:
        """The same trees for rows without gaps: nodes that ask for missing values alone are left out."""

        def split(made: Trees, at: int, holds: int, fails: int) -> int:
            mode, values = self.modes[at], self.values[at]
            if mode != MEMBER and abs(values[0]) >= FLOAT_MAX:
                return holds if values[0] > 0 else fails
            return made.split(self.features[at], mode, values, holds, fails) if values else fails

        return self.rebuilt(split)

    def scores(self, row: NDArray[Any]) -> NDArray[np.float64]:
        """Return the sums of the trees' leaves for one row."""
        made: NDArray[np.float64] = np.sum(
            [self.leaves[self._leaf(root, row)] for root in self.roots], axis=0
        )
        return made

    def of(self, root: int) -> list[int]:
        """The leaves of a tree."""
        found, wanted = [], [root]
        while wanted:
            at = wanted.pop()
            if at < 0:
                found.append(~at)
            else:
                wanted += [self.holds[at], self.fails[at]]
        return found

    def _leaf(self, at: int, row: NDArray[Any]) -> int:
        while at >= 0:
            entry, values = row[self.features[at]], self.values[at]
            mode = self.modes[at]
            holds = (
                entry in values
                if mode == MEMBER
                else (entry < values[0] if mode == LT else entry <= values[0])
            )
            at = self.holds[at] if holds else self.fails[at]
        return ~at


@dataclass
class Ensemble:
    """``base`` and the trees' scores, through ``link``. ``steepness``: what a sigmoid takes them times.
    ``classes``: of a classifier, numbers or words; one score is that of the second of two. ``double``:
    entries are compared as float64. ``slopes``: so many features, whose entries the scores but the first are
    multiplied by: [score, slopes] for each class. ``weights``: [features, scores] of a linear model, in place
    of trees."""

    trees: Trees
    base: NDArray[np.float64]
    link: Link = "identity"
    steepness: float = 1.0
    classes: Sequence[Any] | None = None
    double: bool = False
    slopes: int = 0
    weights: NDArray[np.float64] | None = None

    def nodes(self, x: str, prefix: str, *outputs: str, raw: bool = False) -> list[NodeProto]:
        """Of ``x`` [n, features] the values [n, scores]; of a classifier the labels [n] and the probabilities
        [n, classes], or, ``raw``, the scores before them. ``prefix``: of all names."""
        write = _Writer(prefix)
        scores = write("Cast", x, to=TensorProto.FLOAT)
        if self.weights is not None:
            scores = write("MatMul", scores, write.constant(self.weights.astype(np.float32)))
            scores = write("Add", scores, write.constant(self.base.astype(np.float32)))
        else:
            scores = self._sloped(write, scores, self._summed(write, x))
        if self.classes is None:
            write.named("Identity", outputs[0], self._linked(write, scores))
            return write.nodes
        told = scores if raw else self._linked(write, scores)
        if len(self.base) == 1:
            first = write("Neg", told) if raw else write("Sub", write.constant(np.float32(1)), told)
            write.named("Concat", outputs[1], first, told, axis=1)
            above = write("Greater", scores, write.constant(np.float32(0)))
            place = write("Squeeze", write("Cast", above, to=TensorProto.INT64), write.constant([1]))
        else:
            write.named("Identity", outputs[1], told)
            place = write("ArgMax", scores, axis=1, keepdims=0)
        names: dict[str, Any] = (
            {"values_strings": [str(each) for each in self.classes]}
            if self._has_words
            else {"values_int64s": [int(each) for each in self.classes]}
        )
        keys = [*range(len(self.classes))]
        write.named("LabelEncoder", outputs[0], place, domain=ML, keys_int64s=keys, **names)
        return write.nodes

    @property
    def _has_words(self) -> bool:
        return np.asarray(self.classes).dtype.kind not in "fiub"

    def _linked(self, write: _Writer, scores: str) -> str:
        match self.link:
            case "identity":
                return scores
            case "signed_square":
                return write("Mul", scores, write("Abs", scores))
            case "softmax":
                return write("Softmax", scores, axis=1)
            case "step":
                above = write("Greater", scores, write.constant(np.float32(0)))
                return write("Cast", above, to=TensorProto.FLOAT)
            case "uncertainty":
                # The mean, and the variance: the exponential of twice the second score.
                mean, deviation = (write.columns(scores, first, first + 1, 1) for first in range(2))
                variance = write("Exp", write("Mul", deviation, write.constant(np.float32(2))))
                return write("Concat", mean, variance, axis=1)
            case "sigmoid" if self.steepness != 1:
                scores = write("Mul", scores, write.constant(np.float32(self.steepness)))
        return write({"sigmoid": "Sigmoid", "exp": "Exp", "softplus": "Softplus"}[self.link], scores)

    def _sloped(self, write: _Writer, x: str, scores: str) -> str:
        """Linear models in leaves: their coefficients add up, too."""
        if not self.slopes:
            return scores
        width = self.slopes + 1
        each = write("Reshape", scores, write.constant([-1, len(self.base), width]))
        first, slopes = write.columns(each, 0, 1, 2), write.columns(each, 1, width, 2)
        terms = write("Mul", slopes, write("Unsqueeze", x, write.constant([1])))
        axis = write.constant([2])
        summed = write("ReduceSum", terms, axis, keepdims=0)
        return write("Add", write("Squeeze", first, axis), summed)

    def _summed(self, write: _Writer, x: str) -> str:
        """[n, scores]: in the older form, whose leaves have several, where nothing asks for members."""
        kind = TensorProto.DOUBLE if self.double else TensorProto.FLOAT
        entries = write("Cast", x, to=kind)
        trees = self.trees.without_missing()
        base = np.zeros((len(self.base), self.slopes + 1))
        base[:, 0] = self.base
        if MEMBER not in trees.modes:
            return write("TreeEnsembleRegressor", entries, domain=ML, **self._by_ids(trees, base.ravel()))
        made = write("TreeEnsemble", entries, domain=ML, **self._by_places(trees))
        made = write("Cast", made, to=TensorProto.FLOAT)
        return write("Add", made, write.constant(base.ravel().astype(np.float32)))

    def _tensor(self, values: Any, name: str) -> TensorProto:
        kind = np.float64 if self.double else np.float32
        return numpy_helper.from_array(np.asarray(values, kind), name)

    def _by_ids(self, trees: Trees, base: NDArray[np.float64]) -> dict[str, Any]:
        """TreeEnsembleRegressor's attributes: nodes by their trees and their places in these."""
        rows: list[tuple[int, int, int, str, float, int, int]] = []
        weights: list[tuple[int, int, int, float]] = []
        for tree, root in enumerate(trees.roots):
            wanted, size = [(root, 0)], 1
            while wanted:
                at, own = wanted.pop()
                _require_few(len(rows))
                if at < 0:
                    rows.append((tree, own, 0, "LEAF", 0.0, 0, 0))
                    weights += [(tree, own, *each) for each in enumerate(trees.leaves[~at].tolist())]
                    continue
                mode = f"BRANCH_{trees.modes[at]}"
                rows.append((tree, own, trees.features[at], mode, trees.values[at][0], size, size + 1))
                wanted += [(trees.holds[at], size), (trees.fails[at], size + 1)]
                size += 2
        # Scores that a leaf leaves as they are are not said, but for one: the operator takes no empty list.
        weights = [each for each in weights if each[3]] or weights[:1]
        names = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")
        said = {
            **{f"nodes_{name}": column for name, column in zip(names, zip(*rows, strict=True), strict=True)},
            **{
                f"target_{name}": column
                for name, column in zip(
                    ("treeids", "nodeids", "ids", "weights"), zip(*weights, strict=True), strict=True
                )
            },
            "base_values": base.tolist(),
        }
        if self.double:
            for name in ("nodes_values", "target_weights", "base_values"):
                said[f"{name}_as_tensor"] = self._tensor(said.pop(name), name)
        return {**said, "n_targets": len(base)}

    def _by_places(self, trees: Trees) -> dict[str, Any]:
        """TreeEnsemble's attributes. A leaf has one score: trees of several stand there once for each."""
        scores = len(trees.leaves[0])
        held = [
            [target for target in range(scores) if any(trees.leaves[leaf][target] for leaf in trees.of(root))]
            for root in trees.roots
        ]
        nodes: list[tuple[int, int, float, int, int, int, int]] = []
        leaves: list[tuple[int, float]] = []
        members: list[float] = []
        roots: list[int] = []

        def place(at: int, target: int) -> tuple[int, int]:
            """Return the place of a node or a leaf, and 1 if it is a leaf, else 0."""
            if at < 0:
                leaves.append((target, trees.leaves[~at][target]))
                return len(leaves) - 1, 1
            own = len(nodes)
            _require_few(own)
            nodes.append((0, 0, 0.0, 0, 0, 0, 0))
            member = trees.modes[at] == MEMBER
            if member:
                members.extend([*trees.values[at], np.nan])
            sides = (*place(trees.holds[at], target), *place(trees.fails[at], target))
            value = 0.0 if member else trees.values[at][0]
            nodes[own] = (trees.features[at], _MODES[trees.modes[at]], value, *sides)
            return own, 0

        for root, targets in zip(trees.roots, held, strict=True):
            roots += [place(root, target)[0] for target in targets or [0]]
        feature, mode, value, holds, holds_leaf, fails, fails_leaf = zip(*nodes, strict=True)
        target, weight = zip(*leaves, strict=True)
        return {
            **{"n_targets": scores, "aggregate_function": 1, "post_transform": 0, "tree_roots": roots},
            **{"nodes_featureids": feature, "nodes_truenodeids": holds, "nodes_trueleafs": holds_leaf},
            **{"nodes_falsenodeids": fails, "nodes_falseleafs": fails_leaf, "leaf_targetids": target},
            "nodes_modes": numpy_helper.from_array(np.array(mode, np.uint8), "modes"),
            "nodes_splits": self._tensor(value, "splits"),
            "membership_values": self._tensor(members, "members"),
            "leaf_weights": self._tensor(weight, "weights"),
        }

    def model(self, features: int, values: str = "variable") -> bytes:
        """The bytes of a file that reads rows of so many features as ``x``."""
        entry = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, features])
        if self.classes is None:
            outputs = [helper.make_tensor_value_info(values, TensorProto.FLOAT, [None, len(self.base)])]
        else:
            kind = TensorProto.STRING if self._has_words else TensorProto.INT64
            outputs = [
                helper.make_tensor_value_info("label", kind, [None]),
                helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [None, len(self.classes)]),
            ]
        nodes = self.nodes("x", "trees", *(each.name for each in outputs))
        graph = helper.make_graph(nodes, "trees", [entry], outputs)
        sets = [helper.make_opsetid(*each) for each in opsets(nodes).items()]
        made: ModelProto = helper.make_model(graph, opset_imports=sets, ir_version=10)
        return bytes(made.SerializeToString())


def opsets(nodes: Iterable[NodeProto]) -> dict[str, int]:
    """The versions of operator sets by domains that have these nodes: TreeEnsemble is newer than what it
    replaces."""
    return {"": 18, ML: 5 if any(node.op_type == "TreeEnsemble" for node in nodes) else 3}


def _require_few(nodes: int) -> None:
    if nodes > _MOST_NODES:
        raise ModelError("model.too_large", f"the trees have more than {_MOST_NODES:,} nodes in all")


class _Writer:
    """Nodes in order; each is written by its operator, and is the name of what it makes."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.nodes: list[NodeProto] = []

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"{self._prefix}/{operator}.{len(self.nodes)}"
        self.named(operator, name, *inputs, **attributes)
        return name

    def named(self, operator: str, output: str, *inputs: str, **attributes: Any) -> None:
        name = f"{self._prefix}/{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], name, **attributes))

    def constant(self, values: Any) -> str:
        array = np.asarray(values)
        kept = array if array.dtype == np.float32 else array.astype(np.int64)
        return self("Constant", value=numpy_helper.from_array(kept))

    def columns(self, x: str, first: int, end: int, axis: int) -> str:
        return self("Slice", x, self.constant([first]), self.constant([end]), self.constant([axis]))
