"""The cases of documents/index.json, and the judgement on one (docs/vectors.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from zenserve.errors import ZenError
from zenserve.prover.registry import SYSTEMS
from zenserve.verifier import datasets, receipts
from zenserve.verifier.documents import KeyFile, OpeningFile, ProofDocument, Receipt, checked, parse, read
from zenserve.verifier.expected import Expected, ExpectedReceipt
from zenserve.verifier.judging import Case, Known, Registration, Verification, judge_each
from zenserve.verifier.keys import OpenedKey, opened
from zenserve.verifier.receipts import ReceiptVerification

Json = dict[str, Any]
FOLDER: Final = Path(__file__).parent / "documents"
HEADER: Final = {"format": "zenserve document vectors", "version": 1}
PINS: Final = {
    "key_id": "key",
    "input_commitment": "input",
    "output_commitment": "output",
    **{
        name: name
        for name in ("network", "model", "reference", "challenge", "after", "before", "require", "issuer")
    },
    **{name: name for name in ("at_least", "at_most")},
}
"""What a verifier is told in words, by option, and how the judge calls it; all else is the name of a file."""


_NUMBER: Final = r"-?[0-9]+(\.[0-9]+)?"
ENDS: Final = f"{_NUMBER}|[^=,]+={_NUMBER}(,[^=,]+={_NUMBER})*"


@dataclass(frozen=True)
class Outcome:
    """``reason``: of a verdict, or the code of the error where a file is refused before there is one; then
    ``detail`` is None.
    """

    valid: bool
    reason: str
    detail: str | None
    verified: list[str]
    not_verified: list[str]

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Outcome:
        """What a case expects, or what a verdict says."""
        return cls(*(said[name] for name in cls.__dataclass_fields__))


def read_index() -> list[Json]:
    """The cases. Raises ``ValueError`` for an index of another version."""
    index = json.loads((FOLDER / "index.json").read_text())
    if {name: index[name] for name in HEADER} != HEADER:
        raise ValueError("this is an index of other vectors")
    cases: list[Json] = index["cases"]
    return cases


def judged(case: Json, folder: Path = FOLDER) -> Outcome:
    """What ``zenserve.verifier.judging`` says of it, with the equations done by the native kernels."""
    try:
        return Outcome.of(verdict(case, folder).model_dump())
    except ZenError as error:
        return Outcome(False, error.code, None, [], [])


def verdict(case: Json, folder: Path) -> Verification | ReceiptVerification:
    fields, told = parse((folder / case["document"]).read_bytes()), case["told"]
    pins = {PINS[name]: pin(name, text) for name, text in told.items() if name in PINS}
    if case["key"] is None:
        return receipts.judge(checked(Receipt, fields), checked(ExpectedReceipt, pins))
    document, files = checked(ProofDocument, fields), {name: folder / told[name] for name in told}
    files["key"] = folder / case["key"]
    expected = checked(Expected, pins)
    key = _key(files, "key", "circuit")
    known = _known(files, key)
    return judge_each([Case(document, key, expected, known)])[0]


def _key(files: Mapping[str, Path], name: str, circuit: str) -> OpenedKey:
    key = opened(read(KeyFile, files[name].read_bytes()), SYSTEMS)
    if circuit in files:
        key.system.take_circuit(files[circuit].read_bytes())
    return key


def pin(name: str, text: str) -> Any:
    """What documents call it by: numbers where they are some."""
    if name not in ("at_least", "at_most") or not re.fullmatch(ENDS, text):
        return text
    ends = {own: float(number) for own, _, number in (part.rpartition("=") for part in text.split(","))}
    return ends.get("", ends)


def _known(files: Mapping[str, Path], key: OpenedKey) -> Known:
    def of_kind(kind: Any, name: str) -> Any:
        return read(kind, files[name].read_bytes()) if name in files else None

    registration = of_kind(ProofDocument, "registration")
    return Known(
        input=datasets.load_inputs(files["input"], key.circuit.quantisation) if "input" in files else None,
        dataset=datasets.load(
            files["dataset"],
            files["labels"],
            targets=key.circuit.targets is not None,
            names=[kind.name for kind in key.circuit.quantisation.types.values()],
        )
        if "dataset" in files
        else None,
        openings=of_kind(OpeningFile, "opening"),
        registration=registration
        and Registration(registration, _key(files, "registration_key", "registration_circuit")),
    )
