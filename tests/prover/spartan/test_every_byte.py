"""Every byte of a proof changed: refused, of one so small that all are tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

import pytest

from tests.prover.spartan.reference import Noise, matrix, prove, renew
from tests.prover.spartan.toy import ABOUT, ABOUT_MATRICES, PUBLIC, SIZE
from zenserve.verifier.spartan import chain
from zenserve.verifier.spartan import shape as geometry
from zenserve.verifier.spartan.chain import Link
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.commitment import Rows
from zenserve.verifier.spartan.field import FR
from zenserve.verifier.spartan.proof import MalformedError
from zenserve.verifier.spartan.shape import Shape
from zenserve.verifier.spartan.verification import verify

CODE = Code(FR, 3, 5, query_bits=2)  # three queries
ROWS = Rows(CODE, 2 * CODE.queries)
VALUES = [5, 6, 9, 1, 3, 4]
MATRICES = replace(ABOUT_MATRICES, over=FR)


class Made(NamedTuple):
    """``data``: a chain, and a proof about the commitment at its end."""

    shape: Shape
    registered: bytes
    data: bytes

    def reason(self, data: bytes) -> str:
        try:
            (links,), proof = chain.split(data, 1)
        except MalformedError:
            return "malformed"
        root = chain.end(ROWS, SIZE, self.registered, links)
        if root is None:
            return "link_mismatch"
        return verify(self.shape, MATRICES, [PUBLIC], [root], proof).reason


def made(*, renewed: bool) -> Made:
    noise = Noise(FR, random=Random(1))
    old, new = (matrix(CODE, VALUES[:SIZE], ROWS.tail, noise) for _ in range(2))
    links = [Link(new.root, renew(ROWS, SIZE, old, new, noise)[0].to_bytes(FR))] if renewed else []
    linked = [new if renewed else old]

    def complete(z: list[int], challenges: Sequence[int]) -> None:
        z[9] = z[3] + z[2]

    shape, z = replace(ABOUT, code=CODE), [1, PUBLIC, 0, *VALUES, 0]
    proof = prove(shape, MATRICES, z, linked=linked, complete=complete, noise=noise)
    return Made(shape, old.root, chain.to_bytes(links) + proof.data)


@pytest.fixture(scope="module", params=[False, True], ids=["told", "folded"])
def proof(request: pytest.FixtureRequest) -> Iterator[Made]:
    """Of a row that is told, or folded, and behind a renewal."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param:
            patch.setattr(geometry, "MOST_TOLD", 2)
            patch.setattr(geometry, "_LEAST_TOLD", 1)
        found = made(renewed=request.param)
        assert len(found.shape.folding.levels) == int(request.param)
        assert found.reason(found.data) == "ok"
        yield found


def accepted(proof: Made, places: Sequence[int]) -> list[int]:
    """Where a byte can be changed."""
    found = []
    for place in places:
        changed = bytearray(proof.data)
        changed[place] ^= 1 << place % 8
        found += [place] if proof.reason(bytes(changed)) == "ok" else []
    return found


def test_some_bytes_changed_are_refused(proof: Made) -> None:
    last = len(proof.data) - 1
    assert accepted(proof, [0, 1, 40, last, *Random(1).sample(range(last), 300)]) == []


@pytest.mark.large
def test_all_bytes_changed_are_refused(proof: Made) -> None:
    assert accepted(proof, range(len(proof.data))) == []
