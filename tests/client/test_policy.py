"""Policies: what is always compared, by one file; what they may say, and what goes with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.client import files
from tests.client.makers import MADE_AT, Maker
from zenserve.verifier.command import main
from zenserve.verifier.documents import ProofDocument, Receipt

HEADER = {"format": "zenserve policy", "version": 1}
EARLY, LATE = "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"
Captured = pytest.CaptureFixture[str]


class Desk:
    """A folder with a proof, a receipt, and a policy's folder in it."""

    def __init__(self, capsys: Captured, proof: ProofDocument, key: str, receipt: Receipt) -> None:
        self._capsys = capsys
        self.said, self.key, self.receipt = proof.statement, key, receipt

    def policy(self, text: str | None = None, /, **fields: Any) -> None:
        Path("rules/policy.json").write_text(text or json.dumps(HEADER | fields))

    def asked(self, document: str, *options: str) -> tuple[int, dict[str, Any]]:
        code = main([document, "--policy", "rules/policy.json", *options, "--json"])
        return code, json.loads(self._capsys.readouterr().out)

    def reason(self, document: str, *options: str) -> str:
        reason: str = self.asked(document, *options)[1]["reason"]
        return reason

    def refusal(self, document: str, *options: str) -> tuple[str, str | None]:
        code, answer = self.asked(document, *options)
        assert code == 2
        return answer["error"]["message"], answer["error"]["field"]


@pytest.fixture
def desk(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
    inferrer: Maker,
    inferred: ProofDocument,
    registrar: Maker,
    registered: ProofDocument,
    receipt: Receipt,
) -> Desk:
    (tmp_path / "rules/keys").mkdir(parents=True)
    files.write(tmp_path, proof=inferred, receipt=receipt, key=inferrer.key_file, other=registrar.key_file)
    files.write(tmp_path / "rules", registered=registered)
    files.write(tmp_path / "rules/keys", inference=inferrer.key_file, registration=registrar.key_file)
    monkeypatch.chdir(tmp_path)
    return Desk(capsys, inferred, inferrer.key_file.id, receipt)


def test_one_policy_for_proofs_and_receipts(desk: Desk) -> None:
    """Of each what concerns it, the files from its own folder."""
    pins = {"model": desk.said.commitments["model"], "network": desk.said.network, "before": LATE}
    desk.policy(
        **pins,
        key=desk.key,
        challenge=desk.said.challenge,
        issuer=desk.receipt.issuer,
        key_file="keys/inference.json",
        registration="registered.json",
        registration_key="keys/registration.json",
    )
    code, verdict = desk.asked("proof.json")
    assert code == 0
    words = " ".join(verdict["verified"])
    assert words.count("as you expected") == 3
    assert f"made at {MADE_AT}, within the time that you expected" in words
    assert "the registration that you gave is valid" in words
    code, verdict = desk.asked("receipt.json")
    assert code == 0
    assert " ".join(verdict["verified"]).count("as you expected") == 3
    desk.policy(**pins | {"model": "8f" * 48})
    assert desk.reason("proof.json", "--key", "key.json") == "model_mismatch"
    assert desk.reason("receipt.json") == "model_mismatch"
    desk.policy(after=LATE)
    assert desk.reason("proof.json", "--key", "key.json") == "time_mismatch"
    assert desk.reason("receipt.json") == "time_mismatch"


def test_options_add_to_it_and_may_say_the_same(desk: Desk) -> None:
    desk.policy(key=desk.key, key_file="keys/inference.json", after=EARLY)
    challenge = str(desk.said.challenge)
    same = "--key", "key.json", "--key-id", desk.key, "--challenge", challenge, "--after", EARLY
    assert desk.asked("proof.json", *same)[0] == 0
    assert desk.reason("proof.json", "--challenge", "Another") == "challenge_mismatch"
    for option, value, field in (
        ("--key-id", "0" * 64, "key_id"),
        ("--after", MADE_AT, "after"),
        ("--key", "other.json", "key"),
    ):
        message, about = desk.refusal("proof.json", option, value)
        assert (message, about) == (f"the policy has another {option}", field)
    message, about = desk.refusal("proof.json", "--before", "2026-10-01T00:00:00Z")
    assert (message.partition(":")[0], about) == ("--before", "before")


@pytest.mark.parametrize(
    ("fields", "document", "complaint"),
    [
        ({"issuer": "0" * 64}, "proof.json", "the policy says nothing of a proof"),
        ({"require": "ceremony", "key": "0" * 64}, "receipt.json", "the policy says nothing of a receipt"),
        ({"key_file": "keys/inference.json"}, "receipt.json", "the policy says nothing of a receipt"),
        ({}, "proof.json", "compares nothing"),
        ({"model": None, "after": None}, "proof.json", "compares nothing"),
        ({"registration": "registered.json"}, "proof.json", "go together"),
        ({"commitment": "8f" * 48}, "proof.json", "commitment: "),
        ({"key_id": "0" * 64}, "proof.json", "key_id: "),
        ({"input": "input.npy"}, "proof.json", "input: "),
        ({"version": True, "key": "0" * 64}, "proof.json", "version: "),
        ({"version": 2, "key": "0" * 64}, "proof.json", "version: "),
        ({"format": "zenserve proof", "key": "0" * 64}, "proof.json", "format: "),
        ({"network": "A" * 64}, "proof.json", "network: "),
        ({"network": 7}, "proof.json", "network: "),
        ({"after": LATE, "before": EARLY}, "proof.json", "before: "),
        ({"key_file": "keys/missing.json"}, "proof.json", "No such file"),
        ({"key_file": "keys"}, "proof.json", "Is a directory"),
        *(
            ({"key_file": path}, "proof.json", "key_file: ")
            for path in (
                "/etc/passwd",
                "../key.json",
                "keys/../../key.json",
                "keys\\key.json",
                "C:key",
                "",
                ".",
            )
        ),
    ],
)
def test_what_is_no_policy_or_says_nothing(
    desk: Desk, fields: dict[str, Any], document: str, complaint: str
) -> None:
    desk.policy(**fields)
    options = ["--key", "key.json"] * (document == "proof.json" and "key_file" not in fields)
    assert complaint in desk.refusal(document, *options)[0]


def test_a_field_given_twice_and_an_option_given_twice(desk: Desk) -> None:
    desk.policy('{"format": "zenserve policy", "version": 1, "model": "8f", "model": "8f"}')
    assert "twice" in desk.refusal("proof.json")[0]
    assert "--policy is given twice" in desk.refusal("proof.json", "--policy", "another.json")[0]
    assert "--model is given twice" in desk.refusal("proof.json", "--model", "8f", "--model=9f")[0]
