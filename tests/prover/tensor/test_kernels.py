"""What the kernels make is what the slow prover says: trees of fractions, code words and roots."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np
import pytest

from tests.kernels.targets import PROCESSOR, each
from tests.prover.tensor import toy
from tests.prover.tensor.reference import Committed, Noise, Prover, prove
from zenserve import kernels
from zenserve.kernels.babybear import BearArray
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.field import BEAR, BEAR5
from zenserve.verifier.spartan.merkle import LEAF_KEY, NODE_KEY
from zenserve.verifier.tensor.verification import Matrix, root, verify


def planes(values: Sequence[int]) -> BearArray:
    """uint32[5, n], Montgomery."""
    data = np.frombuffer(BEAR5.to_bytes(values), dtype="<u4").reshape(-1, 5)
    return kernels.bear.from_canon(np.ascontiguousarray(data.T, dtype=np.uint32))


def integers(elements: BearArray) -> list[int]:
    """Of uint32[n, 5]."""
    return BEAR5.from_bytes(kernels.bear.to_canon(elements).astype("<u4").tobytes())


class Native(Prover):
    """Its trees are the kernels'. Of a round they tell t(1) and the coefficient of X^2; with the claim,
    which is (1 - w) t(0) + w t(1), that is all of t."""

    def _layers(self, n: list[int], d: list[int]) -> list[tuple[list[int], list[int]]]:
        numerators = kernels.bear.from_canon(np.array(n, dtype=np.uint32))
        self.trees = [*self.__dict__.get("trees", []), kernels.fraction_tree(numerators, planes(d))]
        return super()._layers(n, d)

    def _layer(
        self, n: list[int], d: list[int], point: Sequence[int]
    ) -> Generator[tuple[str, list[int]] | str, list[int], list[int]]:
        if not point:
            self.tree, *self.trees = self.trees
            self.claim = integers(self.tree.root())
        reduce, last, at = BEAR5.reduce, None, list[int]()
        (join,) = yield "layer"
        self.tree.begin(planes([join])[:, 0])
        claim = reduce(self.claim[0] + join * self.claim[1])
        for variable, w in enumerate(point):
            behind, rest = point[variable + 1 :], planes([1])
            told = self.tree.round(last, kernels.bear5.eq(planes(behind)) if behind else rest, rest)
            one, square = integers(told)
            constant = reduce((claim - w * one) * BEAR5.inverse(reduce(1 - w)))
            linear = reduce(one - constant - square)
            yield "tree", [linear, square]
            (r,) = yield "round"
            claim = reduce(constant + r * linear + r * r * square)
            last = planes([r])[:, 0]
            at.append(r)
        halves = integers(self.tree.halves(last))
        yield "halves", halves
        (half,) = yield "half"
        n0, n1, d0, d1 = halves
        self.claim = [reduce(n0 + half * (n1 - n0)), reduce(d0 + half * (d1 - d0))]
        return [half, *at]


def test_a_proof_with_the_kernels_trees_is_the_same_bytes() -> None:
    statement = toy.statement(BEAR5)
    values = toy.values(statement)
    native, slow = (prove(statement, values, Noise(BEAR5), steps=steps) for steps in (Native, Prover))
    assert native.data == slow.data
    assert verify(statement, native.linked, native.data) == "ok"


@pytest.mark.parametrize("target", each(PROCESSOR))
@pytest.mark.parametrize("rows", [3, 8, 13])
def test_a_root_is_that_of_the_kernels(target: str, rows: int) -> None:
    code, tail, k = Code(BEAR, 5, 7, 8), 14, kernels.load(target)
    matrix, noise = Matrix(code, rows, tail), Noise(BEAR)
    values = np.random.default_rng(rows).integers(-128, 128, (rows, code.degree - tail), dtype=np.int8)
    tails = np.array([noise.base("tails", tail) for _ in range(rows)], dtype=np.uint32)
    whole = [
        [*(int(value) % BEAR.modulus for value in row), *map(int, rest)]
        for row, rest in zip(values, tails, strict=True)
    ]
    slow = Committed(matrix, whole, noise)
    words = k.bear_domain(code.log_length).encode(values, tails)
    salts = np.frombuffer(b"".join(slow.salts), dtype=np.uint8).reshape(-1, 32)
    leaves = k.blake3.columns(words.view(np.uint64).reshape(-1, code.length, 4), LEAF_KEY, salts=salts)
    nodes = k.blake3.tree(leaves, NODE_KEY)
    assert root(matrix, nodes[1].tobytes()) == slow.root
