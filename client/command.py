"""``zenserve-verify``: the verifier's command, which asks no service. ``zenserve verify`` is the same."""

from __future__ import annotations

import sys
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from client import receipts
from client.documents import Expected, KeyFile, OpeningFile, ProofDocument, Receipt, checked, parse, read
from client.keys import opened
from client.receipts import ReceiptVerification
from client.verification import Known, Verification, judge
from zenerrors import RequestError, ZenError, in_words, naming

REFUSED, TROUBLE = 1, 2
"""Exit codes: something that was to be judged is no good; anything else went wrong."""

_FILES: Final = {
    "key": "the verification key's file, from whom you trust",
    "input": "the input to compare, as it was before quantisation: .npy or JSON",
    "dataset": "the dataset to compare: .npz with samples and labels, or samples as .npy or JSON",
    "labels": "the dataset's labels, where its file has none: .npy or JSON",
    "opening": "what opens the commitment to the input, or those to a private dataset",
}
_TEXTS: Final = {
    "model": "the model's commitment that you expect, in hex",
    "reference": "the reference's commitment that you expect, in hex",
    "challenge": "the challenge that you gave",
    "issuer": "the key, in hex, of the issuer of receipts that you trust",
}


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
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=text)
    for name, text in _TEXTS.items():
        parser.add_argument(f"--{name}", metavar="TEXT" if name == "challenge" else "HEX", help=text)
    parser.add_argument("--json", action="store_true", help="answer in JSON")
    parser.add_argument("--version", action=_Version, nargs=0, help="say which version it is")
    return parser


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
        _refuse_idle(given - {"issuer"}, "a receipt")
        return receipts.judge(document, issuer=options.issuer)
    if options.key is None:
        raise RequestError("request.invalid", "a proof needs --key, the file of its key", field="key")
    _refuse_idle(given & {"issuer"}, "a proof")
    if not given & {"input", "dataset"}:
        _refuse_idle(given & {"opening"}, "a proof without --input or --dataset")
    if options.dataset is None:
        _refuse_idle(given & {"labels"}, "a proof without --dataset")
    with naming(options.key):
        key_file = read(KeyFile, options.key.read_bytes())
    expected = {name: getattr(options, name) for name in ("model", "reference", "challenge")}
    return judge(document, key_file, expected=checked(Expected, expected), known=_known(options, key_file))


def _read(file: Path) -> ProofDocument | Receipt:
    with naming(file):
        document = parse(file.read_bytes())
        if isinstance(document, dict) and document.get("format") == "zenserve receipt":
            return checked(Receipt, document)
        return checked(ProofDocument, document)


def _refuse_idle(names: set[str], what: str) -> None:
    """Nobody is to think that something was compared which was not."""
    for name in sorted(names):
        raise RequestError("request.invalid", f"{what} is not compared with --{name}", field=name)


def _known(options: Namespace, key_file: KeyFile) -> Known:
    if options.input is None and options.dataset is None:
        return Known()
    # numpy is slow to load, and of use here only.
    from client import datasets

    kind, known = opened(key_file).circuit.quantisation.input, Known()
    if options.input:
        with naming(options.input):
            known = replace(known, input=datasets.quantise(datasets.load_array(options.input), kind))
    if options.dataset:
        with naming(options.dataset):
            known = replace(known, dataset=datasets.load(options.dataset, options.labels))
    if options.opening:
        with naming(options.opening):
            known = replace(known, openings=read(OpeningFile, options.opening.read_bytes()))
    return known


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
