"""Documents of version 2 stay valid, and none is taken for one of another version or proof system."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.client.makers import AccuracyMaker, Maker, rehashed
from zenserve.errors import FileFormatError
from zenserve.verifier import receipts
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.documents import (
    KeyFile,
    OpeningFile,
    ProofDocument,
    Receipt,
    Statement,
    checked,
    key_id,
    named,
)
from zenserve.verifier.groth16.system import Groth16Verifier, PedersenOverPowersOfTau
from zenserve.verifier.judging import Case, Known, Registration, judge, judge_each
from zenserve.verifier.keys import key_file, opened
from zenserve.verifier.registry import FIRST, SYSTEMS, register
from zenserve.verifier.system import Claim, Flaw

Json = dict[str, Any]
RECORDED: dict[str, Json] = json.loads((Path(__file__).parent / "vectors/version2.json").read_text())
PROOFS = [name for name in RECORDED if name != "receipt"]


class OtherCommitments(PedersenOverPowersOfTau):
    id = "other-commitments"


class Twin(Groth16Verifier):
    """A system whose keys are Groth16's, to the last byte, and which is as sound."""

    id = "twin"


class CredulousTwin(Twin):
    """A system that believes everything."""

    id = "credulous-twin"

    def verify_groups(self, key: object, groups: Sequence[Sequence[Claim]]) -> list[Flaw | None]:
        return [None for _ in groups]


class Credulous(CredulousTwin):
    """One that commits in its own way, too."""

    id = "credulous"
    commitments = OtherCommitments()


@pytest.fixture(autouse=True)
def _others() -> Iterator[None]:
    others = (Twin(), CredulousTwin(), Credulous())
    for system in others:
        register(system)
    yield
    for system in others:
        del SYSTEMS[system.id]


def read(name: str) -> tuple[ProofDocument, KeyFile]:
    return checked(ProofDocument, RECORDED[name]["document"]), checked(KeyFile, RECORDED[name]["key"])


def of_system(key: KeyFile, system: Groth16Verifier) -> KeyFile:
    """The file by which its maker would hand on the same points as a key of another system."""
    return key_file(system, opened(key).verifying, key.circuit)


def renamed(document: ProofDocument, key: KeyFile, **more: Any) -> ProofDocument:
    """What a messenger hands on: the proofs that there were, for a statement under another key."""
    names = named(key.proof_system) | {"verification_key": key.reference.model_dump()}
    return rehashed(document, **names, **more).model_copy(update={"version": 3})


@pytest.mark.parametrize("name", PROOFS)
def test_a_recorded_proof_is_valid_and_written_as_it_was(name: str) -> None:
    document, key = read(name)
    assert judge(document, key).valid
    assert document.model_dump(mode="json") == RECORDED[name]["document"]
    assert key.model_dump(mode="json") == RECORDED[name]["key"]
    now = of_system(key, Groth16Verifier())
    assert (now.version, now.system, now.id) == (3, FIRST, key.id)
    assert judge(document, now).valid


def test_what_recorded_proofs_are_compared_with() -> None:
    document, key = read("inference")
    given = RECORDED["inference"]
    openings = checked(OpeningFile, given["openings"])
    assert judge(document, key, known=Known(input=given["input"], openings=openings)).valid
    wrong = Known(input=given["input"][::-1], openings=openings)
    assert judge(document, key, known=wrong).reason == "input_mismatch"
    document, key = read("accuracy")
    data = LabelledData.of(RECORDED["accuracy"]["samples"], RECORDED["accuracy"]["labels"])
    assert judge(document, key, known=Known(dataset=data)).valid


def test_a_recorded_receipt_is_signed_and_takes_no_names() -> None:
    receipt = checked(Receipt, RECORDED["receipt"])
    assert receipts.judge(receipt).valid
    names = named(SYSTEMS[FIRST])
    relabelled = checked(Receipt, RECORDED["receipt"] | names)
    assert receipts.judge(relabelled).reason == "signature_mismatch"
    for wrong in ({"version": 3}, {"system": FIRST}, {"system": None}):
        with pytest.raises(FileFormatError, match="name their system"):
            checked(Receipt, RECORDED["receipt"] | wrong)


