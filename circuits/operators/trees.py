"""Decision trees as files have them: TreeEnsembleClassifier and Regressor, and TreeEnsemble, which took their
place. What to do with missing values is left out: inputs are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.onnx.constants import Constant, Element
from zenserve.circuits.onnx.naming import require_finite, where
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.forest import Forest
from zenserve.circuits.operators.labels import class_names
from zenserve.circuits.operators.reduce import Rows, function
from zenserve.circuits.operators.reshape import shaped
from zenserve.circuits.operators.scale import Scale
from zenserve.circuits.operators.scores import classified, transformed, unknown
from zenserve.relations.integers import IntArray

# What a node asks of the entry of its feature, by TreeEnsemble's numbers.
_LEQ, _LT, _GTE, _GT, _EQ, _NEQ, _MEMBER = range(7)
_LEAF: Final = -1
_MODES: Final = {
    b"BRANCH_LEQ": _LEQ, b"BRANCH_LT": _LT, b"BRANCH_GTE": _GTE, b"BRANCH_GT": _GT, b"BRANCH_EQ": _EQ,
    b"BRANCH_NEQ": _NEQ, b"LEAF": _LEAF,
}  # fmt: skip
_AGGREGATES: Final = (b"AVERAGE", b"SUM", b"MIN", b"MAX")
_TRANSFORMS: Final = (b"NONE", b"SOFTMAX", b"LOGISTIC", b"SOFTMAX_ZERO", b"PROBIT")
# Votes of float32, a sixth each say, that add up to this much more than a half are a half: the first class.
_TIED = 2.0**-24
# No finite float32 is beyond thresholds from here on: they ask whether an entry is missing.
_BEYOND_ALL: Final = float(np.finfo(np.float32).max)


class _Nodes(NamedTuple):
    """Children [nodes, 2], where a node's condition holds and where not: nodes, or ~leaf. ``mode``: of
    ``_MODES``. ``tree`` [leaves]: whose each leaf is."""

    roots: IntArray
    mode: IntArray
    feature: IntArray
    threshold: FloatArray
    children: IntArray
    tree: IntArray


class _Weights(NamedTuple):
    """The numbers that leaves add to targets, one row each."""

    leaf: IntArray
    target: IntArray
    weight: FloatArray


def _integers(step: Step, name: str, count: int | None = None) -> IntArray:
    """An attribute of this many integers that can be indices."""
    values = step.attributes.get(name, [])
    if count is not None and len(values) != count:
        raise step.refuse("shape", f"has {len(values)} numbers as its {name}, not {count}")
    if not all(0 <= value < 1 << 31 for value in values):
        raise step.refuse("shape", f"has numbers in its {name} that are no indices")
    step.spend(len(values))
    return np.array(values, np.int64)


def _floats(step: Step, name: str, count: int | None = None, *, finite: bool = True) -> FloatArray:
    """An attribute of this many floats, which may be a tensor."""
    held = step.attributes.get(f"{name}_as_tensor", step.attributes.get(name, []))
    values = np.asarray(held.array if isinstance(held, Constant) else held, np.float64).ravel()
    if count is not None and len(values) != count:
        raise step.refuse("shape", f"has {len(values)} numbers as its {name}, not {count}")
    if finite:
        require_finite(f"{name} of {where(step.node)}", values)
    step.spend(len(values))
    return values


def _thresholds(step: Step, name: str, mode: IntArray) -> FloatArray:
    """Of each node, infinity too. What stands at nodes that ask for members means nothing."""
    values = np.where(mode == _MEMBER, 0.0, _floats(step, name, len(mode), finite=False))
    require_finite(f"{name} of {where(step.node)}", np.where(np.isinf(values), 0.0, values))
    return values


def _ensemble_of_ids(step: Step, prefix: str) -> tuple[_Nodes, _Weights]:
    """Nodes by the ids of their trees and their own, as both older operators have them. ``prefix``: of what
    leaves add, class or target."""
    names = step.attributes.get("nodes_modes", [])
    if unknown := {*names} - {*_MODES}:
        mode = min(unknown).decode(errors="replace")[:30]
        raise step.refuse("unsupported_attribute", f"has nodes of the mode {mode!r}, which has no circuit")
    mode, count = np.array([_MODES[name] for name in names], np.int64), len(names)
    tree, own = _integers(step, "nodes_treeids", count), _integers(step, "nodes_nodeids", count)
    keys = tree << 31 | own
    if len(np.unique(keys)) < count or not count:
        raise step.refuse("shape", "has no nodes, or two of one id")
    inner = mode != _LEAF
    # Nodes and leaves have numbers of their own.
    number = np.where(inner, np.cumsum(inner) - 1, -np.cumsum(~inner))
    order = np.argsort(keys)

    def find(trees: IntArray, nodes: IntArray) -> IntArray:
        """Return the indices of these nodes. Raises ``ModelError`` for nodes that do not exist."""
        wanted = trees << 31 | nodes
        place: IntArray = order[np.searchsorted(keys[order], wanted).clip(0, count - 1)]
        if (keys[place] != wanted).any():
            raise step.refuse("shape", "leads to nodes, or gives weights to leaves, that are not there")
        return place

    ways = [_integers(step, f"nodes_{side}nodeids", count)[inner] for side in ("true", "false")]
    children = np.stack([find(tree[inner], way) for way in ways], axis=1)
    parents = np.bincount(children.ravel(), minlength=count)
    roots = np.flatnonzero(parents == 0)
    roots = roots[np.argsort(tree[roots], kind="stable")]
    if not np.array_equal(tree[roots], np.unique(tree)):
        raise step.refuse("shape", "has trees without a root, or with several")
    nodes = _Nodes(
        number[roots],
        mode[inner],
        _integers(step, "nodes_featureids", count)[inner],
        _thresholds(step, "nodes_values", mode)[inner],
        number[children],
        np.searchsorted(tree[roots], tree[~inner]),
    )
    target = _integers(step, f"{prefix}_ids")
    at = find(
        _integers(step, f"{prefix}_treeids", len(target)), _integers(step, f"{prefix}_nodeids", len(target))
    )
    # Some exporters give weights to all nodes; those of no leaf are never added.
    leaf = ~number[at]
    weight, held = _floats(step, f"{prefix}_weights", len(target)), leaf >= 0
    return nodes, _Weights(leaf[held], target[held], weight[held])


def _ensemble(step: Step) -> tuple[_Nodes, _Weights]:
    """As TreeEnsemble has them, by their places."""
    said, count = step.attributes, len(step.attributes.get("nodes_featureids", []))
    modes: IntArray = said["nodes_modes"].array.ravel() if "nodes_modes" in said else np.zeros(0, np.int64)
    if len(modes) != count or not np.isin(modes, range(7)).all():
        raise step.refuse("unsupported_attribute", "has nodes of modes that have no circuit, or of none")
    weight, target = _floats(step, "leaf_weights"), _integers(step, "leaf_targetids")
    if len(weight) != len(target):
        raise step.refuse("shape", f"has {len(weight)} weights for {len(target)} leaves")
    sides = []
    for side in ("true", "false"):
        at, leaf = (_integers(step, f"nodes_{side}{kind}", count) for kind in ("nodeids", "leafs"))
        if (at >= np.where(leaf != 0, len(target), count)).any():
            raise step.refuse("shape", "leads to nodes or leaves that are not there")
        sides.append(np.where(leaf != 0, ~at, at))
    roots, children = _integers(step, "tree_roots"), np.stack(sides, axis=1)
    if not len(roots) or (roots >= count).any():
        raise step.refuse("shape", "has no trees, or roots that are not there")
    tree = _trees_of_leaves(step, roots, children, len(target))
    nodes = _Nodes(
        roots,
        modes,
        _integers(step, "nodes_featureids"),
        _thresholds(step, "nodes_splits", modes),
        children,
        tree,
    )
    return _by_members(step, nodes), _Weights(np.arange(len(target)), target, weight)


def _by_members(step: Step, nodes: _Nodes) -> _Nodes:
    """A node that asks for one of several numbers is a search among them: its nodes lead to its children."""
    at = np.flatnonzero(nodes.mode == _MEMBER)
    held = step.attributes.get("membership_values")
    values = np.zeros(0) if held is None else held.array.astype(np.float64).ravel()
    require_finite(f"membership_values of {where(step.node)}", values[~np.isnan(values)])
    step.spend(values.size)
    ends = np.flatnonzero(np.isnan(np.append(values, np.nan)))
    sets = [each[~np.isnan(each)] for each in np.split(values, ends[:-1])]
    sets = sets[: len(at)] if len(sets) == len(at) + 1 and not sets[-1].size else sets
    if at.size and (len(sets) != len(at) or not all(each.size for each in sets)):
        raise step.refuse("shape", f"has {len(sets)} sets of members for {len(at)} nodes, or empty ones")
    grown = _Grown(nodes)
    for node, members in zip(at, sets, strict=False):
        holds, fails = nodes.children[node].tolist()
        grown.search(np.unique(members), int(nodes.feature[node]), holds, fails, int(node))
    return grown.nodes


class _Grown:
    """Nodes to which others are added."""

    def __init__(self, nodes: _Nodes) -> None:
        self._nodes = nodes
        self._mode, self._feature, self._threshold, self._children = (
            each.tolist() for each in (nodes.mode, nodes.feature, nodes.threshold, nodes.children)
        )

    @property
    def nodes(self) -> _Nodes:
        return self._nodes._replace(
            mode=np.array(self._mode, np.int64),
            feature=np.array(self._feature, np.int64),
            threshold=np.array(self._threshold, np.float64),
            children=np.array(self._children, np.int64).reshape(-1, 2),
        )

    def search(
        self, members: FloatArray, feature: int, holds: int, fails: int, place: int | None = None
    ) -> int:
        """The node, at ``place`` if it is given, that leads to ``holds`` where its feature is one of the
        sorted ``members``: what is less than the middle one is searched for in front of it, and so on."""
        if not members.size:
            return fails
        middle = len(members) // 2
        value = float(members[middle])
        at = self._add() if place is None else place
        equal = self._add()
        front, behind = (
            self.search(part, feature, holds, fails) for part in (members[:middle], members[middle + 1 :])
        )
        self._set(at, _LT, feature, value, front, equal)
        self._set(equal, _LEQ, feature, value, holds, behind)
        return at

    def _add(self) -> int:
        for column in (self._mode, self._feature, self._threshold, self._children):
            column.append(0)
        return len(self._mode) - 1

    def _set(self, at: int, mode: int, feature: int, threshold: float, holds: int, fails: int) -> None:
        self._mode[at], self._feature[at], self._threshold[at] = mode, feature, threshold
        self._children[at] = [holds, fails]


def _trees_of_leaves(step: Step, roots: IntArray, children: IntArray, leaves: int) -> IntArray:
    """Return the tree of each leaf."""
    of_nodes, of_leaves = np.full(len(children), -1), np.zeros(leaves, np.int64)
    at = roots
    of_nodes[at] = np.arange(len(roots))
    while at.size:
        below, tree = children[at], np.repeat(of_nodes[at], 2).reshape(-1, 2)
        of_leaves[~below[below < 0]] = tree[below < 0]
        at, tree = below[below >= 0], tree[below >= 0]
        if (of_nodes[at] >= 0).any() or len(np.unique(at)) < len(at):
            raise step.refuse("shape", "has nodes that several lead to")
        of_nodes[at] = tree
    return of_leaves


def _scores(
    step: Step, nodes: _Nodes, weights: _Weights, mix: IntArray, base: FloatArray, *, apart: bool = False
) -> Data:
    """Return the sums of the trees' leaves, [rows, outputs]. ``apart``: each tree's targets are its own
    outputs, one tree after the other."""
    trees, columns = len(nodes.roots), mix.shape[1]
    if (weights.target >= columns).any():
        raise step.refuse("shape", f"has weights for more than {columns} targets")
    tree = nodes.tree[weights.leaf]
    # The targets of each tree, and where among them each weight's is.
    pairs, pair = np.unique(tree * columns + weights.target, return_inverse=True)
    first = np.searchsorted(pairs // columns, np.arange(trees))
    counts = np.diff(np.append(first, len(pairs)))
    most = max(1, int(counts.max(initial=0)))
    targets = np.zeros((trees, most), np.int64)
    rank = np.arange(len(pairs)) - first[pairs // columns]
    targets[pairs // columns, rank] = pairs % columns
    step.spend(len(nodes.tree) * most)
    leaf = np.zeros((len(nodes.tree), most))
    np.add.at(leaf, (weights.leaf, rank[pair]), weights.weight)
    if apart:
        if (counts != columns).any():
            raise step.refuse(
                "unsupported_attribute", "takes extremes of trees without weights for all targets"
            )
        targets += columns * np.arange(trees)[:, np.newaxis]
        step.spend((trees * columns) ** 2)
        mix, base = np.eye(trees * columns, dtype=np.int64), np.tile(base, trees)
    count, features = _rows(step)
    if nodes.feature.max(initial=0) >= features:
        raise step.refuse("shape", f"reads {[*step.whole()]} and has trees of more features than {features}")
    roots, feature, threshold, strict, children = _decided(*_compared(nodes))
    near = _near(step, threshold)
    split = len(feature)

    def again(each: IntArray, nodes: int, leaves: int) -> IntArray:
        """Of each row once more, and so many further: trees for each row read its features alone."""
        row = np.arange(count).reshape(-1, *[1] * each.ndim)
        return np.where(each < 0, each - row * leaves, each + row * nodes).reshape(-1, *each.shape[1:])

    step.spend((count - 1) * (len(leaf) * most + 5 * split) + (count**2 - 1) * mix.size)
    read = shaped(step, Data(step.floats(), shape=step.whole()), (1, count * features))
    made = step.emit(
        Forest,
        (read.tensor,),
        again(roots, split, len(leaf)),
        again(feature, features, 0),
        np.tile(threshold, count),
        np.tile(strict, count),
        again(children, split, len(leaf)),
        np.tile(leaf, (count, 1)),
        again(targets, mix.shape[1], 0),
        np.kron(np.eye(count, dtype=np.int64), mix),
        np.tile(base, count),
        np.tile(near, count),
    )
    return shaped(step, Data(made, shape=(1, count * len(mix)), kind=Element.FLOAT), (count, len(mix)))


def _rows(step: Step) -> tuple[int, int]:
    """Return the number of rows that the node reads, and of features. A vector is one row."""
    whole = step.whole()
    if len(whole) not in (1, 2):
        raise step.refuse("shape", f"reads shape {[*whole]}, not [rows, features]")
    return (1, whole[0]) if len(whole) == 1 else (whole[0], whole[1])


def _near(step: Step, threshold: FloatArray) -> FloatArray:
    """Return the distance within which a value equals each threshold. Boosters take values of the table as
    thresholds, so a threshold that is a float32 compares as one; others compare exactly. After a Scale,
    which rounds twice more, all thresholds, including those of float64, have a wider distance."""
    single = threshold.astype(np.float32)
    spacing = np.spacing(np.abs(single)).astype(np.float64)
    if isinstance(step.building.makers.get(step.floats()), Scale):
        return 2 * spacing
    return np.where(single == threshold, spacing / 2, 0.0)


def _decided(
    roots: IntArray, feature: IntArray, threshold: FloatArray, strict: IntArray, children: IntArray
) -> tuple[IntArray, IntArray, FloatArray, IntArray, IntArray]:
    """Without nodes that all finite entries pass in one way: what asks whether an entry is missing."""
    decided = np.abs(threshold) >= _BEYOND_ALL
    if not decided.any():
        return roots, feature, threshold, strict, children
    sure = np.where(decided, np.where(threshold > 0, children[:, 0], children[:, 1]), np.arange(len(feature)))
    for _ in range(int(decided.sum()).bit_length()):
        sure = np.where(sure < 0, sure, sure[np.maximum(sure, 0)])
    kept = np.flatnonzero(~decided)
    number = np.zeros(len(feature), np.int64)
    number[kept] = np.arange(len(kept))

    def led(to: IntArray) -> IntArray:
        to = np.where(to < 0, to, sure[np.maximum(to, 0)])
        return np.where(to < 0, to, number[np.maximum(to, 0)])

    return led(roots), feature[kept], threshold[kept], strict[kept], led(children[kept])


def _compared(nodes: _Nodes) -> tuple[IntArray, IntArray, FloatArray, IntArray, IntArray]:
    """Roots, features, thresholds, whether they are strict, and children of nodes that ask for less alone.
    One that asks for what is equal has a second node behind: not less, and not more."""
    holds, fails = nodes.children.T
    mode = nodes.mode
    turned, equal = np.isin(mode, (_GTE, _GT, _NEQ)), np.flatnonzero(np.isin(mode, (_EQ, _NEQ)))
    first, second = np.where(turned, fails, holds), np.where(turned, holds, fails)
    strict = np.isin(mode, (_LT, _GTE, _EQ, _NEQ)).astype(np.int64)
    children = np.stack([first, second], axis=1)
    behind = children[equal]
    children[equal] = np.stack([behind[:, 1], len(mode) + np.arange(len(equal))], axis=1)
    return (
        nodes.roots,
        np.append(nodes.feature, nodes.feature[equal]),
        np.append(nodes.threshold, nodes.threshold[equal]),
        np.append(strict, np.zeros(len(equal), np.int64)),
        np.append(children, behind, axis=0),
    )


def _classifier(step: Step) -> Sequence[Value]:
    """Weights for one of two classes alone are those of the second: where none is negative they are its
    probability, else its margin."""
    nodes, weights = _ensemble_of_ids(step, "class")
    count, base = len(class_names(step)), _floats(step, "base_values")
    alone = count == 2 and len(np.unique(weights.target)) == 1
    size = 1 if alone else count
    if base.size not in (0, 1, size):
        raise step.refuse("shape", f"has {base.size} base values for {size} scores")
    base = np.append(base, np.zeros(size - base.size))
    if not alone:
        return classified(step, _scores(step, nodes, weights, np.eye(count, dtype=np.int64), base))
    kind = step.attributes.get("post_transform", b"NONE")
    if kind == b"PROBIT":
        raise unknown(step, kind)
    logistic = kind == b"LOGISTIC"
    sure = 1.0 if (weights.weight >= 0).all() and not logistic else 0.0
    weights = weights._replace(target=np.zeros_like(weights.target))
    ends = np.array([sure - base[0], base[0] - sure * _TIED])
    scores = _scores(step, nodes, weights, np.array([[-1], [1]]), ends)
    # Of one score no softmax is taken.
    said = {**step.attributes, "post_transform": b"LOGISTIC" if logistic else b"NONE"}
    return classified(replace(step, attributes=said), scores)


def _regressor(step: Step) -> Value:
    targets, aggregate = (
        step.attributes.get("n_targets", 1),
        step.attributes.get("aggregate_function", b"SUM"),
    )
    return _aggregated(step, *_ensemble_of_ids(step, "target"), targets, aggregate)


def _of_places(step: Step) -> Value:
    said = dict(step.attributes)
    numbers = [said.get("aggregate_function", 1), said.get("post_transform", 0)]
    if numbers[0] not in range(len(_AGGREGATES)) or numbers[1] not in range(len(_TRANSFORMS)):
        raise step.refuse("unsupported_attribute", "has an aggregate_function or post_transform that is none")
    step = replace(step, attributes={**said, "post_transform": _TRANSFORMS[numbers[1]]})
    return _aggregated(step, *_ensemble(step), said.get("n_targets", 1), _AGGREGATES[numbers[0]])


def _aggregated(step: Step, nodes: _Nodes, weights: _Weights, targets: int, aggregate: bytes) -> Data:
    """[rows, targets]"""
    if not 1 <= targets <= 1 << 16 or aggregate not in _AGGREGATES:
        raise step.refuse(
            "unsupported_attribute", f"has {targets} targets, or an aggregate_function that is none"
        )
    base = _floats(step, "base_values")
    if base.size not in (0, targets):
        raise step.refuse("shape", f"has {base.size} base values for {targets} targets")
    base = base if base.size else np.zeros(targets)
    step.spend(targets**2)
    if aggregate == b"AVERAGE":
        weights = weights._replace(weight=weights.weight / len(nodes.roots))
    if aggregate in (b"AVERAGE", b"SUM"):
        return transformed(step, _scores(step, nodes, weights, np.eye(targets, dtype=np.int64), base))
    sign = 1 if aggregate == b"MAX" else -1
    weights = weights._replace(weight=sign * weights.weight)
    made = _scores(step, nodes, weights, np.eye(targets, dtype=np.int64), sign * base, apart=True)
    count = _rows(step)[0]
    rows = Rows(step, shaped(step, made, (count, len(nodes.roots), targets)), [1])
    extreme = rows.largest(rows.image)
    if sign < 0:
        extreme = function(step, extreme, "-x")
    return transformed(step, shaped(step, Data(extreme), (count, targets)))


_NODES: Final = dict.fromkeys(
    ("nodes_falsenodeids", "nodes_featureids", "nodes_missing_value_tracks_true", "nodes_truenodeids"), "ints"
)
_OF_IDS: Final = {
    **_NODES,
    **dict.fromkeys(("nodes_nodeids", "nodes_treeids"), "ints"),
    **dict.fromkeys(("base_values", "nodes_hitrates", "nodes_values"), "floats"),
    **dict.fromkeys(("base_values_as_tensor", "nodes_hitrates_as_tensor", "nodes_values_as_tensor"), "t"),
    "nodes_modes": "strings",
    "post_transform": "s",
}


def _leaves(prefix: str) -> dict[str, str]:
    return {
        **dict.fromkeys((f"{prefix}_ids", f"{prefix}_nodeids", f"{prefix}_treeids"), "ints"),
        f"{prefix}_weights": "floats",
        f"{prefix}_weights_as_tensor": "t",
    }


_CLASSIFIER: Final = {
    **_OF_IDS, **_leaves("class"), "classlabels_int64s": "ints", "classlabels_strings": "strings",
}  # fmt: skip
_REGRESSOR: Final = {**_OF_IDS, **_leaves("target"), "aggregate_function": "s", "n_targets": "i"}
_PLACES: Final = {
    **dict.fromkeys(("aggregate_function", "n_targets", "post_transform"), "i"),
    **dict.fromkeys(
        ("leaf_weights", "membership_values", "nodes_hitrates", "nodes_modes", "nodes_splits"), "t"
    ),
    **dict.fromkeys(("leaf_targetids", "tree_roots", "nodes_falseleafs", "nodes_trueleafs"), "ints"),
    **_NODES,
}

ENTRY = Entry(
    learned={
        "TreeEnsemble": Operator(_of_places, _PLACES),
        "TreeEnsembleClassifier": Operator(_classifier, _CLASSIFIER),
        "TreeEnsembleRegressor": Operator(_regressor, _REGRESSOR),
    }
)
