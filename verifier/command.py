"""``zenserve-verify``: the verifier's command, which asks no service. ``zenserve verify`` is the same."""

from __future__ import annotations

import sys
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from pydantic import ValidationError

from verifier import receipts, words
from verifier.documents import (
    Expected,
    ExpectedReceipt,
    KeyFile,
    OpeningFile,
    ProofDocument,
    Receipt,
    checked,
    first_fault,
    parse,
    read,
)
from verifier.judging import Case, Known, Registration, Verification, judge_each
from verifier.keys import OpenedKey, opened
from verifier.receipts import ReceiptVerification
from zenerrors import RequestError, ZenError, in_words, naming

Pinned = TypeVar("Pinned", Expected, ExpectedReceipt)

REFUSED, TROUBLE = 1, 2
"""Exit codes: something that was to be judged is no good; anything else went wrong."""

_FILES: Final = {
    "key": "the verification key's file, from whom you trust",
    "input": "the input to compare, as it was before quantisation: .npy or JSON",
    "dataset": "the dataset to compare: .npz with samples and labels, or samples as .npy or JSON",
    "labels": "the dataset's labels, where its file has none: .npy or JSON",
    "opening": "what opens the commitment to the input, or those to a private dataset",
    "registration": "the proof of the committed model's registration",
    "registration_key": "the registration's own verification key, from whom you trust",
}
_TEXTS: Final = {
    "key_id": ("HEX", "the id of the key that you expect"),
    "network": ("HEX", "the SHA-256 of the network that you expect, or of its architecture"),
    "model": ("HEX", "the model's commitment that you expect"),
    "input_commitment": ("HEX", "the input's commitment that you expect"),
    "reference": ("HEX", "the reference's commitment that you expect"),
    "challenge": ("TEXT", "the challenge that you gave"),
    "after": ("TIME", "it says that it was made then or later: 2026-11-22T10:00:00Z"),
    "before": ("TIME", "it says that it was made then or earlier"),
    "require": ("ceremony", "the key's file must show that its secrets are of a ceremony"),
    "issuer": ("HEX", "the key of the issuer of receipts that you trust"),
}
_PINS: Final = {"key_id": "key", "input_commitment": "input"}
"""Of options the pins that are called otherwise: an option of that name takes a file."""


def main(arguments: Sequence[str] | None = None, *, prog: str = "zenserve-verify") -> int:
    """Run the command: 0 valid, 1 refused, 2 anything else."""
    options = _parser(prog).parse_args(arguments)
    try:
        verdict = verify(options)
    except (ZenError, OSError) as error:
        print(_printable(f"error: {in_words(error)}"), file=sys.stderr)
        return TROUBLE
    print(verdict.model_dump_json(indent=2) if options.json else "\n".join(lines(verdict)))
    return 0 if verdict.valid else REFUSED