@pytest.mark.parametrize("name", PROOFS)
def test_version_2_relabelled_3(name: str) -> None:
    fields, (document, key) = RECORDED[name]["document"], read(name)
    with pytest.raises(FileFormatError, match="another version"):
        checked(ProofDocument, fields | {"version": 3})
    for version in (2, 3):
        with pytest.raises(FileFormatError, match="name their system"):
            checked(
                ProofDocument,
                fields | {"version": version, "statement": fields["statement"] | {"version": 3}},
            )
    assert judge(renamed(document, key), key).reason == "pairing_mismatch"


def test_version_3_relabelled_2(inferrer: Maker, inferred: ProofDocument) -> None:
    fields = inferred.model_dump()
    earlier = {name: value for name, value in fields["statement"].items() if "system" not in name}
    del earlier["commitment_scheme"]
    with pytest.raises(FileFormatError, match="name their system"):
        checked(ProofDocument, fields | {"version": 2, "statement": fields["statement"] | {"version": 1}})
    statement = checked(Statement, earlier | {"version": 1})
    document = ProofDocument(
        version=2, statement=statement, statement_sha256=statement.sha256.hex(), proofs=inferred.proofs
    )
    assert judge(document, inferrer.key_file).reason == "pairing_mismatch"


def test_a_document_of_another_system_than_its_key(inferrer: Maker, inferred: ProofDocument) -> None:
    """Whoever is believed by one system is not by another, whose key the verifier trusts."""
    for system in (Twin(), CredulousTwin(), Credulous()):
        lie = rehashed(inferred, **named(system))
        assert judge(lie, inferrer.key_file).reason == "system_mismatch"
        theirs = of_system(inferrer.key_file, system)
        assert judge(inferred, theirs).reason == "system_mismatch"


def test_statements_of_two_systems_have_two_hashes(inferrer: Maker, inferred: ProofDocument) -> None:
    """The twin's equations are Groth16's, and so is its key: a proof of one is none of the other."""
    theirs = of_system(inferrer.key_file, Twin())
    assert judge(renamed(inferred, theirs), theirs).reason == "pairing_mismatch"


def test_keys_of_two_systems_share_no_id(inferrer: Maker, inferred: ProofDocument) -> None:
    mine, theirs = inferrer.key_file, of_system(inferrer.key_file, Credulous())
    assert (mine.key, mine.circuit) == (theirs.key, theirs.circuit)
    assert mine.id != theirs.id
    for stolen in (
        theirs.model_copy(update={"id": mine.id}),
        mine.model_copy(update={"id": theirs.id}),
        mine.model_copy(update=named(Credulous())),
    ):
        with pytest.raises(FileFormatError) as refusal:
            judge(inferred, stolen)
        assert (refusal.value.code, refusal.value.field) == ("file.hash", "id")
    digest = bytes.fromhex(mine.key["digest"])
    assert mine.id == key_id(FIRST, digest, mine.circuit) != key_id("other", digest, mine.circuit)


def test_one_digest_in_two_systems_is_not_one_batch(inferrer: Maker, inferred: ProofDocument) -> None:
    """What the credulous system believes is its own affair, whichever comes first."""
    theirs = of_system(inferrer.key_file, Credulous())
    believed = Case(renamed(inferred, theirs), opened(theirs))
    wrong = Case(rehashed(inferred, challenge="another"), opened(inferrer.key_file))
    right = Case(inferred, opened(inferrer.key_file))
    for cases in ([believed, wrong, right], [right, wrong, believed], [wrong, believed, right]):
        verdicts = dict(zip(map(id, cases), judge_each(cases), strict=True))
        assert verdicts[id(believed)].valid
        assert verdicts[id(right)].valid
        assert verdicts[id(wrong)].reason == "pairing_mismatch"


