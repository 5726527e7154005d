"""Python and TypeScript say the same of documents that were changed at random."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.vectors.cases import FOLDER, PINS, Json, read_index, verdict
from tests.vectors.receipts import ISSUER, signed
from tests.web.conftest import Node
from tests.web.mutations import change
from zenserve.errors import ZenError
from zenserve.verifier.document import parse_json
from zenserve.verifier.documents import key_id
from zenserve.verifier.fields import canonical
from zenserve.verifier.registry import FIRST


@pytest.mark.parametrize("count", [200, pytest.param(20_000, marks=pytest.mark.large)])
def test_they_say_the_same(count: int, node: Node, tmp_path: Path) -> None:
    # Those of file/ are hardly JSON as they are.
    cases = [case for case in read_index() if not case["name"].startswith("file/")]
    draw = random.Random(count)
    changed = [_changed(draw.choice(cases), tmp_path / str(index), draw) for index in range(count)]
    run = node("tests/judge.ts", given="".join(f"{json.dumps(case)}\n" for case in changed))
    assert run.returncode == 0, run.stderr
    answers = run.stdout.removesuffix("\n").split("\n")  # details may have other ends of lines in them
    assert len(answers) == count
    different = {}
    for case, answer in zip(changed, answers, strict=True):
        found, expected = json.loads(answer), _judged(case)
        if found != expected:
            different[case["name"]] = (case, expected, found)
    assert not different


def test_they_give_the_same_remedies(node: Node) -> None:
    """Of every vector that is about a key or a challenge; the key or challenge itself is in it."""
    reasons = ("key_mismatch", "challenge_mismatch")
    cases = [case for case in read_index() if case["reason"] in reasons and case["key"]]
    run = node("tests/judge.ts", given="".join(f"{json.dumps(case)}\n" for case in cases))
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert answers == [_judged(case) for case in cases]
    assert {answer["reason"] for answer in answers if answer["remedy"]} == {*reasons}
    assert all(answer["remedy"] for answer in answers)


def _judged(case: Json) -> Json:
    try:
        said: Json = verdict(case, FOLDER).model_dump(mode="json")
    except ZenError as error:
        return {"code": error.code}
    return said


def _changed(case: Json, folder: Path, draw: random.Random) -> Json:
    """The case with one of its files, or what it is told, changed; mostly with the hash made to fit."""
    told = dict(case["told"])
    files = {"document": case["document"], "key": case["key"], **told}
    name = draw.choice(
        [name for name in files if files[name] and (name not in PINS or draw.random() < 0.2)] or ["document"]
    )
    if name in PINS:
        told[name] = draw.choice(("", "00", told[name].upper(), told[name] + "0", "é" * 200, told[name][:-2]))
        return {"name": name, "document": case["document"], "key": case["key"], "told": told}
    data = change((FOLDER / files[name]).read_bytes(), draw)
    if draw.random() < 0.7:
        data = _fitting(data, name) or data
    folder.write_bytes(data)
    new = {**files, name: str(folder)}
    return {
        "name": f"{case['name']} {name} {folder.name}",
        "document": new["document"],
        "key": new["key"],
        "told": {name: new[name] for name in told},
    }


def _fitting(data: bytes, name: str) -> bytes | None:
    """With the hash, id or signature that fits, to be refused for something else; None where none does."""
    try:
        fields: Any = parse_json(data)
        if "issuer" in fields:
            fields = signed(
                {name: fields[name] for name in fields if name not in ("issuer", "signature")}, ISSUER
            )
        elif "statement" in fields:
            fields["statement_sha256"] = hashlib.sha256(canonical(fields["statement"])).hexdigest()
        elif "circuit" in fields:
            fields["id"] = key_id(FIRST, bytes.fromhex(fields["key"]["digest"]), fields["circuit"])
        return json.dumps(fields).encode()
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
