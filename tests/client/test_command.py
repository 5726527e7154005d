"""The verifier's command: its answers in words and in JSON, its exit codes, its refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.client import files
from tests.client.makers import AccuracyMaker, Maker, rehashed
from zenserve.circuits import input_values
from zenserve.kernels import fr
from zenserve.prover.groth16 import Opening
from zenserve.relations.integers import IntArray
from zenserve.verifier import command
from zenserve.verifier.command import main
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.documents import OpeningFile, OpeningPart, ProofDocument, Receipt, checked, named
from zenserve.verifier.fields import canonical
from zenserve.verifier.registry import FIRST, SYSTEMS

Captured = pytest.CaptureFixture[str]
NO_TIME = ("--after", "2026-12-01T00:00:00Z", "--before", "2026-11-30T00:00:00Z")


@pytest.fixture
def here(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    inferrer: Maker,
    inferred: ProofDocument,
    assessor: AccuracyMaker,
    assessed: ProofDocument,
    receipt: Receipt,
    data: LabelledData,
) -> Path:
    files.write(tmp_path, proof=inferred, key=inferrer.key_file, receipt=receipt)
    files.write(tmp_path, accuracy=assessed, accuracy_key=assessor.maker.key_file)
    files.write_data(tmp_path, data)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(capsys: Captured, *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_valid_proof_in_words_and_in_json(here: Path, capsys: Captured, inferred: ProofDocument) -> None:
    assert main(["proof.json", "--key", "key.json"]) == 0
    words = capsys.readouterr().out
    code, verdict = answer(capsys, "proof.json", "--key", "key.json")
    assert (code, verdict["valid"], verdict["reason"]) == (0, True, "ok")
    assert verdict["statement"] == inferred.statement.model_dump()
    assert words.splitlines()[0] == f"valid: {verdict['detail']} [ok]"
    for sentence in (*verdict["verified"], *verdict["not_verified"]):
        assert f"  - {sentence}\n" in words


def test_a_refused_proof(here: Path, capsys: Captured, inferred: ProofDocument) -> None:
    files.write(here, proof=rehashed(inferred, claim="All is well.\x1b[2J"))
    assert main(["proof.json", "--key", "key.json"]) == 1
    words = capsys.readouterr().out
    assert words.startswith("NOT valid: ")
    assert words.endswith("[words_mismatch]\n")
    assert "All is well" not in words


def test_a_key_in_place_of_the_proof_and_a_proof_in_place_of_the_key(here: Path, capsys: Captured) -> None:
    assert main(["key.json", "--key", "proof.json"]) == 2
    assert "this is the file of a key" in capsys.readouterr().err
    assert main(["proof.json", "--key", "proof.json"]) == 2
    assert "this is the file of a proof: name that of its key here" in capsys.readouterr().err


def test_a_reader_who_has_had_enough(here: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    program = (
        "import sys; from zenserve.verifier.command import main;"
        "sys.exit(main(['proof.json', '--key', 'key.json']))"
    )
    ended = subprocess.run([sys.executable, "-c", program], stdout=writing, stderr=subprocess.PIPE, cwd=here)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_expectations(here: Path, capsys: Captured, inferred: ProofDocument) -> None:
    model = inferred.statement.commitments["model"]
    given = ("proof.json", "--key", "key.json", "--model", model, "--challenge")
    assert answer(capsys, *given, "What is on image 7?")[0] == 0
    assert answer(capsys, *given, "What is on image 8?")[1]["reason"] == "challenge_mismatch"
    other = inferred.statement.commitments["input"]
    assert answer(capsys, *given[:3], "--model", other)[1]["reason"] == "model_mismatch"
    assert answer(capsys, *given[:3], "--reference", other)[1]["reason"] == "reference_mismatch"


def test_an_opened_input(
    here: Path, capsys: Captured, inferrer: Maker, inputs: IntArray, held_input: Opening
) -> None:
    q = inputs[0]
    values = input_values(inferrer.circuit.qgraph, q)
    revealed = inferrer.basis.reveal(held_input, fr.from_int64(values)).to_json()
    part = checked(OpeningPart, {"commitment": held_input.commitment.hex(), "opening": revealed})
    files.write(here, opening=OpeningFile(**named(SYSTEMS[FIRST]), kind="input", parts=[part]))
    real = inferrer.circuit.qgraph.input.type.real(q)
    np.save("input.npy", real)
    Path("other.json").write_text(json.dumps(real[:, ::-1].tolist()))
    proof = ("proof.json", "--key", "key.json", "--opening", "opening.json", "--input")
    code, verdict = answer(capsys, *proof, "input.npy")
    assert (code, any("the one that you gave, rounded" in said for said in verdict["verified"])) == (0, True)
    assert answer(capsys, *proof, "other.json")[1]["reason"] == "input_mismatch"
    # Half of what a comparison takes is no verdict on the proof.
    for incomplete, needed in (
        (("proof.json", "--key", "key.json", "--input", "input.npy"), "--input takes --opening, too"),
        (
            (
                *("accuracy.json", "--key", "accuracy_key.json", "--dataset", "data.npz"),
                *("--opening", "opening.json"),
            ),
            "--opening",
        ),
        (
            ("accuracy.json", "--key", "accuracy_key.json", "--input", "input.npy"),
            "is not compared with --input",
        ),
        ((*proof[:3], "--dataset", "data.npz"), "is not compared with --dataset"),
    ):
        assert main([*incomplete]) == 2
        captured = capsys.readouterr()
        assert (captured.out, needed in captured.err) == ("", True)


def test_a_private_dataset_takes_its_opening(
    here: Path, capsys: Captured, assessor: AccuracyMaker, data: LabelledData
) -> None:
    parts = assessor.parts(data, hiding=True)
    document = assessor.prove(assessor.state(assessor.dataset(parts, None), 7), parts)
    files.write(here, private=document, openings=assessor.opening_file(parts))
    given = ("private.json", "--key", "accuracy_key.json", "--dataset", "data.npz")
    assert main([*given]) == 2
    assert "--dataset takes --opening, too" in capsys.readouterr().err
    assert answer(capsys, *given, "--opening", "openings.json")[0] == 0


def test_a_registration_beside_the_proof(
    here: Path, capsys: Captured, registrar: Maker, registered: ProofDocument, inferred: ProofDocument
) -> None:
    wrong = registered.model_copy(update={"proofs": inferred.proofs})
    files.write(here, registration=registered, registrar=registrar.key_file, wrong=wrong)
    given = ("proof.json", "--key", "key.json", "--registration-key", "registrar.json", "--registration")
    code, verdict = answer(capsys, *given, "registration.json")
    assert (code, "under the key " + registrar.key_file.id in verdict["verified"][-1]) == (0, True)
    code, verdict = answer(capsys, *given, "wrong.json")
    assert (code, verdict["reason"]) == (1, "registration_mismatch")
    for alone in (given[:5], ("proof.json", "--key", "key.json", "--registration", "registration.json")):
        assert main([*alone]) == 2
        assert "--registration" in capsys.readouterr().err


def test_a_dataset_in_one_file_or_two(here: Path, capsys: Captured, data: LabelledData) -> None:
    np.save("samples.npy", data.samples)
    Path("labels.json").write_text(json.dumps(data.labels.tolist()))
    Path("relabelled.json").write_text(json.dumps(data.labels[::-1].tolist()))
    proof = ("accuracy.json", "--key", "accuracy_key.json", "--dataset")
    assert answer(capsys, *proof, "data.npz")[0] == 0
    assert answer(capsys, *proof, "samples.npy", "--labels", "labels.json")[0] == 0
    relabelled = answer(capsys, *proof, "samples.npy", "--labels", "relabelled.json")
    assert (relabelled[0], relabelled[1]["reason"]) == (1, "dataset_mismatch")


def test_a_receipt(here: Path, capsys: Captured, receipt: Receipt) -> None:
    assert answer(capsys, "receipt.json", "--issuer", receipt.issuer)[0] == 0
    assert answer(capsys, "receipt.json", "--issuer", "0" * 64)[1]["reason"] == "issuer_mismatch"
    files.write(here, receipt=receipt.model_copy(update={"name": "Another"}))
    code, verdict = answer(capsys, "receipt.json")
    assert (code, verdict["reason"]) == (1, "signature_mismatch")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["proof.json"], "needs --key"),
        (["missing.json", "--key", "key.json"], "No such file"),
        (["key.json", "--key", "key.json"], "[file.json]"),
        (["proof.json", "--key", "proof.json"], "[file.json]"),
        (["proof.json", "--key", "key.json", "--model", "XY"], "model: "),
        (["proof.json", "--key", "key.json", "--issuer", "0" * 64], "--issuer"),
        (["proof.json", "--key", "key.json", "--opening", "key.json"], "--opening"),
        (["proof.json", "--key", "key.json", "--labels", "key.json"], "--labels"),
        (["proof.json", "--key", "key.json", "--input", "data.npz"], "[input.unreadable]"),
        (["accuracy.json", "--key", "accuracy_key.json", "--dataset", "key.json"], "[input.unreadable]"),
        (["receipt.json", "--challenge", "Mine"], "--challenge"),
        (["receipt.json", "--require", "ceremony"], "--require"),
        (["proof.json", "--key", "key.json", "--key-id", "A" * 64], "--key-id: "),
        (["proof.json", "--key", "key.json", "--input-commitment", "0"], "--input-commitment: "),
        (["proof.json", "--key", "key.json", "--require", "trust"], "--require: "),
        (["proof.json", "--key", "key.json", *NO_TIME], "--before: "),
        (["receipt.json", *NO_TIME], "--before: "),
    ],
)
def test_trouble_is_no_verdict(here: Path, capsys: Captured, arguments: list[str], complaint: str) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert complaint in captured.err


def test_what_a_file_says_cannot_move_the_cursor(
    here: Path, capsys: Captured, inferred: ProofDocument
) -> None:
    Path("proof.json").write_bytes(canonical(inferred.model_dump() | {"\x1b[2J": 1}))
    assert main(["proof.json", "--key", "key.json"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_an_accident_is_no_verdict(here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would end with 1, which says that the proof is not valid."""
    monkeypatch.setattr(command, "judge_each", lambda _: 1 // 0)
    assert main(["proof.json", "--key", "key.json", "--json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert answer["error"]["code"] == "internal"


def test_what_cannot_be_parsed_is_answered_in_json_too(capsys: Captured) -> None:
    for arguments in (
        ["--json"],
        ["proof.json", "--json", "--after"],
        ["--json", "--aftr", "x", "y"],
        ["--json", "no\udcff.json", "--key", "key.json"],  # as Python reads what is no UTF-8
    ):
        assert main(arguments) == 2
        captured = capsys.readouterr()
        assert json.loads(captured.out)["error"]["code"] == "request.invalid"
        assert captured.err.count("\n") == 1


VECTORS = Path(__file__).parents[1] / "vectors/documents/several"


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ("a={own}", 0),
        ("a={other}", 1),
        ("b={own}", 1),
        ("a", 2),
        ("a={own},a={own}", 2),
        ("a/b={own}", 2),
        ("a=7", 2),
    ],
)
def test_commitments_to_several_inputs_are_expected_by_name(
    told: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    document, key = VECTORS / "valid.json", VECTORS / "valid-key.json"
    own = json.loads(document.read_text())["statement"]["commitments"]["input/a"]
    told = told.format(own=own, other="97" * 48)
    assert main([str(document), "--key", str(key), "--input-commitments", told]) == code
    said = capsys.readouterr().out
    assert ("The commitment to the input a is" in said) == (code == 0)
    assert (", as you expected." in said) == (code == 0)


def test_pins_that_were_not_given_are_explained(
    here: Path, capsys: Captured, inferred: ProofDocument
) -> None:
    def unpinned(*given: str) -> tuple[str, list[str]]:
        assert main(["proof.json", "--key", "key.json", *given]) == 0
        _, _, shown = capsys.readouterr().out.partition("Pins not given. ")
        explained, *pins = shown.splitlines() or [""]
        return explained, [pin.split()[0] for pin in pins]

    statement = inferred.statement
    challenge = statement.challenge or ""
    explained, pins = unpinned()
    assert explained.startswith("A pin is a value that you have from somebody you trust")
    assert pins == ["--key-id", "--challenge", "--model", "--input-commitment"]
    given = ["--key-id", statement.verification_key.id, "--challenge", challenge]
    assert unpinned(*given)[1] == ["--model", "--input-commitment"]
    given += ["--model", statement.commitments["model"]]
    assert unpinned(*given, "--input-commitment", statement.commitments["input"]) == ("", [])


def test_the_challenge_is_shown_and_what_to_do_about_another(
    here: Path, capsys: Captured, inferred: ProofDocument
) -> None:
    proof = ("proof.json", "--key", "key.json")
    assert main([*proof]) == 0
    assert f"\nChallenge: {inferred.statement.challenge}\n" in capsys.readouterr().out
    assert main([*proof, "--challenge", "dinner"]) == 1
    remedy = f'The proof answers "{inferred.statement.challenge}". Ask for a proof that answers "dinner".'
    assert capsys.readouterr().out.splitlines()[1] == remedy
    assert answer(capsys, *proof, "--challenge", "dinner")[1]["remedy"] == remedy


def test_another_key_has_advice_for_strangers(here: Path, capsys: Captured, inferred: ProofDocument) -> None:
    named = inferred.statement.verification_key.id
    for given, wanted in (
        (("--key", "accuracy_key.json"), named),
        (("--key", "key.json", "--key-id", "00" * 32), "00" * 32),
    ):
        code, verdict = answer(capsys, "proof.json", *given)
        assert (code, verdict["reason"]) == (1, "key_mismatch")
        assert "an id is the SHA-256 of a key and of what it is for" in verdict["remedy"]
        assert f"/v1/verification-keys/{wanted}, or zenserve key get {wanted} --url" in verdict["remedy"]


def test_help_says_what_a_pin_is(capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "A pin is a value that you have from somebody you trust" in shown
    assert all(f"--{name.replace('_', '-')}" in shown for name in command._TEXTS)