def _parser(prog: str) -> ArgumentParser:
    parser = ArgumentParser(
        prog=prog,
        description="Verify a proof or a receipt, here and now: no service is asked.",
        epilog="Exit code 0: valid; 1: not valid; 2: anything else.",
        allow_abbrev=False,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the proof, or the receipt")
    for name, text in _FILES.items():
        parser.add_argument(_option(name), type=Path, metavar="FILE", help=text)
    for name, (metavar, text) in _TEXTS.items():
        parser.add_argument(_option(name), metavar=metavar, help=text)
    parser.add_argument("--json", action="store_true", help="answer in JSON")
    parser.add_argument("--version", action=_Version, nargs=0, help="say which version it is")
    return parser


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


class _Version(Action):
    def __call__(self, parser: ArgumentParser, *_: Any) -> None:
        from importlib.metadata import PackageNotFoundError, version  # slow, and of use here only

        try:
            installed = version("zenserve-client")
        except PackageNotFoundError:
            installed = version("zenserve")
        print(f"{parser.prog} {installed}")
        parser.exit()


def verify(options: Namespace) -> Verification | ReceiptVerification:
    """The verdict on a proof or a receipt. Raises ``ZenError``, ``OSError`` for files that are neither."""
    given = {name for name in (*_FILES, *_TEXTS) if getattr(options, name) is not None}
    document = _read(options.file)
    if isinstance(document, Receipt):
        _refuse_idle(given & _FILES.keys(), "a receipt")
        return receipts.judge(document, _expected(ExpectedReceipt, options, "a receipt"))
    if options.key is None:
        raise RequestError("request.invalid", "a proof needs --key, the file of its key", field="key")
    expected = _expected(Expected, options, "a proof")
    if not given & {"input", "dataset"}:
        _refuse_idle(given & {"opening"}, "a proof without --input or --dataset")
    if options.dataset is None:
        _refuse_idle(given & {"labels"}, "a proof without --dataset")
    if len(pair := given & {"registration", "registration_key"}) == 1:
        _refuse_alone(pair.pop(), "registration", "registration_key")
    with naming(options.key):
        key = opened(read(KeyFile, options.key.read_bytes()))
    case = Case(document, key, expected, _known(options, document, key))
    return judge_each([case])[0]


def _read(file: Path) -> ProofDocument | Receipt:
    with naming(file):
        document = parse(file.read_bytes())
        if isinstance(document, dict) and document.get("format") == "zenserve receipt":
            return checked(Receipt, document)
        return checked(ProofDocument, document)


def _expected(kind: type[Pinned], options: Namespace, what: str) -> Pinned:
    given = {name: getattr(options, name) for name in _TEXTS if getattr(options, name) is not None}
    _refuse_idle({name for name in given if _PINS.get(name, name) not in kind.model_fields}, what)
    try:
        return kind.model_validate({_PINS.get(name, name): value for name, value in given.items()})
    except ValidationError as error:
        pin, reason = first_fault(error)
        (name,) = (name for name in given if _PINS.get(name, name) == pin)
        raise RequestError("request.invalid", f"{_option(name)}: {reason}", field=name) from None


def _refuse_idle(names: set[str], what: str) -> None:
    """Nobody is to think that something was compared which was not."""
    for name in sorted(names):
        raise RequestError("request.invalid", f"{what} is not compared with {_option(name)}", field=name)


def _refuse_alone(given: str, *needed: str) -> NoReturn:
    (missing,) = {*needed} - {given}
    raise RequestError("request.invalid", f"{_option(given)} takes {_option(missing)}, too", field=missing)


def _known(options: Namespace, document: ProofDocument, key: OpenedKey) -> Known:
    known = Known()
    if options.registration:
        with naming(options.registration):
            registration = read(ProofDocument, options.registration.read_bytes())
        with naming(options.registration_key):
            own_key = opened(read(KeyFile, options.registration_key.read_bytes()))
        known = replace(known, registration=Registration(registration, own_key))
    if options.input is None and options.dataset is None:
        return known
    # numpy is slow to load, and of use here only.
    from verifier import datasets

    if options.input:
        with naming(options.input):
            values = datasets.quantise(datasets.load_array(options.input), key.circuit.quantisation.input)
            known = replace(known, input=values)
    if options.dataset:
        with naming(options.dataset):
            known = replace(known, dataset=datasets.load(options.dataset, options.labels))
    if options.opening:
        with naming(options.opening):
            known = replace(known, openings=read(OpeningFile, options.opening.read_bytes()))
    _require_comparable(options, document, key, known.openings)
    return known


def _require_comparable(
    options: Namespace, document: ProofDocument, key: OpenedKey, openings: OpeningFile | None
) -> None:
    """Raises ``RequestError`` where what was given says nothing of the proof: it may well be valid."""
    dataset, privacy = document.statement.dataset, words.privacy(key.circuit, "input")
    if options.dataset and dataset is None:
        _refuse_idle({"dataset"}, "a proof about no dataset")
    if options.input and privacy == "private":
        _refuse_idle({"input"}, "a proof about no input, or a private one,")
    name = "input" if options.input else "dataset"
    opens = privacy == "committed" if options.input else dataset is not None and dataset.sha256 is None
    if opens and openings is None:
        _refuse_alone(name, name, "opening")
    if openings is not None and not (opens and openings.kind == name):
        _refuse_idle({"opening"}, f"a proof with --{name}, which that file does not open,")


def lines(verdict: Verification | ReceiptVerification) -> list[str]:
    """The verdict as a person reads it."""
    word = "valid" if verdict.valid else "NOT valid"
    shown = [f"{word}: {verdict.detail} [{verdict.reason}]"]
    for title, sentences in (("Verified", verdict.verified), ("Not verified", verdict.not_verified)):
        shown += [f"{title}:", *(f"  - {sentence}" for sentence in sentences)] if sentences else []
    return [_printable(line) for line in shown]


def _printable(text: str) -> str:
    """Text from elsewhere, fit to print: its control codes do nothing."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