def test_a_registration_of_another_system_and_openings_of_another_scheme(
    inferrer: Maker, inferred: ProofDocument, registrar: Maker, registered: ProofDocument
) -> None:
    for system in (Credulous(), CredulousTwin()):
        theirs = of_system(registrar.key_file, system)
        assert judge(renamed(registered, theirs), theirs).valid
        known = Known(registration=Registration(renamed(registered, theirs), opened(theirs)))
        verdict = judge(inferred, inferrer.key_file, known=known)
        assert (verdict.reason, "another proof system" in verdict.detail) == ("registration_mismatch", True)
    given = RECORDED["inference"]
    foreign = checked(OpeningFile, given["openings"] | named(Credulous()))
    verdict = judge(*read("inference"), known=Known(input=given["input"], openings=foreign))
    assert (verdict.reason, "another commitment scheme" in verdict.detail) == ("input_mismatch", True)


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        ({"system": "groth17"}, "'groth17' is known here"),
        ({"system": 16}, "valid string"),
        ({"commitment_scheme": "other-commitments"}, "has the commitment_scheme pedersen"),
        ({"system": "credulous"}, "has the commitment_scheme other"),
        ({"version": 4}, "versions 1 and 3"),
        ({"version": 3.0}, "valid integer"),
        ({"version": True}, "valid integer"),
    ],
)
def test_names_that_nobody_knows(inferred: ProofDocument, names: Json, complaint: str) -> None:
    fields = inferred.model_dump()
    with pytest.raises(FileFormatError, match=complaint) as refusal:
        checked(ProofDocument, fields | {"statement": fields["statement"] | names})
    assert (refusal.value.code, str(refusal.value.field).split(".")[0]) == ("file.json", "statement")


def test_a_key_file_of_a_system_that_nobody_knows(inferrer: Maker) -> None:
    with pytest.raises(FileFormatError, match=f"known here, but {FIRST}") as refusal:
        checked(KeyFile, inferrer.key_file.model_dump() | {"system": "groth17"})
    assert (refusal.value.code, refusal.value.field) == ("file.json", "system")


def test_commitments_and_openings_of_another_length(inferred: ProofDocument) -> None:
    fields = inferred.model_dump()
    short = {"model": "8f" * 32, "input": fields["statement"]["commitments"]["input"]}
    with pytest.raises(FileFormatError, match=r"commitments\.model: a commitment .* has 48 bytes"):
        checked(ProofDocument, fields | {"statement": fields["statement"] | {"commitments": short}})
    openings = RECORDED["inference"]["openings"]
    (part,) = openings["parts"]
    for change in ({"blinding": "00"}, {"more": 1}, {"curve": "bn254"}, {"quotient": None}):
        parts = [part | {"opening": part["opening"] | change}]
        with pytest.raises(FileFormatError, match=r"parts\.0\.opening: not an opening"):
            checked(OpeningFile, openings | {"parts": parts})


@pytest.mark.parametrize("blinding", ["", "00", "00" * 33, "ff" * 32])
def test_a_total_that_is_opened_by_no_blinding_factor(
    assessor: AccuracyMaker, assessed: ProofDocument, blinding: str
) -> None:
    dataset = assessed.model_dump()["statement"]["dataset"]
    forged = rehashed(assessed, dataset=dataset | {"blinding": blinding})
    assert judge(forged, assessor.maker.key_file).reason == "opening_blinding"


def test_a_statement_of_before_that_is_proven_now() -> None:
    """Of an accuracy that was planned before an upgrade and is put together after it."""
    document, key = read("accuracy")
    made = ProofDocument.of(document.statement, [bytes.fromhex(proof) for proof in document.proofs])
    assert made == document
    assert judge(made, key).valid


def test_no_system_takes_another_s_place() -> None:
    for taken in (CredulousTwin(), Groth16Verifier()):
        with pytest.raises(ValueError, match="already"):
            register(taken)
    register(SYSTEMS[FIRST])
