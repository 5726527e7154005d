"""``zenserve-verify``: the verifier's command, which asks no service. ``zenserve verify`` is the same."""

from __future__ import annotations

import os
import sys
import traceback
from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from pydantic import Field, ValidationError

from zenserve.errors import FileFormatError, RequestError, ZenError, in_words, named, naming
from zenserve.verifier import policy, receipts, words
from zenserve.verifier.claims import ClaimsFile, ClaimsVerification, held_against, judge_claims
from zenserve.verifier.document import printable
from zenserve.verifier.documents import (
    DocumentKind,
    KeyFile,
    OpeningFile,
    ProofDocument,
    Receipt,
    checked,
    first_fault,
    parse,
    read,
)
from zenserve.verifier.expected import Expected, ExpectedReceipt, ExpectedStream
from zenserve.verifier.fields import Document
from zenserve.verifier.judging import Case, Known, LabelledData, Registration, Verification, judge_each
from zenserve.verifier.keys import OpenedKey, opened
from zenserve.verifier.receipts import ReceiptVerification
from zenserve.verifier.schemes import OUTPUT
from zenserve.verifier.stream import StreamFile, StreamVerification, judge_stream

Pinned = TypeVar("Pinned", Expected, ExpectedReceipt, ExpectedStream)
Verdict = Verification | ReceiptVerification | StreamVerification | ClaimsVerification
Given = Mapping[str, Any]
"""Options with their values: paths or texts."""

REFUSED, TROUBLE = 1, 2
"""Exit codes: something that was to be judged is no good; anything else went wrong."""

_KEYS: Final = {
    "key": "the file of the verification key, from somebody you trust",
    "circuit": "the circuit of a transparent key, whose file names the circuit by its hash",
}
_HELD: Final = {
    "input": "the input, before quantisation: .npy, JSON or CSV; several inputs by their names: .npz",
    "dataset": "the dataset: .npz with samples, or each input by its name, and labels or targets; or the"
    " samples alone, .npy, .npz or JSON",
    "labels": "the labels or targets of --dataset, .npy or JSON, if its file has none",
    "opening": "the opening of the commitment to the input, to the private dataset or to the output",
    "registration": "the proof of the model's registration: all committed weights are in range",
    "registration_key": "the file of the registration's own key, from somebody you trust",
    "registration_circuit": "the circuit of the registration's key, if that is transparent",
    "claims": "the proven accuracies of a stream's models",
    "table": "names of the model's columns and classes, table.json: they are shown, and not proven",
}
_FILES: Final = _KEYS | _HELD
_TEXTS: Final = {
    "key_id": ("HEX", "the verification key, by its id: then the key's file may come from anybody"),
    "challenge": ("TEXT", "your question: the text that you gave when you asked for the proof"),
    "model": ("HEX", "the model's weights, by the commitment to them"),
    "network": ("HEX", "the network, by its SHA-256; its architecture, if the weights are committed"),
    "input_commitment": ("HEX", "the input, by the commitment to it"),
    "input_commitments": ("NAME=HEX,…", "several inputs, by the commitments to them"),
    "output_commitment": ("HEX", "the output, by the commitment to it"),
    "output_commitments": ("NAME=HEX,…", "several outputs, by the commitments to them"),
    "reference": ("HEX", "the reference of a recognition, by the commitment to it"),
    "at_least": ("NUMBER", "the output is shown to be this or more; several outputs: NAME=NUMBER,…"),
    "at_most": ("NUMBER", "the output is shown to be this or less; several outputs: NAME=NUMBER,…"),
    "after": ("TIME", "the document gives this time for itself, or a later one: 2026-11-22T10:00:00Z"),
    "before": ("TIME", "the document gives this time for itself, or an earlier one"),
    "require": ("ceremony", "the setup: the key's file must show the ceremony that made the key"),
    "issuer": ("HEX", "the issuer of a receipt, by its public key"),
    "head": ("HEX", "the first link of a stream's chain"),
    "link": ("HEX", "the last link of a stream's chain"),
}
_PIN: Final = (
    "A pin is a value that you have from somebody you trust, and not from the document. It is compared with"
    " what the document is about. The verdict is NOT valid if they differ."
)
_FIELDS: Final = {name: name for name in _TEXTS} | {
    "key_id": "key",
    "input_commitment": "input",
    "input_commitments": "inputs",
    "output_commitment": "output",
    "output_commitments": "outputs",
}
"""The name in documents of each expected value, by option."""
_OF_COMMITMENTS: Final = {
    "model": "model",
    "input": "input_commitment",
    "output": "output_commitment",
    "reference": "reference",
}
"""The options that expect a statement's commitments, by the commitment's kind; an s is appended to the option
for several inputs or outputs."""
_FILE_FIELDS: Final = {name: name for name in ("registration", "registration_key")} | {"key": "key_file"}
"""The files that a policy may name, in the same way."""
_CIRCUITS: Final = {"key": "circuit", "registration_key": "registration_circuit"}
"""The file of a circuit that a key may take."""


