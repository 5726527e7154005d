"""Every vector gets its verdict, and whatever the judge refuses is refused by one of them."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from tests.documentation import schemas
from tests.vectors import generate
from tests.vectors.cases import FOLDER, PINS, Json, Outcome, judged, read_index
from zenserve.verifier import judging, receipts
from zenserve.verifier.command import main
from zenserve.verifier.groth16.verdict import REASONS
from zenserve.verifier.spartan import system as transparent
from zenserve.verifier.verdict import refuse

CASES: Final = read_index()
NO_FILE: Final = {
    "proof_type": "A document has proofs of bytes.",
    "public_input_count": "A key is read only if its circuit has as many.",
    "public_input_type": "A document has integers.",
    "public_input_not_canonical": "Values are reduced modulo r, in the circuit's range.",
    "commitment_type": "A document has commitments of bytes.",
    "link_mismatch": "It gets the name of what is linked to: model_mismatch and others.",
    "opening_type": "A document has openings of one form.",
    "opening_values": "They are the integers of an input or a shard.",
    "opening_mismatch": "It is a detail of input_mismatch or dataset_mismatch, or called total_mismatch.",
    "sum_total": "Totals are in range before they are added up.",
    "sum_mismatch": "It is called total_mismatch.",
    "opening": "Proofs without a setup that open something else are in tests/prover/vectors.",
    "proximity": "As are those of rows that are no code words.",
    "constraints": "And of what is false.",
}
"""Reasons that no file alone brings about."""
POINTS: Final = ("basis", "tau", "quotient")
"""Of openings: what is wrong with them is a detail."""
UNREACHED: Final = {
    "The input given is not of the network's shape.": "what reads inputs refuses it first",
    "The network has no ": "what reads inputs refuses it first",
}
"""Refusals in ``zenserve.verifier.judging``, by a part of their text, that no file alone brings about, and
why.
"""
JUDGES: Final = judging, receipts
TWICE_REFUSED: Final = {
    "The registration's commitment is over another basis.",
    "The registration is of another proof system.",
    "The opening given is of another commitment scheme.",
}
"""What comes next refuses it under the same name: links hold over one basis, but for roots of polynomials,
and systems have commitments of other lengths."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_verdict(case: Json) -> None:
    assert judged(case) == Outcome.of(case)


@cache
def _schema() -> Any:
    from jsonschema import Draft202012Validator  # slow to load

    return Draft202012Validator(json.loads(schemas.PAGE.read_text()))


def _large_unless_first() -> Iterator[object]:
    """The cases; all but the first of each outcome are large: the judge is the same, but pairs slowly."""
    seen: list[Outcome] = []
    for case in CASES:
        outcome = Outcome.of(case)
        yield pytest.param(case, id=case["name"], marks=pytest.mark.large if outcome in seen else ())
        seen.append(outcome)


@pytest.mark.parametrize("case", list(_large_unless_first()))
def test_the_command(case: Json, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The same, by the pairing library alone; its exit code where nothing is judged or compared."""
    monkeypatch.chdir(FOLDER)
    key = ["--key", case["key"]] if case["key"] else []
    told = [f"--{name.replace('_', '-')}={value}" for name, value in case["told"].items()]
    assert main([case["document"], *key, *told, "--json"]) == case["exit"]
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    _schema().validate(answer)
    assert captured.out.isascii()  # a terminal may know nothing else
    if case["exit"] < 2:
        assert Outcome.of(answer) == Outcome.of(case)
    else:
        assert f"[{answer['error']['code']}]" in captured.err


def test_every_reason_has_a_vector() -> None:
    wanted = {"ok", *judging.REASONS, *REASONS, *receipts.REASONS, *transparent.REASONS}
    details = {reason for reason in wanted if reason.startswith(POINTS)}
    seen = {case["reason"] for case in CASES}
    assert seen - wanted == {reason for reason in seen if reason.startswith(("file.", "input."))}
    assert wanted - seen == details | set(NO_FILE)


def test_files_are_those_of_the_index() -> None:
    named = {case["document"] for case in CASES} | {case["key"] for case in CASES if case["key"]}
    named |= {value for case in CASES for name, value in case["told"].items() if name not in PINS}
    assert named | {"index.json"} == {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.*")}
    assert len({case["name"] for case in CASES}) == len(CASES)


@pytest.mark.large
def test_they_are_made_again(tmp_path: Path) -> None:
    """All of them, from the seed, to the last byte."""
    generate.write(tmp_path / "made")
    for path in FOLDER.rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "made" / path.relative_to(FOLDER)).read_bytes(), path


class Refusals:
    """The places where the judges refuse, by file and line; ``disabled``: the one that does nothing."""

    def __init__(self) -> None:
        self.texts = {
            (str(module.__file__), call.lineno): ast.unparse(call)
            for module in JUDGES
            for call in ast.walk(ast.parse(inspect.getsource(module)))
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "refuse"
        }
        self.disabled: tuple[str, int] | None = None
        self.reached: set[tuple[str, int]] = set()

    def __call__(self, *arguments: Any, **named: Any) -> None:
        frame = sys._getframe(1)
        place = frame.f_code.co_filename, frame.f_lineno
        if place != self.disabled:
            self.reached.add(place)
            refuse(*arguments, **named)


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> Refusals:
    refusals = Refusals()
    for module in JUDGES:
        monkeypatch.setattr(module, "refuse", refusals)
    return refusals


def test_each_refusal_that_is_disabled_is_noticed(refusals: Refusals) -> None:
    """By a vector whose verdict is another then."""
    caught = defaultdict(list)
    for case in CASES:
        refusals.reached.clear()
        judged(case)
        for place in refusals.reached:
            caught[place].append(case)
    missing = {text for place, text in refusals.texts.items() if place not in caught}
    assert len(missing) == len(UNREACHED)
    assert all(any(part in text for text in missing) for part in UNREACHED)
    unnoticed = set()
    for refusals.disabled, cases in caught.items():
        if not any(_is_noticed(case) for case in cases):
            (*_, said) = ast.parse(refusals.texts[refusals.disabled], mode="eval").body.args  # type: ignore[attr-defined]
            unnoticed.add(ast.literal_eval(said))
    assert unnoticed == TWICE_REFUSED


def _is_noticed(case: Json) -> bool:
    """By more than its detail."""
    try:
        return replace(judged(case), detail=None) != replace(Outcome.of(case), detail=None)
    except Exception:
        return True
