"""Commitments that hand on to others with the same values."""

from __future__ import annotations

import secrets
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.prover.spartan.oracle import foreseen
from tests.prover.statements import COMMITTED_Z, committed_statement, complete_committed
from tests.refusals import refuses
from zenserve import kernels
from zenserve.base.progress import silent
from zenserve.base.randomness import Secrets
from zenserve.kernels import FrArray, fr
from zenserve.prover.spartan import commitment, queries, renewal
from zenserve.prover.spartan.commitment import Committed, Encoded, commit
from zenserve.prover.spartan.field import KERNEL_FR
from zenserve.prover.spartan.layout import most_values, rows_for
from zenserve.prover.spartan.queries import Places
from zenserve.prover.spartan.renewal import renew
from zenserve.prover.spartan.system import CommitmentKey, Spartan
from zenserve.prover.spartan.system import Opening as Secret
from zenserve.verifier.spartan import chain, ledger, merkle
from zenserve.verifier.spartan.admission import Commitment, Sizes, shape_of
from zenserve.verifier.spartan.chain import Link
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.commitment import SEED_BYTES, Rows
from zenserve.verifier.spartan.field import FR, Field
from zenserve.verifier.spartan.ledger import MOST_LINKS
from zenserve.verifier.spartan.proof import MalformedError
from zenserve.verifier.spartan.renewal import is_renewed
from zenserve.verifier.system import Claim
from zenserve.verifier.verdict import Verdict