class Error(Document):
    """The error that prevented a verdict."""

    code: str = Field(description="Stable.", examples=["file.json"])
    message: str = Field(description="The same for people.", examples=["key.json: the file is not JSON"])
    field: str | None = Field(description="The option or the field that it is about.", examples=["key"])


class Trouble(Document):
    """The answer in JSON where there is no verdict."""

    error: Error


def main(arguments: Sequence[str] | None = None, *, prog: str = "zenserve-verify") -> int:
    """Run the command: 0 valid, 1 refused, 2 anything else."""
    arguments = sys.argv[1:] if arguments is None else arguments
    in_json = "--json" in arguments  # also where they cannot be parsed
    try:
        options = _parser(prog).parse_args(arguments)
        verdict = verify(options)
        _say(_as_json(verdict) if in_json else "\n".join([*lines(verdict), *_unpinned(verdict, options)]))
        return 0 if verdict.valid else REFUSED
    except ZenError as error:
        trouble = error
    except Exception as accident:  # which Python would end with 1, as if there were a verdict
        traceback.print_exc()
        trouble = ZenError("internal", f"internal error, no verdict: {type(accident).__name__}")
    print(printable(f"error: {in_words(trouble)}"), file=sys.stderr)
    if in_json:
        message = printable(named(trouble))
        _say(_as_json(Trouble(error=Error(code=trouble.code, message=message, field=trouble.field))))
    return TROUBLE


