"""Whether relations hold, by their definitions alone: plain integers, no wires, no rows, no field.

It shares nothing with the compiler but the relations themselves, so that it can judge what the compiler makes
of them: an assignment that satisfies every row, and not these, would be a forged proof.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zenserve.relations.planes import Sliding
from zenserve.relations.relation import (
    Absolute,
    Argmax,
    AtLeast,
    Chosen,
    Convolution,
    Equal,
    Forest,
    Linear,
    Listed,
    Lookup,
    MatMul,
    MatrixProduct,
    Maximum,
    Move,
    OneHot,
    Parameter,
    Product,
    Quotient,
    Relation,
    Relations,
    Square,
    Tabulated,
    Tensor,
    Term,
    Total,
    WindowSum,
    Within,
)

# Python integers: nothing overflows.
Integers = NDArray[Any]


def broken(relations: Relations, values: Mapping[Tensor, Integers]) -> list[str]:
    """What does not hold, in words.

    ``values``: those of all tensors that are held, by whatever proves the relations. Tensors that are not are
    what their relations make them; parameters that are public are what the statement says.
    """
    check = _Check(values)
    wrong = [f"{tensor.name} leaves its bound" for tensor in relations.given if not check.within(tensor)]
    for relation in relations.relations:
        wrong += check.relation(relation)
    return wrong


class _Check:
    def __init__(self, values: Mapping[Tensor, Integers]) -> None:
        self._held = {tensor: np.asarray(value).astype(object) for tensor, value in values.items()}
        self._made: dict[Tensor, Integers] = {}

    def relation(self, relation: Relation) -> list[str]:
        made, out = _MAKES[type(relation)](self, relation), relation.out
        wrong = [f"{each.name} leaves its bound" for each in relation.parameters if not self.within(each)]
        if out not in self._held:
            self._made[out] = made
        elif not np.array_equal(self._held[out].reshape(made.shape), made):
            wrong.append(f"{relation.name}: {out.name} is not what it must be")
        return wrong if self.within(out) else [*wrong, f"{out.name} leaves its bound"]

    def within(self, tensor: Tensor) -> bool:
        """Whether it keeps its bound, or another proof says so."""
        value, bound = self.value(tensor), tensor.bound
        return bound.proof == "registration" or bool(((bound.low <= value) & (value <= bound.high)).all())

    def value(self, tensor: Tensor) -> Integers:
        if tensor in self._held:
            return self._held[tensor].reshape(tensor.shape)
        if isinstance(tensor, Parameter) and tensor.privacy == "public":
            return tensor.values.astype(object)
        return self._made[tensor].reshape(tensor.shape)

    def term(self, term: Term) -> Integers:
        return term.factor * (self.value(term.tensor) - term.zero_point)


def _linear(check: _Check, relation: Linear) -> Integers:
    first, *others = map(check.term, relation.terms)
    return sum((each.reshape(first.shape) for each in others), first)


def _product(check: _Check, relation: Product) -> Integers:
    return check.term(relation.left) * check.term(relation.right)


def _matrix_product(check: _Check, relation: MatrixProduct) -> Integers:
    left, right = check.term(relation.left), check.term(relation.right)
    made: Integers = (left[..., np.newaxis] * right[:, :, np.newaxis]).sum(axis=3)
    return made


def _matmul(check: _Check, relation: MatMul) -> Integers:
    x, weight = _narrow(check.term(relation.x), check.value(relation.weight))
    return (x @ weight.T).astype(object) + check.value(relation.bias)


def _convolution(check: _Check, relation: Convolution) -> Integers:
    x, weight = _narrow(check.term(relation.x), check.value(relation.weight))
    groups, batch = relation.sliding.groups, relation.out.shape[0]
    x, weight = x.reshape(batch, groups, -1, *x.shape[2:]), weight.reshape(groups, -1, *weight.shape[1:])
    made = np.zeros((batch, *weight.shape[:2], *relation.sliding.out), object)
    for at, window, place in _windows(relation.sliding):
        seen = x[:, :, :, *window].reshape(batch, groups, -1)
        taps = weight[:, :, :, *place].reshape(groups, weight.shape[1], -1)
        for group in range(groups):
            made[(slice(None), group, slice(None), *at)] = seen[:, group] @ taps[group].T
    return made.reshape(relation.out.shape) + check.value(relation.bias).reshape(-1, *(1 for _ in at))


def _narrow(x: Integers, weight: Integers) -> tuple[Integers, Integers]:
    """In 64 bits, where no sum of products can exceed them: Python integers take a hundred times as long."""
    reach = weight.size * int(abs(x).max()) * int(abs(weight).max())
    return (x.astype(np.int64), weight.astype(np.int64)) if reach < 1 << 62 else (x, weight)


def _window_sum(check: _Check, relation: WindowSum) -> Integers:
    x, made = check.term(relation.x), np.zeros(relation.out.shape, object)
    for at, window, _ in _windows(relation.sliding):
        made[(slice(None), slice(None), *at)] = x[:, :, *window].reshape(*x.shape[:2], -1).sum(axis=2)
    return made


def _maximum(check: _Check, relation: Maximum) -> Integers:
    x, made = check.value(relation.value), np.zeros(relation.out.shape, object)
    for at, window, _ in _windows(relation.sliding):
        made[(slice(None), slice(None), *at)] = x[:, :, *window].reshape(*x.shape[:2], -1).max(axis=2)
    return made


def _windows(sliding: Sliding) -> Iterator[tuple[tuple[Any, ...], list[slice], list[slice]]]:
    """For each output its place, and which part of the image meets which part of the kernel."""
    for at in itertools.product(*map(range, sliding.out)):
        window, place = [], []
        for axis, size in enumerate(sliding.image[1:]):
            step = sliding.dilation[axis] if sliding.dilation else 1
            first = at[axis] * sliding.stride[axis] - sliding.padding[axis]
            met = [tap for tap in range(sliding.kernel[axis]) if 0 <= first + step * tap < size]
            low, high = (min(met), max(met)) if met else (0, -1)
            window.append(slice(max(first + step * low, 0), first + step * high + 1 if met else 0, step))
            place.append(slice(low, high + 1))
        yield at, window, place


def _forest(check: _Check, relation: Forest) -> Integers:
    feature, threshold, value, base = (
        check.value(each) for each in (relation.feature, relation.threshold, relation.value, relation.base)
    )
    following = None if relation.following is None else check.value(relation.following)
    made = [[int(each) for each in base] for _ in check.value(relation.x)]
    for sample, x in enumerate(check.value(relation.x)):
        for tree, columns in enumerate(relation.targets.tolist()):
            block = tree
            for _ in range(relation.steps):
                leaving = 0
                for level in range(relation.levels):
                    node = 2**level - 1 + leaving
                    if not 0 <= (place := feature[block, node]) < len(x):
                        return np.full(relation.out.shape, _NOWHERE, object)
                    leaving = 2 * leaving + int(x[place] > threshold[block, node])
                for column, added in zip(columns, value[block, leaving], strict=True):
                    for output, factor in enumerate(relation.mix[:, column].tolist()):
                        made[sample][output] += factor * added
                block = relation.trees if following is None else following[block, leaving]
                if not 0 <= block < len(value) + (following is None):
                    return np.full(relation.out.shape, _NOWHERE, object)
            if block != relation.trees:
                return np.full(relation.out.shape, _NOWHERE, object)
    return np.array(made, object)


# What no tensor holds.
_NOWHERE = 1 << 300


def _lookup(check: _Check, relation: Lookup) -> Integers:
    function, value = relation.function, check.value(relation.value)
    total = function.multiplier.astype(object) * value + function.offset
    made: Integers = np.clip(total // 2**function.shift, function.low, function.high)
    return made


def _tabulated(check: _Check, relation: Tabulated) -> Integers:
    entries = dict(enumerate(relation.function.values.tolist(), relation.function.first))
    value, none = check.value(relation.value), max(entries.values()) + 1
    return np.array([entries.get(x, none) for x in value.ravel()], object).reshape(value.shape)


def _move(check: _Check, relation: Move) -> Integers:
    batch = relation.out.shape[0]
    sources = [check.value(source).reshape(batch, -1) for source in relation.sources]
    entries = np.concatenate([*sources, np.full((batch, 1), relation.constant)], axis=1)
    return entries[:, relation.places]


def _argmax(check: _Check, relation: Argmax) -> Integers:
    *rows, wanted = relation.out.shape
    values = check.value(relation.value).reshape(int(np.prod(rows)), -1)
    return np.array([_largest(list(row))[:wanted] for row in values], object).reshape(relation.out.shape)


def _one_hot(check: _Check, relation: OneHot) -> Integers:
    place = check.value(relation.place)
    return np.asarray(place[..., np.newaxis] == np.arange(relation.out.shape[-1])).astype(int).astype(object)


def _quotient(check: _Check, relation: Quotient) -> Integers:
    value, divisor = check.value(relation.value), check.value(relation.divisor)
    each = 2**relation.shift * divisor.reshape(len(divisor), -1)[:, relation.rows].reshape(value.shape)
    made: Integers = (2 * relation.multiplier * value + each) // (2 * each)
    return made


def _largest(values: Sequence[int]) -> list[int]:
    """The places of all values, the largest first, and of equals the first."""
    return sorted(range(len(values)), key=lambda place: (-values[place], place))


def _equal(check: _Check, relation: Equal) -> Integers:
    right = relation.right if isinstance(relation.right, int) else check.value(relation.right)
    return np.asarray(check.value(relation.left) == right).astype(int).astype(object)


def _total(check: _Check, relation: Total) -> Integers:
    columns = relation.out.shape[0]
    entries = check.value(relation.value).ravel().tolist()
    totals = [sum(entries[column::columns]) for column in range(columns)]
    return np.array([relation.constant + relation.sign * total for total in totals], object)


def _square(check: _Check, relation: Square) -> Integers:
    return check.value(relation.value) ** 2


def _absolute(check: _Check, relation: Absolute) -> Integers:
    return np.array([abs(x) for x in check.value(relation.value).ravel()], object).reshape(relation.out.shape)


def _at_least(check: _Check, relation: AtLeast) -> Integers:
    left, right = check.value(relation.left), check.value(relation.right)
    return np.asarray(left >= right).astype(int).astype(object)


def _within(check: _Check, relation: Within) -> Integers:
    return check.value(relation.value)


def _listed(check: _Check, relation: Listed) -> Integers:
    """What is held where all rows are listed, and nothing that may be held else."""
    out = check.value(relation.out)
    columns = [check.value(each).ravel() for each in (*relation.values, relation.out)]
    rows = set(map(tuple, relation.rows.tolist()))
    return out if all(row in rows for row in zip(*columns, strict=True)) else out - 1


def _chosen(check: _Check, relation: Chosen) -> Integers:
    return check.value(relation.out)


_MAKES: dict[type, Any] = {
    Linear: _linear,
    Product: _product,
    MatMul: _matmul,
    MatrixProduct: _matrix_product,
    Convolution: _convolution,
    Forest: _forest,
    WindowSum: _window_sum,
    Lookup: _lookup,
    Tabulated: _tabulated,
    Maximum: _maximum,
    Move: _move,
    Argmax: _argmax,
    Equal: _equal,
    OneHot: _one_hot,
    Total: _total,
    Quotient: _quotient,
    Square: _square,
    Absolute: _absolute,
    AtLeast: _at_least,
    Within: _within,
    Chosen: _chosen,
    Listed: _listed,
}