CODE = Code(FR, 10, 12)
ROWS = Rows(CODE, 2 * CODE.queries)
WIDTH = CODE.degree - ROWS.tail
SIZE = 2 * WIDTH + 17
HEAD = 64 + 32 * (CODE.degree // 2)
"""Bytes of a proof up to its folding's last vector: the two rows are folded once."""
# Of three rows, the last one partly filled.
VALUES = fr.from_ints(range(SIZE))
SECRET = Secrets()


def committed(values: FrArray) -> Committed:
    return commit(values, CODE, ROWS.tail, secrets.token_bytes(SEED_BYTES), secret=SECRET)


@pytest.fixture(scope="module")
def old() -> Committed:
    return committed(VALUES)


@pytest.fixture(scope="module")
def new() -> Committed:
    return committed(VALUES)


@pytest.fixture(scope="module")
def proof(old: Committed, new: Committed) -> bytes:
    return renew(ROWS, old, new, secret=SECRET)


@pytest.mark.parametrize("field", [FR, KERNEL_FR], ids=["plain", "kernels"])
def test_a_renewal_holds_between_its_two_roots_alone(
    field: Field, old: Committed, new: Committed, proof: bytes
) -> None:
    rows = replace(ROWS, code=replace(CODE, field=field))
    assert is_renewed(rows, SIZE, old.root, new.root, proof)
    again = committed(VALUES)
    for one, other in ((new, old), (old, again), (again, new), (old, old)):
        assert not is_renewed(rows, SIZE, one.root, other.root, proof)
    assert not is_renewed(rows, SIZE - 1, old.root, new.root, proof)
    assert not is_renewed(replace(rows, tail=rows.tail + 1), SIZE, old.root, new.root, proof)


@pytest.mark.parametrize("place", [0, WIDTH - 1, WIDTH, SIZE - 1])
def test_other_values_have_no_renewal(place: int, old: Committed) -> None:
    values = VALUES.copy()
    values[place] = fr.add(values[place], fr.from_ints([1])[0])
    other = committed(values)
    assert not is_renewed(ROWS, SIZE, old.root, other.root, renew(ROWS, old, other, secret=SECRET))


def test_what_fills_the_last_row_is_compared_too(old: Committed) -> None:
    """A matrix with something behind the values."""
    other = committed(fr.from_ints([*range(SIZE), *[5] * (WIDTH - 17)]))
    proof = renew(ROWS, old, other, secret=SECRET)
    assert not is_renewed(ROWS, SIZE, old.root, other.root, proof)
    assert not is_renewed(ROWS, 3 * WIDTH, old.root, other.root, proof)


def noisy(one: Committed) -> Committed:
    """The same with a word that is no code word added to each row: it has errors at half of all places."""
    assert one.encoded is not None
    words = one.encoded.words.copy()
    half = np.ascontiguousarray(words[:, ::2])
    one_each = fr.from_ints([1] * half[..., 0].size)
    words[:, ::2] = fr.to_canonical(fr.add(fr.from_canonical(half.reshape(-1, 4)), one_each)).reshape(
        half.shape
    )
    leaves = kernels.blake3.columns(words, merkle.LEAF_KEY, salts=one.salts, threads=1)
    nodes = kernels.blake3.tree(leaves, merkle.NODE_KEY, 1)
    size, tail, code = one.commitment.size, one.commitment.tail, one.code
    root = merkle.root(nodes[1].tobytes(), size, tail, code.log_degree, code.log_length)
    return replace(one, encoded=Encoded(words, nodes), commitment=Commitment(root, size, tail))


def test_both_matrices_are_near_to_code_words() -> None:
    """Two that are far from all, in the same way, are no commitments to anything."""
    old, new = noisy(committed(VALUES)), noisy(committed(VALUES))
    assert not is_renewed(ROWS, SIZE, old.root, new.root, renew(ROWS, old, new, secret=SECRET))


@pytest.mark.parametrize("slab_bytes", [1, 1 << 26])
def test_code_words_that_are_not_held_are_made_again(
    slab_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commitment, "SLAB_BYTES", slab_bytes)
    values, mask = fr.from_ints(range(70 * WIDTH + 5)), fr.from_ints(range(CODE.degree))[np.newaxis]
    make = partial(commit, values, CODE, ROWS.tail, bytes(SEED_BYTES), extra=mask, secret=SECRET, threads=2)
    held, made_again = make(), make(held_bytes=0)
    known, other = make(root=held.root), make(root=bytes(32))
    places = np.array([0, 5, 6, CODE.length - 1], np.uint32)
    assert held.encoded is not None
    assert made_again.encoded is known.encoded is None
    assert held.root == made_again.root
    assert held.open(places) == made_again.open(places) == known.open(places)
    with refuses("statement.openings", match="other values"):
        other.open(places)


def test_each_changed_byte_is_refused(old: Committed, new: Committed, proof: bytes) -> None:
    places = np.random.default_rng(1).integers(0, len(proof), 40).tolist()
    for place in [0, 40, 64, 96, HEAD, *places, len(proof) - 1]:
        changed = bytearray(proof)
        changed[place] ^= 1 << (place % 8)
        assert not is_renewed(ROWS, SIZE, old.root, new.root, bytes(changed)), place
    for wrong in (b"", proof[:-1], proof + b"\0", proof[:100]):
        assert not is_renewed(ROWS, SIZE, old.root, new.root, wrong)


@pytest.mark.parametrize("reused", [False, True])
def test_two_renewals_have_nothing_in_common(
    reused: bool, old: Committed, new: Committed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Challenged alike, no number, salt, column or hash but for what they open of both commitments: masks of
    both are noticed."""
    masks, opened = fr.from_ints(range(2 * CODE.degree)), list[bytes]()

    def places(*arguments: Any) -> Places:
        at = queries.places(*arguments)
        opened.append(old.open(at) + new.open(at))
        return at

    monkeypatch.setattr(renewal, "places", places)
    if reused:
        monkeypatch.setattr(renewal, "random_elements", lambda _: masks.copy())
    with foreseen():
        first, second = (renew(ROWS, old, new, secret=SECRET) for _ in range(2))
    start = first.index(opened[0])
    linked = {*range(start // 32, (start + len(opened[0])) // 32)}
    same = {i for i in range(len(first) // 32) if first[32 * i :][:32] == second[32 * i :][:32]}
    assert (same == linked) == (not reused)


class Owner:
    """Has a model and an input, and proves about them."""

    def __init__(self, folder: Path) -> None:
        self.basis, self.system, self.z = CommitmentKey(ROWS), Spartan(), fr.from_ints(COMMITTED_Z)
        statement, file = committed_statement(), folder / "key"
        self.key = self.system.setup(statement, file, basis=self.basis, threads=1, progress=silent)
        self.model, self.input = self.basis.commit(self.z[3:5]), self.basis.commit(self.z[6:7])

    def prove(self, folder: Path, *openings: Secret) -> bytes:
        return self.system.prove(
            self.system.load_key(folder / "key"),
            committed_statement(),
            self.z,
            openings=openings,
            post_challenge=complete_committed,
            threads=1,
            progress=silent,
        )

    def verdict(self, proof: bytes) -> Verdict:
        roots = [self.model.commitment, self.input.commitment]
        return self.system.verify(self.key, Claim(COMMITTED_Z[1:2], proof, roots))


def test_proofs_are_about_the_commitment_that_was_registered(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    basis, weights = owner.basis, owner.z[3:5]
    renewed = basis.renew(basis.renew(owner.model, weights), weights)
    assert renewed.commitment == owner.model.commitment
    assert len({owner.model.current[0], renewed.renewals[0].link.root, renewed.current[0]}) == 3
    assert Secret.from_bytes(renewed.to_bytes()) == renewed
    proof = owner.prove(tmp_path, renewed, owner.input)
    (links, none), rest = chain.split(proof, 2)
    assert (len(links), none) == (2, [])

    def with_chain(links: list[Link]) -> Verdict:
        return owner.verdict(chain.to_bytes(links) + chain.to_bytes([]) + rest)

    assert with_chain(links).valid
    stranger = basis.renew(basis.commit(weights), weights).renewals[0].link
    others = [[], links[:1], links[1:], links[::-1], [*links, links[1]], [stranger], [stranger, links[1]]]
    for wrong in others:
        found = with_chain(wrong)
        assert (found.reason, found.index) == ("link_mismatch", 0)
    assert owner.verdict(bytes([MOST_LINKS + 1]) + proof[1:]).reason == "malformed"
    assert owner.verdict(proof[:5]).reason == "malformed"


def test_a_link_that_was_found_before_is_of_its_own_root(tmp_path: Path) -> None:
    """However long what somebody says to be a commitment is: here none at all, and the link has it, too."""
    owner = Owner(tmp_path)
    renewed = owner.basis.renew(owner.model, owner.z[3:5])
    assert owner.verdict(owner.prove(tmp_path, renewed, owner.input)).valid
    link, (root, _) = renewed.renewals[0].link, owner.model.current
    proof = owner.prove(tmp_path, owner.model, owner.input)
    longer = chain.to_bytes([Link(root, link.root + link.proof)])
    claim = Claim(COMMITTED_Z[1:2], longer + proof[1:], [b"", owner.input.commitment])
    assert owner.system.verify(owner.key, claim).reason == "link_mismatch"


def test_a_chain_has_an_end(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    opening, value = owner.input, owner.z[6:7]
    for _ in range(MOST_LINKS):
        opening = owner.basis.renew(opening, value)
    with refuses("statement.openings", match="commit anew"):
        owner.basis.renew(opening, value)
    with refuses("statement.openings", match="other values"):
        owner.basis.renew(owner.input, owner.z[7:8])
    assert owner.basis.openings == 2
    for wrong in (b"", opening.to_bytes()[:-1], opening.to_bytes() + b"0", bytes(63), bytes(65)):
        with refuses("statement.openings"):
            Secret.from_bytes(wrong)


@pytest.mark.parametrize("linked", [0, 1, 8, 9, 16])
@pytest.mark.parametrize("log_degree", [12, 16])
def test_chains_leave_128_bits(linked: int, log_degree: int) -> None:
    """However many commitments a statement has, and not many more bits."""
    rows, values = rows_for(most_values(log_degree)), 1 << 20
    assert rows.code.log_degree == log_degree
    sizes = Sizes(1, 1, ((values, True),) * linked, values, values)
    shape = shape_of(sizes, rows.code, [Commitment(bytes(32), values, rows.tail)] * linked)
    found = ledger.bits([*ledger.terms(shape), *ledger.of_chains(shape)])
    assert ledger.LEAST_BITS < found < ledger.LEAST_BITS + 1.5
    assert len(ledger.of_chains(shape)) == (8 if linked else 0)


def test_chains_are_taken_from_what_is_there() -> None:
    links = [Link(bytes(32), b"one"), Link(bytes(range(32)), b"")]
    assert chain.split(chain.to_bytes(links) + b"rest", 1) == ([links], b"rest")
    for wrong in (chain.to_bytes(links)[:-1], b"\x01" + bytes(32) + b"\xff" * 4, b"\x01", b""):
        with pytest.raises(MalformedError):
            chain.split(wrong, 1)