def _say(answer: str) -> None:
    """Print the answer. Ignore a closed pipe (``| head``): the exit code still carries the verdict."""
    try:
        print(answer, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _as_json(answer: Document) -> str:
    return answer.model_dump_json(indent=2, ensure_ascii=True)


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise RequestError("request.invalid", message)


class _Once(Action):
    """An option that was given twice would be compared once."""

    def __call__(
        self, parser: ArgumentParser, options: Namespace, value: Any, name: str | None = None
    ) -> None:
        if getattr(options, self.dest) is not None:
            parser.error(f"{name} is given twice")
        setattr(options, self.dest, value)


def _parser(prog: str) -> ArgumentParser:
    parser = _Parser(
        prog=prog,
        usage=f"{prog} FILE --key FILE [PINS] [FILES TO COMPARE] [--json]",
        description="Verify a proof, a receipt or a stream on this machine. No service is asked.",
        epilog="Exit code 0: valid. 1: not valid. 2: no verdict, because a file or an option is wrong.",
        allow_abbrev=False,
    )
    text = "the proof, the receipt, the stream or the claims about a bank"
    parser.add_argument("file", type=Path, metavar="FILE", help=text)
    keys = parser.add_argument_group("keys")
    _add_files(keys.add_argument, _KEYS)
    text = "the folder with the keys of a stream or a bank, NAME.json, and with their circuits, NAME.zen"
    keys.add_argument("--keys", action=_Once, type=Path, metavar="FOLDER", help=text)
    pins = parser.add_argument_group("pins", _PIN)
    for name, (metavar, text) in _TEXTS.items():
        kind = _KINDS.get(name, str)
        pins.add_argument(_option(name), action=_Once, type=kind, metavar=metavar, help=text)
    text = "pins in a file, which can be reviewed: docs/verifying.md has its fields"
    pins.add_argument("--policy", action=_Once, type=Path, metavar="FILE", help=text)
    _add_files(parser.add_argument_group("files to compare").add_argument, _HELD)
    parser.add_argument("--json", action="store_true", help="answer in JSON")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    return parser


def _add_files(add: Callable[..., Any], files: Mapping[str, str]) -> None:
    for name, text in files.items():
        add(_option(name), action=_Once, type=Path, metavar="FILE", help=text)


def _by_name(text: str) -> dict[str, str]:
    """Of ``NAME=HEX,NAME=HEX``."""
    pairs = [part.partition("=") for part in text.split(",")]
    named = {name: value for name, _, value in pairs}
    if len(named) < len(pairs) or not all(named.values()):
        raise ArgumentTypeError("must be NAME=HEX,NAME=HEX…, each name once")
    return named


def _ends(text: str) -> float | dict[str, float]:
    """``NUMBER``, or ``NAME=NUMBER,NAME=NUMBER``."""
    if "=" in text:
        return {name: float(number) for name, number in _by_name(text).items()}
    return float(text)


_KINDS: Final[dict[str, Callable[[str], Any]]] = {
    "input_commitments": _by_name,
    "output_commitments": _by_name,
    "at_least": _ends,
    "at_most": _ends,
}


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


def verify(options: Namespace) -> Verdict:
    """The verdict on a proof, a receipt, a stream or a bank's claims. Raises ``ZenError``."""
    given: Given = {
        name: getattr(options, name) for name in (*_FILES, *_TEXTS) if getattr(options, name) is not None
    }
    with _reading("file", options.file):
        document = _document(options.file.read_bytes())
    if isinstance(document, StreamFile):
        judged = {"claims", "dataset", "labels"} if "claims" in given else set[str]()
        _refuse_idle((given.keys() & _FILES.keys()) - judged, "a stream")
        ruled = _ruled(options.policy, ExpectedStream.model_fields.keys(), "a stream")
        wanted = _expected(ExpectedStream, _agreed(given, ruled), "a stream")
        verdict = judge_stream(document, keys := _keys(options.keys), wanted)
        return _held_against(document, verdict, given, keys, wanted) if "claims" in given else verdict
    if isinstance(document, ClaimsFile):
        _refuse_idle(
            (given.keys() - {"dataset", "labels"}) | ({"policy"} if options.policy else set()), "a bank"
        )
        return judge_claims(document, _keys(options.keys), _by_class(given))
    _refuse_idle(given.keys() & {"claims"}, "what is no stream")
    if options.keys is not None:
        reason = "--keys is for streams, and for claims about banks: give --key"
        raise RequestError("request.invalid", reason, field="keys")
    if isinstance(document, Receipt):
        _refuse_idle(given.keys() & _FILES.keys(), "a receipt")
        ruled = _ruled(options.policy, ExpectedReceipt.model_fields.keys(), "a receipt")
        return receipts.judge(document, _expected(ExpectedReceipt, _agreed(given, ruled), "a receipt"))
    fields = Expected.model_fields.keys() | _FILE_FIELDS.values()
    given = _agreed(given, _ruled(options.policy, fields, "a proof"))
    if "key" not in given:
        raise RequestError("request.invalid", "a proof needs --key, the file of its key", field="key")
    expected = _expected(Expected, given, "a proof")
    if "dataset" not in given:
        _refuse_idle(given.keys() & {"labels"}, "a proof without --dataset")
    if len(pair := given.keys() & {"registration", "registration_key"}) == 1:
        _refuse_alone(pair.pop(), "registration", "registration_key")
    if "registration" not in given and "registration_circuit" in given:
        _refuse_alone("registration_circuit", "registration_circuit", "registration")
    key = _key(given, "key")
    return judge_each([Case(document, key, expected, _known(given, document, key))])[0]


def _held_against(
    file: StreamFile,
    verdict: StreamVerification,
    given: Given,
    keys: Mapping[str, OpenedKey],
    wanted: ExpectedStream,
) -> StreamVerification:
    claims, expected = _read(ClaimsFile, given, "claims"), Expected(require=wanted.require)
    return held_against(file, verdict, judge_claims(claims, keys, _by_class(given), expected))


def _by_class(given: Given) -> list[LabelledData] | None:
    """The samples of each class, where any are given."""
    from zenserve.verifier import datasets

    if "dataset" not in given:
        _refuse_idle(given.keys() & {"labels"}, "a bank without --dataset")
        return None
    with _reading("dataset", given["dataset"]):
        return [*datasets.by_class(datasets.load(given["dataset"], given.get("labels")))]


def _document(data: bytes) -> ProofDocument | Receipt | StreamFile | ClaimsFile:
    fields = parse(data)
    match fields.get("format") if isinstance(fields, dict) else None:
        case "zenserve receipt":
            return checked(Receipt, fields)
        case "zenserve stream":
            return checked(StreamFile, fields)
        case "zenserve bank claims":
            return checked(ClaimsFile, fields)
        case None if isinstance(fields, dict) and "circuit" in fields:
            raise FileFormatError("file.json", "this is the file of a key: name the proof, and this as --key")
        case _:
            return checked(ProofDocument, fields)


def _read(kind: type[DocumentKind], given: Given, name: str) -> DocumentKind:
    with _reading(name, given[name]):
        return read(kind, given[name].read_bytes())


@contextmanager
def _reading(name: str, file: Path) -> Iterator[None]:
    """Errors within are about the file of this option."""
    try:
        with naming(file):
            yield
    except OSError as error:
        message = f"{error.filename or file}: {error.strerror or error}"
        raise RequestError("request.invalid", message, field=name) from None


def _ruled(file: Path | None, fields: Collection[str], what: str) -> Given:
    """Return the policy's values, by option, for those ``fields`` that the document is compared with."""
    if file is None:
        return {}
    with _reading("policy", file):
        said = policy.load(file)
    names = _FIELDS | _FILE_FIELDS
    ruled = {name: said[field] for name, field in names.items() if field in fields and field in said}
    if not ruled:
        raise RequestError("request.invalid", f"the policy says nothing of {what}", field="policy")
    return ruled


def _agreed(given: Given, ruled: Given) -> Given:
    """Both; what is in both must be the same, of files what is in them."""
    for name in sorted(given.keys() & ruled.keys()):
        if _content(name, given[name]) != _content(name, ruled[name]):
            raise RequestError("request.invalid", f"the policy has another {_option(name)}", field=name)
    return {**ruled, **given}


def _content(name: str, value: Any) -> Any:
    if not isinstance(value, Path):
        return value
    with _reading(name, value):
        return value.read_bytes()


def _expected(kind: type[Pinned], given: Given, what: str) -> Pinned:
    texts = {name: given[name] for name in _FIELDS if name in given}
    _refuse_idle({name for name in texts if _FIELDS[name] not in kind.model_fields}, what)
    try:
        return kind.model_validate({_FIELDS[name]: text for name, text in texts.items()})
    except ValidationError as error:
        field, reason = first_fault(error)
        (name,) = (name for name in texts if _FIELDS[name] == field.partition(".")[0])
        raise RequestError("request.invalid", f"{_option(name)}: {reason}", field=name) from None


def _refuse_idle(names: Collection[str], what: str) -> None:
    """Nobody is to think that something was compared which was not."""
    for name in sorted(names):
        raise RequestError("request.invalid", f"{what} is not compared with {_option(name)}", field=name)


def _refuse_alone(given: str, *needed: str) -> NoReturn:
    (missing,) = {*needed} - {given}
    raise RequestError("request.invalid", f"{_option(given)} takes {_option(missing)}, too", field=missing)


def _known(given: Given, document: ProofDocument, key: OpenedKey) -> Known:
    known = Known()
    if "registration" in given:
        registration = _read(ProofDocument, given, "registration")
        known = replace(known, registration=Registration(registration, _key(given, "registration_key")))
    if "table" in given:
        from zenserve.verifier.table import TableSchema  # slow, as numpy is

        with _reading("table", given["table"]):
            known = replace(known, table=TableSchema.read_file(given["table"].read_bytes()))
    if given.keys() & {"input", "dataset"}:
        known = _compared(given, key, known)
    elif not key.circuit.quantisation.outputs:
        _refuse_idle(given.keys() & {"opening"}, "a proof without --input or --dataset")
    if "opening" in given:
        known = replace(known, openings=_read(OpeningFile, given, "opening"))
    _require_comparable(given, document, key, known)
    return known


def _compared(given: Given, key: OpenedKey, known: Known) -> Known:
    """With the input and the dataset that were given."""
    # numpy is slow to load, and of use here only.
    from zenserve.verifier import datasets

    if "input" in given:
        with _reading("input", given["input"]):
            read = datasets.load_inputs(given["input"], key.circuit.quantisation, known.table)
            known = replace(known, input=read)
    if "dataset" in given:
        with _reading("dataset", given["dataset"]):
            names = [kind.name for kind in key.circuit.quantisation.types.values()]
            targets = key.circuit.targets is not None
            data = datasets.load(given["dataset"], given.get("labels"), targets=targets, names=names)
            known = replace(known, dataset=data)
    return known


def _key(given: Given, name: str) -> OpenedKey:
    with _reading(name, given[name]):
        key = opened(read(KeyFile, given[name].read_bytes()))
    beside = _CIRCUITS[name]
    if beside in given:
        with _reading(beside, given[beside]):
            key.system.take_circuit(given[beside].read_bytes())
    return key


def _keys(folder: Path | None) -> dict[str, OpenedKey]:
    """By their ids, the keys in a folder's files; beside a transparent one, its circuit."""
    if folder is None:
        reason = "a stream, or what is claimed of a bank, needs --keys, the folder of its keys"
        raise RequestError("request.invalid", reason, field="keys")
    keys = {}
    for file in sorted(folder.glob("*.json")):
        with _reading("keys", file):
            key = opened(read(KeyFile, file.read_bytes()))
            if (circuit := file.with_suffix(".zen")).is_file():
                key.system.take_circuit(circuit.read_bytes())
        keys[key.reference.id] = key
    return keys


def _require_comparable(given: Given, document: ProofDocument, key: OpenedKey, known: Known) -> None:
    """Raises ``RequestError`` where what was given says nothing of the proof: it may well be valid."""
    dataset, openings = document.statement.dataset, known.openings
    privacies = {words.privacy(key.circuit, name) for name in known.inputs}
    if "dataset" in given and dataset is None:
        _refuse_idle({"dataset"}, "a proof about no dataset")
    if "private" in privacies:
        _refuse_idle({"input"}, "a proof about no input, or a private one,")
    name = "input" if "input" in given else "dataset"
    private = "dataset" in given and dataset is not None and dataset.sha256 is None
    opens = "committed" in privacies if "input" in given else private
    if opens and openings is None:
        _refuse_alone(name, name, "opening")
    kind = name if opens else OUTPUT if key.circuit.quantisation.outputs else None
    if openings is not None and openings.kind != kind:
        what = f"with --{name}" if name in given else "without --input or --dataset"
        _refuse_idle({"opening"}, f"a proof {what}, which that file does not open,")


def lines(verdict: Verdict) -> list[str]:
    """The verdict as a person reads it."""
    word = "valid" if verdict.valid else "NOT valid"
    shown = [f"{word}: {verdict.detail} [{verdict.reason}]"]
    if isinstance(verdict, Verification):
        shown += [verdict.remedy] if verdict.remedy else []
        shown += verdict.named
        shown += [f"Challenge: {verdict.statement.challenge or 'none'}"] if verdict.statement else []
    for title, sentences in (("Verified", verdict.verified), ("Not verified", verdict.not_verified)):
        shown += [f"{title}:", *(f"  - {sentence}" for sentence in sentences)] if sentences else []
    return [printable(line) for line in shown]


def _unpinned(verdict: Verdict, options: Namespace) -> list[str]:
    """The pins that a valid proof could be compared with and was not, explained. A policy has its own."""
    if not isinstance(verdict, Verification) or verdict.statement is None or options.policy is not None:
        return []
    statement = verdict.statement
    parts = [name.partition("/") for name in statement.commitments]
    pins = {"key_id", *(_OF_COMMITMENTS[of] + "s" * bool(own) for of, _, own in parts)}
    pins |= set() if "model" in statement.commitments else {"network"}
    pins |= set() if statement.challenge is None else {"challenge"}
    pins -= {"input_commitment", "input_commitments"} if options.input is not None else set()
    missing = [name for name in _TEXTS if name in pins and getattr(options, name) is None]
    shown = [f"  {f'{_option(name)} {_TEXTS[name][0]}':<30} {_TEXTS[name][1]}" for name in missing]
    return [f"Pins not given. {_PIN}", *shown] if shown else []
