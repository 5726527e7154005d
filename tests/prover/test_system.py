"""What is asked of a proof system as an object, of Groth16 and of a toy alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.prover.statements import COMMITTED_Z, committed_statement, complete_committed
from tests.service.toy_system import ToySystem
from zenserve.base.progress import silent
from zenserve.errors import FileFormatError, StatementError
from zenserve.kernels import fr
from zenserve.prover import registry
from zenserve.prover.groth16.system import Groth16
from zenserve.prover.size import Size
from zenserve.prover.spartan.system import Spartan
from zenserve.prover.system import Opening, ProofSystem
from zenserve.verifier.registry import SYSTEMS
from zenserve.verifier.system import Claim
from zenserve.verifier.verdict import LINK_MISMATCH, SUM_MISMATCH, Verdict

WITNESS = fr.from_ints(COMMITTED_Z)
PUBLIC = COMMITTED_Z[1:2]


class Made(NamedTuple):
    """A proof of ``committed_statement`` with its key, read from its file, and what it links to."""

    system: ProofSystem
    key: Any
    openings: list[Any]
    claim: Claim
    basis: Any


@pytest.fixture(scope="module", params=[Groth16, Spartan, ToySystem])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    system: ProofSystem = request.param()
    folder, scheme = tmp_path_factory.mktemp(system.id), system.commitments
    scheme.make_key(folder / "basis", 8, 1, None)
    basis = scheme.load_key(folder / "basis")
    verifying = system.setup(committed_statement(), folder / "key", basis=basis, threads=1, progress=silent)
    key = system.load_key(folder / "key")
    assert key.verifying_key == verifying == system.read_key(verifying.to_json())
    openings = [basis.commit(WITNESS[3:5]), basis.commit(WITNESS[6:7])]
    return Made(system, key, openings, claim(system, key, openings), basis)


def claim(system: ProofSystem, key: Any, openings: list[Opening]) -> Claim:
    proof = system.prove(
        key,
        committed_statement(),
        WITNESS,
        openings=openings,
        post_challenge=complete_committed,
        threads=1,
        progress=silent,
    )
    return Claim(PUBLIC, proof, [opening.commitment for opening in openings])


def test_a_proof_is_valid_for_what_it_was_made_for_alone(made: Made) -> None:
    system, key, openings, good, basis = made
    verifying = key.verifying_key
    assert verifying.setup in system.setups
    assert (verifying.public, list(verifying.linked_sizes), verifying.basis) == (1, [2, 1], basis.identity)
    assert verifying.statement_digest == committed_statement().digest
    other = basis.commit(WITNESS[3:5]).commitment
    wrong = [
        Claim([PUBLIC[0] + 1], good.proof, good.commitments),
        Claim([], good.proof, good.commitments),
        Claim(PUBLIC, good.proof, good.commitments[::-1]),
        Claim(PUBLIC, good.proof, good.commitments[:1]),
        Claim(PUBLIC, good.proof, [other, good.commitments[1]]),
        Claim(PUBLIC, good.proof[:-1], good.commitments),
        Claim(PUBLIC, b"", good.commitments),
    ]
    assert system.verify(verifying, good).reason == "ok"
    verdicts = system.verify_batch(verifying, [good, *wrong, good])
    assert [verdict.valid for verdict in verdicts] == [True, *[False] * len(wrong), True]
    assert {verdict.reason for verdict in verdicts} <= set(system.reasons)
    assert all(verdict.detail for verdict in verdicts)
    second = claim(system, key, [openings[0], basis.commit(WITNESS[6:7])])
    swapped = Claim(PUBLIC, second.proof, [good.commitments[0], basis.commit(WITNESS[7:8]).commitment])
    verdict = system.verify(verifying, swapped)
    assert (verdict.reason, verdict.index) == (LINK_MISMATCH, 1)


def test_estimates_are_of_this_proof(made: Made) -> None:
    found = made.system.estimate(Size.of(committed_statement()), 1)
    links = 0 if made.system.id != ToySystem.id else sum(map(len, made.claim.commitments))
    near = 0.03 * found.proof_bytes if made.system.id == Spartan.id else 0  # paths meet by chance
    assert abs(found.proof_bytes + links - len(made.claim.proof)) <= near
    assert len(made.claim.proof) <= made.system.most_proof_bytes
    assert found.setup_memory > 0
    assert found.proof_memory > 0
    assert made.system.soundness_bits(4, degree=4) > 128
    assert made.system.effort([len(made.claim.proof)] * 100, {}, None) >= 0


def test_openings_come_back_from_bytes_and_open_in_public(made: Made) -> None:
    scheme, basis = made.system.commitments, made.basis
    opening = made.openings[0]
    again = scheme.read_opening(opening.to_bytes())
    assert again.to_bytes() == opening.to_bytes() == opening.commitment + opening.blinding_bytes
    assert len(opening.commitment) == scheme.commitment_bytes
    shown = basis.reveal(again, WITNESS[3:5]).to_json()
    scheme.check_form(shown)
    assert bytes.fromhex(shown["blinding"]) == opening.blinding_bytes
    for broken in (shown | {"blinding": None}, shown | {"more": 1}, shown | {"blinding": "0A"}):
        with pytest.raises(FileFormatError):
            scheme.check_form(broken)
    values = COMMITTED_Z[3:5]
    assert scheme.check_opening(basis.identity, opening.commitment, values, shown)
    assert not scheme.check_opening(basis.identity, opening.commitment, values[::-1], shown)
    with pytest.raises(StatementError):
        basis.reveal(again, WITNESS[4:6])
    public = [basis.commit(WITNESS[3:5], hiding=False).commitment for _ in range(2)]
    assert public[0] == public[1]


@pytest.mark.parametrize("counts", [[[3], [4], [5]], [[3, -7], [4, 0], [5, 2]]])
def test_sums_are_opened_by_their_totals(made: Made, counts: list[list[int]]) -> None:
    scheme, basis = made.system.commitments, made.basis
    openings = [basis.commit(fr.from_ints(count)) for count in counts]
    commitments, shown = [each.commitment for each in openings], scheme.open_sum(basis, openings, counts)
    totals = [sum(column) for column in zip(*counts, strict=True)]

    def verdict(those: list[bytes], claimed: list[int], opening: bytes = shown) -> Verdict:
        return scheme.check_sum(basis.identity, those, claimed, opening)

    assert verdict(commitments, totals)
    for place in range(len(totals)):
        wrong = [total + (index == place) for index, total in enumerate(totals)]
        assert verdict(commitments, wrong).reason == SUM_MISMATCH
    assert not verdict(commitments[:2], totals)
    assert not verdict([*commitments, commitments[0]], totals)
    assert not verdict(commitments, totals, shown[:-1])
    assert not verdict(commitments, totals[::-1] if len(totals) > 1 else [totals[0] + 1])
    other = scheme.open_sum(basis, openings[:2], counts[:2])
    assert not verdict(commitments, totals, other)


def test_systems_are_found_by_their_ids(tmp_path: Path) -> None:
    assert registry.find(Groth16.id).id == Groth16.id
    assert registry.SYSTEMS.keys() == SYSTEMS.keys()
    with pytest.raises(StatementError, match=f"no proof system 'groth17'.*{Groth16.id}") as refusal:
        registry.find("groth17")
    assert (refusal.value.code, refusal.value.field) == ("statement.system", "system")
