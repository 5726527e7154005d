"""The documents that are handed on: statements, proofs, keys, openings and receipts.

Since version 3 each names the proof system that it is of, which says how long its commitments are and what
opens them. Documents of before name none: they are of the first system, Groth16, and go on being read.

Each has one meaning however it is spelled out in JSON: unknown fields, numbers for strings, upper-case hex
and fields given twice are refused, so that whatever a document's hash does not cover cannot be there.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, Self, TypeVar

import rfc8785
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from verifier.document import is_printable, parse_json
from verifier.measures import Count, Measurement, Targets, takes_targets
from verifier.points import SCALAR_MODULUS
from verifier.registry import FIRST, SYSTEMS
from verifier.schemes import BOUNDED, INPUT, OUTPUT, AnyScheme, Measure, kind_of
from verifier.system import VerifyingSystem
from zenerrors import FileFormatError


def _printable(text: str) -> str:
    if not is_printable(text):
        raise ValueError("control characters and spaces but one kind are not allowed")
    return text


def _moment(text: str) -> str:
    """Months end at 12, and February at 28 or 29."""
    try:
        datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z")
    except ValueError:
        raise ValueError("there is no such moment") from None
    return text


Kind = Literal["input", "reference", "dataset", "output"]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 in hex.", examples=["5d" * 32])]
Commitment = Annotated[
    str,
    Field(
        pattern=r"^([0-9a-f]{2}){32,64}$",
        description="In hex, as long as its commitment scheme has it.",
        examples=["8f" * 48],
    ),
]
Opening = Annotated[
    dict[str, Any], Field(description="What shows a commitment to be to values; by commitment scheme.")
]
Time = Annotated[
    str,
    Field(
        pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
        description="RFC 3339, UTC, whole seconds.",
        examples=["2026-11-22T10:00:00Z"],
    ),
    AfterValidator(_moment),
]
Issuer = Annotated[
    str, Field(pattern=r"^[0-9a-f]{64}$", description="Ed25519 public key in hex.", examples=["d7" * 32])
]
MOST_INTEGER: Final = (1 << 53) - 1
"""The largest integer of a document, which programs in any language read exactly (RFC 8785)."""
Name = Annotated[str, Field(pattern="^[a-z_]{1,40}(/[A-Za-z0-9_.-]{1,64})?$")]
"""Of several inputs and outputs, each has its own name behind the slash (``verifier.schemes.called``)."""
# One complaint about a list or an object is enough: to collect them all takes a thousand times its memory.
Numbers = Annotated[list[int], Field(fail_fast=True)]
Integer = Annotated[int, Field(ge=-MOST_INTEGER, le=MOST_INTEGER)]
Integers = Annotated[list[Integer], Field(fail_fast=True)]
Values = Annotated[dict[Name, Integer | Integers], Field(fail_fast=True)]
Size = Annotated[int, Field(ge=1, le=MOST_INTEGER)]

MOST_SHARDS: Final = 1 << 16
MOST_SUM_OPENING: Final = 1 << 23
"""Hex digits: 64 bytes a shard."""
MOST_SCALE: Final = 1e290
"""Of outputs that words say: times any integer of a document it is a finite number."""
MOST_COMMITTED: Final = 1 << 24
"""Values of an input or a shard: none of more has a circuit that anybody could prove."""
MOST_AXES: Final = 16
MOST_CHALLENGE: Final = 200
MOST_NAMES: Final = 16
"""Of values, and of commitments, in one statement."""
MOST_SENTENCES: Final = 32
"""That a statement does not say."""
MOST_FAULTS: Final = 100
"""That are looked at one by one. There are more only where an object has as many unknown fields."""

DocumentKind = TypeVar("DocumentKind", bound=BaseModel)
Interval = tuple[float, float]


Challenge = Annotated[
    str, Field(min_length=1, max_length=MOST_CHALLENGE, examples=["for Ada"]), AfterValidator(_printable)
]


class Document(BaseModel):
    """Immutable, exact: nothing is converted, nothing is ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _is_installed(system: str) -> str:
    if system not in SYSTEMS:
        raise ValueError(
            f"no proof system {system!r} is known here, but {', '.join(SYSTEMS)}: a newer program may know it"
        )
    return system


# Not Literal, for which 1.0 and true pass as well.
def _either(earlier: int, version: int) -> AfterValidator:
    def check(found: int) -> int:
        if found not in (earlier, version):
            raise ValueError(f"this program reads versions {earlier} and {version}")
        return found

    return AfterValidator(check)


NAMING: Final = 3
"""The version since which documents name their proof system."""
Version = Annotated[
    int, _either(1, NAMING), Field(description="Of the format.", json_schema_extra={"enum": [1, NAMING]})
]
SinceTwo = Annotated[
    int, _either(2, NAMING), Field(description="Of the format.", json_schema_extra={"enum": [2, NAMING]})
]


def is_absent(value: object) -> bool:
    return value is None


def _is_true(value: object) -> object:
    if value is not True:
        raise ValueError("it is true, or not there")
    return value


Saturates = Annotated[Literal[True] | None, BeforeValidator(_is_true)]
"""Where it is there, a model takes numbers beyond the range of its calibration as the range's ends."""


SystemId = Annotated[str, Field(pattern="^[a-z0-9-]{1,40}$"), AfterValidator(_is_installed)]


class OfSystem(Document):
    """A document of a proof system, which it names since version 3: before, there was the first one alone."""

    version: int
    system: SystemId | None = Field(
        default=None,
        exclude_if=is_absent,
        description="The proof system; not there before version 3.",
        examples=[FIRST],
    )
    commitment_scheme: str | None = Field(
        default=None,
        exclude_if=is_absent,
        description="How its commitments are made: that of its proof system.",
        examples=[SYSTEMS[FIRST].commitments.id],
    )

    @model_validator(mode="after")
    def _names_its_system(self) -> Self:
        named = {"system", "commitment_scheme"} & self.model_fields_set
        if len(named) != (2 if self.version >= NAMING else 0) or (self.system is None) != (not named):
            raise ValueError("documents of version 3, and no others, name their system and commitment_scheme")
        if named and self.commitment_scheme != self.proof_system.commitments.id:
            raise ValueError(f"{self.system} has the commitment_scheme {self.proof_system.commitments.id}")
        return self

    @property
    def proof_system(self) -> VerifyingSystem:
        """The one that it is of."""
        return SYSTEMS[self.system or FIRST]

    def _require_form(
        self, commitments: Mapping[str, str | None], openings: Mapping[str, dict[str, Any] | None]
    ) -> None:
        """``ValueError`` where any of these, by their places, is not as its commitment scheme has it."""
        scheme = self.proof_system.commitments
        for place, commitment in commitments.items():
            if commitment is not None and len(commitment) != 2 * scheme.commitment_bytes:
                raise ValueError(
                    f"{place}: a commitment of {scheme.id} has {scheme.commitment_bytes} bytes, in hex"
                )
        for place, opening in openings.items():
            if opening is not None:
                try:
                    scheme.check_form(opening)
                except FileFormatError as error:
                    raise ValueError(f"{place}: not an opening of {scheme.id}: {error.message}") from None


def named(system: VerifyingSystem) -> dict[str, Any]:
    """How documents that are made now name it."""
    return {"version": NAMING, "system": system.id, "commitment_scheme": system.commitments.id}


class KeyReference(Document):
    """Which verification key a proof is for. ``id`` covers the key and what it means (``key_id``)."""

    id: Digest
    setup: str = Field(
        examples=["development"], description="Who made the key: `development`, one party; or a ceremony."
    )


class Shard(Document):
    """A part of a dataset, proven on its own.

    ``dataset``: the commitment to its samples and labels, or targets; ``correct``: to how many of them the
    network gets right, or what else its measure counts; ``opening``: of ``dataset``, where that is public.
    """

    size: Size = Field(description="How many samples are in it.", examples=[100])
    dataset: Commitment
    correct: Commitment
    opening: Opening | None = Field(default=None, description="Of `dataset`, where the dataset is public.")


class Dataset(Document):
    """What an accuracy is about. ``sha256``: its content (``verifier.datasets``), null where it is private.

    ``picked_for``: the commitment of the model that the dataset was picked for, after seeing it;
    ``blinding``: what opens the sum of all ``correct`` to the totals, as the commitment scheme has it.
    """

    sha256: Digest | None = Field(description="Of its content; null where it is private.")
    size: Size = Field(description="How many samples it has.", examples=[100])
    picked_for: Commitment | None = Field(description="The commitment of the model that was there before it.")
    shards: list[Shard] = Field(
        min_length=1,
        max_length=MOST_SHARDS,
        fail_fast=True,
        description="Its parts, each with a proof of its own.",
    )
    blinding: str = Field(
        pattern="^([0-9a-f]{2})*$",
        max_length=MOST_SUM_OPENING,
        description="What opens the sum of all `correct` to the total; in hex.",
        examples=["0d" * 32],
    )

    @model_validator(mode="after")
    def _opened_if_public(self) -> Self:
        if any((shard.opening is None) != (self.sha256 is None) for shard in self.shards):
            raise ValueError("the shards of a public dataset, and no others, have openings")
        return self


class Statement(OfSystem):
    """What a proof says. Made by ``words.make_statement``; its hash, a public input of the proof, covers the
    system that proves it, too.
    """

    format: Literal["zenserve statement"] = Field(
        default="zenserve statement", description="What this document is."
    )
    version: Version = NAMING
    scheme: AnyScheme = Field(description="What kind of claim it is.", examples=["inference"])
    claim: str = Field(
        description="What is claimed, in words that verifiers make again.", examples=["The label is 7."]
    )
    network: Digest = Field(description="The network, or its architecture where the weights are committed.")
    values: Values = Field(
        max_length=MOST_NAMES,
        description="The public values by name; flat lists, row-major.",
        examples=[{"label": 7}],
    )
    commitments: dict[Name, Commitment] = Field(
        max_length=MOST_NAMES,
        fail_fast=True,
        description="What is hidden and fixed: model, input, reference.",
    )
    dataset: Dataset | None = Field(
        description="What an accuracy is on; null in other schemes.", examples=[None]
    )
    parent: Commitment | None = Field(
        description="The commitment of the model that this one is a version of."
    )
    verification_key: KeyReference = Field(description="The key that the proof verifies with.")
    challenge: Challenge | None = Field(description="From whoever asked for the proof, against replay.")
    made_at: Time
    saturates: Saturates = Field(
        default=None,
        exclude_if=is_absent,
        description="True where numbers beyond the range of the model's calibration count as its ends; else"
        " not there.",
    )
    does_not_say: list[str] = Field(
        max_length=MOST_SENTENCES,
        fail_fast=True,
        description="In sentences, what is not claimed.",
        examples=[["Who made the input, and when."]],
    )

    @model_validator(mode="after")
    def _of_one_scheme(self) -> Self:
        if (self.dataset is None) == (self.scheme == "accuracy"):
            raise ValueError("dataset is for the scheme accuracy, and only for it")
        if self.parent is not None and self.scheme != "registration":
            raise ValueError("parent is for the scheme registration only")
        if self.saturates and self.scheme == "registration":
            raise ValueError("saturates is for schemes that take numbers, and a registration takes none")
        commitments = {f"commitments.{name}": each for name, each in self.commitments.items()}
        shards = self.dataset.shards if self.dataset else []
        for index, shard in enumerate(shards):
            commitments[f"dataset.shards.{index}.dataset"] = shard.dataset
            commitments[f"dataset.shards.{index}.correct"] = shard.correct
        picked_for = self.dataset.picked_for if self.dataset else None
        others = {"parent": self.parent, "dataset.picked_for": picked_for}
        openings = {f"dataset.shards.{index}.opening": shard.opening for index, shard in enumerate(shards)}
        self._require_form(commitments | others, openings)
        return self

    @property
    def sha256(self) -> bytes:
        """Of the canonical form, 32 bytes."""
        return hashlib.sha256(canonical(self)).digest()

    @property
    def scalar(self) -> int:
        """The public input ``statement``: the hash's first 31 bytes, big-endian, below the group order."""
        return int.from_bytes(self.sha256[:31], "big")


class ProofDocument(Document):
    """A proof to hand on. With the key file it names, it is all that a verifier needs."""

    format: Literal["zenserve proof"] = Field(default="zenserve proof", description="What this document is.")
    version: SinceTwo = NAMING
    statement: Statement = Field(description="What is proven.")
    statement_sha256: Digest
    proofs: list[Annotated[str, Field(pattern="^([0-9a-f]{2})*$", examples=["9a" * 192])]] = Field(
        min_length=1,
        max_length=MOST_SHARDS,
        fail_fast=True,
        description="One in hex, or one for each shard.",
    )

    @field_validator("proofs")
    @classmethod
    def _no_longer_than_its_system_makes_them(cls, proofs: list[str], info: ValidationInfo) -> list[str]:
        statement: Statement | None = info.data.get("statement")
        most = statement.proof_system.most_proof_bytes if statement else 0
        if statement and any(len(proof) > 2 * most for proof in proofs):
            raise ValueError(f"a proof of {statement.proof_system.id} has {most} bytes at most, in hex")
        return proofs

    @model_validator(mode="after")
    def _as_its_statement(self) -> Self:
        if (self.version == NAMING) != (self.statement.version == NAMING):
            raise ValueError("the statement is of another version than the document")
        return self

    @classmethod
    def of(cls, statement: Statement, proofs: list[bytes]) -> ProofDocument:
        """Of the statement's version: one from before may still be proven, and its hash stays what it is."""
        return cls(
            version=NAMING if statement.version == NAMING else 2,
            statement=statement,
            statement_sha256=statement.sha256.hex(),
            proofs=[proof.hex() for proof in proofs],
        )


OWN_NAME: Final = "^[A-Za-z0-9_.-]{1,64}$"
"""Of one of several inputs or outputs."""
InputName = Annotated[str, Field(pattern=OWN_NAME)]
_End = Annotated[float, Field(allow_inf_nan=False)]
Ends = _End | Annotated[dict[InputName, _End], Field(min_length=1)]
"""What outputs reach, or stay below: of the only one, or by their names."""


class _Pinned(Document):
    """What a verifier knows from elsewhere, to be found in a proof and in a receipt alike."""

    model: Commitment | None = Field(
        default=None, description="The commitment to the model.", examples=["8f" * 48]
    )
    network: Digest | None = Field(
        default=None, description="SHA-256 of the network, or of its architecture where weights are hidden."
    )
    after: Time | None = Field(
        default=None,
        description="The document's own time is this, or later.",
        examples=["2026-11-01T00:00:00Z"],
    )
    before: Time | None = Field(
        default=None,
        description="The document's own time is this, or earlier.",
        examples=["2026-12-01T00:00:00Z"],
    )

    @field_validator("before")
    @classmethod
    def _not_empty(cls, before: str | None, info: ValidationInfo) -> str | None:
        after = info.data.get("after")
        if before is not None and after is not None and before < after:
            raise ValueError("this is earlier than after: no time is in between")
        return before

    def spans(self, moment: str) -> bool:
        """Whether the ``Time`` is neither before ``after`` nor after ``before``."""
        return (self.after or moment) <= moment <= (self.before or moment)


class Expected(_Pinned):
    """What a verifier of a proof knows from elsewhere: each is null where nothing is."""

    key: Digest | None = Field(default=None, description="The id of the verification key.")
    require: Literal["ceremony"] | None = Field(
        default=None,
        description="The key's file shows that its secrets are of a ceremony, or its system has no secrets.",
        examples=["ceremony"],
    )
    input: Commitment | None = Field(
        default=None, description="The commitment to the input.", examples=["8f" * 48]
    )
    inputs: Annotated[dict[InputName, Commitment], Field(min_length=1)] | None = Field(
        default=None,
        description="Those to several inputs, by their names.",
        examples=[{"image": "8f" * 48}],
    )
    output: Commitment | None = Field(
        default=None, description="The commitment to the output.", examples=["8f" * 48]
    )
    outputs: Annotated[dict[InputName, Commitment], Field(min_length=1)] | None = Field(
        default=None,
        description="Those to several outputs, by their names.",
        examples=[{"scores": "8f" * 48}],
    )
    reference: Commitment | None = Field(
        default=None, description="The commitment to the reference.", examples=["8f" * 48]
    )
    challenge: Challenge | None = Field(
        default=None, description="The text that you gave.", examples=["for Ada"]
    )
    at_least: Ends | None = Field(
        default=None,
        description="The output is shown to be this, or more, in its own units; of several, by their names.",
        examples=[0.5],
    )
    at_most: Ends | None = Field(
        default=None,
        description="The output is shown to be this, or less, in its own units; of several, by their names.",
        examples=[{"score": 0.5}],
    )

    @property
    def commitments(self) -> dict[str, str]:
        """The expected commitments, as statements call them."""
        wanted = {"model": self.model, INPUT: self.input, OUTPUT: self.output, "reference": self.reference}
        wanted |= {f"{INPUT}/{name}": each for name, each in (self.inputs or {}).items()}
        wanted |= {f"{OUTPUT}/{name}": each for name, each in (self.outputs or {}).items()}
        return {name: each for name, each in wanted.items() if each is not None}


class ExpectedReceipt(_Pinned):
    """What a verifier of a receipt knows from elsewhere."""

    issuer: Issuer | None = Field(
        default=None, description="The issuer that you trust.", examples=["d7" * 32]
    )


class ExpectedStream(Document):
    """What a verifier of a stream knows from elsewhere."""

    head: Digest | None = Field(
        default=None, description="The chain's first link: of bank, rules, challenge and beginning."
    )
    link: Digest | None = Field(default=None, description="The chain's last link: of all that frames say.")
    challenge: Challenge | None = Field(
        default=None,
        description="The text that you gave before the stream began.",
        examples=["for Ada"],
    )
    require: Literal["ceremony"] | None = Field(
        default=None,
        description="The files of all its keys show that their secrets are of a ceremony, or their system has"
        " no secrets.",
        examples=["ceremony"],
    )


class KeyFile(OfSystem):
    """A verification key and what it means: ``key`` as its system writes it, ``circuit`` as described.

    ``transcript``: what ``VerifyingSystem.check_transcript`` takes.
    """

    version: SinceTwo = Field(default=2, exclude_if=lambda version: version == 2)
    id: Digest
    setup: str = Field(
        description="Who made the key: `development`, one party; or a ceremony.", examples=["development"]
    )
    key: dict[str, Any] = Field(
        description="The key, as its proof system has it.", examples=[{"curve": "bls12381"}]
    )
    circuit: dict[str, Any] = Field(
        description="What the key proves: scheme, architecture, quantisation, public inputs.",
        examples=[{"scheme": "inference"}],
    )
    transcript: dict[str, Any] | None = Field(
        default=None,
        description="How the contributions of a ceremony came to the key's secrets; null where none did, or"
        " where it is not shown. The id does not cover it.",
        examples=[None],
    )

    @property
    def reference(self) -> KeyReference:
        return KeyReference(id=self.id, setup=self.setup)


class Group(BaseModel):
    """Public inputs of one name: ``count`` of them from ``first``; a plain number where ``shape`` is []."""

    model_config = ConfigDict(frozen=True, strict=True)

    name: str
    first: int
    count: Size
    shape: Numbers
    minimum: int = 0
    maximum: int = SCALAR_MODULUS - 1
    scale: float | None = None
    zero_point: int = 0

    @property
    def kind(self) -> str:
        """What it is, whichever of several inputs or outputs it is of."""
        return kind_of(self.name)

    @property
    def owner(self) -> str:
        """Of which of several inputs or outputs it is; "" of an only one."""
        return self.name.partition("/")[2]

    def real(self, numbers: Sequence[int]) -> list[float] | None:
        """What its integers stand for, ``scale (q - zero_point)``; None where no scale is known."""
        return None if self.scale is None else [self.scale * (q - self.zero_point) for q in numbers]

    @property
    def can_be_said(self) -> bool:
        """Whether ``real`` is one finite number in any language: a double above 0 times an exact integer."""
        return self.scale is None or (0 < self.scale <= MOST_SCALE and abs(self.zero_point) <= MOST_INTEGER)

    def numbers(self, value: int | list[int]) -> list[int]:
        """The group's values as a list. Raises ``ValueError`` where they are not of its count and range."""
        if isinstance(value, list) != (self.shape != []):
            raise ValueError(f"values.{self.name} must be {'a list' if self.shape else 'a number'}")
        numbers = as_list(value)
        if len(numbers) != self.count:
            raise ValueError(f"values.{self.name} must have {self.count} numbers, not {len(numbers)}")
        if any(not self.minimum <= number <= self.maximum for number in numbers):
            raise ValueError(f"values.{self.name} must lie in [{self.minimum}, {self.maximum}]")
        if self.kind == "bounds" and any(one >= other for one, other in itertools.pairwise(numbers)):
            raise ValueError(f"values.{self.name} must increase")
        return numbers


def _counted(count: Count) -> Group:
    """Its total over all shards; which there can be is for who knows the samples' number to see."""
    most = (1 << 63) - 1
    shape = [] if count.size is None else [count.size]
    low = 0 if count.least >= 0 else -most
    return Group(name=count.name, first=0, count=count.size or 1, shape=shape, minimum=low, maximum=most)


_SIZE: Final = Count("size", None, 0, 1)


class InputType(BaseModel):
    """How a network's input, or an output that is committed to, is quantised: ``real = scale (q -
    zero_point)``, 0 <= q < 2^bits. Those of several inputs have names."""

    model_config = ConfigDict(frozen=True, strict=True)

    name: InputName | None = Field(default=None, exclude_if=is_absent)
    shape: Annotated[list[Size], Field(max_length=MOST_AXES, fail_fast=True)]
    scale: float = Field(gt=0, allow_inf_nan=False)
    zero_point: Integer
    bits: int = Field(ge=1, le=32)

    @property
    def limbs(self) -> list[int]:
        """What a commitment to values of this type begins with: the SHA-256 of the type's canonical text as
        five integers of 52 bits, lowest first.
        """
        number = int.from_bytes(hashlib.sha256(canonical(self)).digest(), "big")
        return [number >> shift & (1 << 52) - 1 for shift in range(0, 256, 52)]

    def measures(self, distance: Group) -> bool:
        """Whether the group's numbers are distances of such integers."""
        reach = distance.minimum, distance.maximum, distance.scale, distance.zero_point
        return reach == (0, (1 << self.bits) - 1, self.scale, 0)

    def holds(self, values: Sequence[int]) -> bool:
        """Whether these are such integers, row-major."""
        return len(values) == math.prod(self.shape) and all(0 <= each < 1 << self.bits for each in values)


class OutputType(BaseModel):
    """Of an output that is committed to: its type, and what statements call it."""

    model_config = ConfigDict(frozen=True, strict=True)

    name: Annotated[str, Field(pattern=f"^{OUTPUT}(/[A-Za-z0-9_.-]{{1,64}})?$")]
    type: InputType

    @field_validator("type")
    @classmethod
    def _can_be_taken_and_said(cls, kind: InputType) -> InputType:
        if kind.name is not None:
            raise ValueError("the type of an output has no name: whatever takes it may call it otherwise")
        if kind.scale > MOST_SCALE:
            raise ValueError(f"the scale must be above 0 and at most {MOST_SCALE:g}")
        return kind


class Quantisation(BaseModel):
    """Of the only input, or of several; and of the ``outputs`` that are committed to."""

    model_config = ConfigDict(frozen=True, strict=True)

    input: InputType | None = None
    inputs: Annotated[list[InputType], Field(min_length=2, max_length=MOST_NAMES, fail_fast=True)] | None = (
        None
    )
    outputs: (
        Annotated[list[OutputType], Field(min_length=1, max_length=MOST_NAMES, fail_fast=True)] | None
    ) = None

    @model_validator(mode="after")
    def _of_one_or_several(self) -> Self:
        kinds = self.inputs or ([self.input] if self.input else [])
        names = [kind.name for kind in kinds]
        named = len({*names} - {None}) == len(names) if self.inputs else names == [None]
        if (self.input is None) == (self.inputs is None) or not named:
            raise ValueError("there is one input without a name, or several with a name each")
        outputs = [each.name for each in self.outputs or []]
        if len({*outputs}) < len(outputs) or (OUTPUT in outputs and len(outputs) > 1):
            raise ValueError("outputs: there is one without a name, or several with a name each")
        return self

    @property
    def types(self) -> dict[str, InputType]:
        """By what statements call the inputs."""
        if self.input is not None:
            return {INPUT: self.input}
        return {f"{INPUT}/{kind.name}": kind for kind in self.inputs or []}

    @property
    def output_types(self) -> dict[str, InputType]:
        """The same of the outputs that are committed to."""
        return {each.name: each.type for each in self.outputs or []}


_PARTS: Final[Mapping[AnyScheme, tuple[tuple[str, ...], Collection[tuple[str, ...]]]]] = {
    "registration": (("model",), [()]),
    "inference": (
        ("model", "input", "output"),
        [("label",), ("label", "logits"), ("top",), ("values",), *BOUNDED.values()],
    ),
    "recognition": (("model", "input", "reference"), [("threshold", "match")]),
    "accuracy": (("model", "dataset", "correct"), [("size",), ("size", "radius")]),
    "robustness": (("model", "input"), [("radius", "label")]),
}
"""Of each scheme what can be committed to, in order, and what it may show beside an input and a reference."""
_SINGLE: Final = ("statement", "label", "threshold", "match", "size", "radius")
"""Groups of which words are made as of one number, also those of one of several outputs."""
_SAID: Final = ("values", "threshold", "bounds", "radius")
"""Groups whose integers words have as real numbers."""


class Description(BaseModel):
    """What verification reads of a circuit's description (``Circuit.describe``); the rest is for people.

    ``commitments``: the linked segments in order. Of accuracies ``batch``, the samples that fit a shard;
    ``classes``, how many outputs the network has, and the label that it never gives; ``measure``, with
    ``top`` of ``top-k``; and ``targets``, of measures that take any."""

    model_config = ConfigDict(frozen=True, strict=True)

    scheme: AnyScheme
    meaning: str
    network: Digest
    commitments: list[str] = Field(fail_fast=True)
    public_inputs: list[Group] = Field(min_length=1, fail_fast=True)
    quantisation: Quantisation
    batch: Size | None = None
    classes: Size | None = None
    measure: Measure = "accuracy"
    top: Size = 1
    targets: Targets | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        """Of its scheme, so that there are words for it, and a value for each public input."""
        first = 0
        for group in self.public_inputs:
            if group.first != first:
                raise ValueError(f"public_inputs: {group.name} begins at {group.first}, not {first}")
            first += group.count
            if group.shape and group.kind in _SINGLE:
                raise ValueError(f"public_inputs: {group.name} is one number, no list")
            if group.kind in _SAID and not group.can_be_said:
                raise ValueError(f"public_inputs: the scale must be above 0 and at most {MOST_SCALE:g}")
        if self.public_inputs[0].name != "statement" or self.public_inputs[0].count != 1:
            raise ValueError("public_inputs: the first must be the statement")
        inputs = [*self.quantisation.types]
        if len(inputs) > 1 and self.scheme in ("recognition", "accuracy", "robustness"):
            raise ValueError(f"quantisation: the scheme {self.scheme} is of one input")
        several = {INPUT: inputs, OUTPUT: [*self.quantisation.output_types]}
        outside = [part for name in _PARTS[self.scheme][0] for part in several.get(name, [name])]
        names = [group.name for group in self.public_inputs[1:]]
        given = [name for name in outside if name in names and kind_of(name) in (INPUT, "reference")]
        if names[: len(given)] != given or not self._is_shown(names[len(given) :]):
            raise ValueError(f"public_inputs: the scheme {self.scheme} does not show {', '.join(names)}")
        kinds = self.quantisation.types.values()
        if not all(
            kind.measures(each) for each in self.public_inputs if each.kind == "radius" for kind in kinds
        ):
            raise ValueError(
                "public_inputs: radius must be in steps of the input, and no further than it goes"
            )
        for bounds, found in self.bounded:
            if found.minimum < 0 or found.maximum > bounds.count:
                raise ValueError(f"public_inputs: {found.name} must lie in [0, {bounds.count}]")
        if self.commitments != [name for name in outside if name in self.commitments]:
            raise ValueError(f"commitments: the scheme {self.scheme} has {', '.join(outside)}, in this order")
        if not {*self.quantisation.output_types} <= {*self.commitments}:
            raise ValueError("quantisation: outputs are those that are committed to")
        if both := set(given).intersection(self.commitments):
            raise ValueError(f"commitments: {both.pop()} is public, too")
        if any((self.committed_values(name) or 0) > MOST_COMMITTED for name in self.commitments):
            raise ValueError(f"commitments: one is to more than {MOST_COMMITTED} values")
        if self.scheme == "accuracy" and (
            self.batch is None or self.classes is None or not {"dataset", "correct"} <= {*self.commitments}
        ):
            raise ValueError("an accuracy has batch, classes, a dataset and a count")
        if takes_targets(self.measure) != (self.targets is not None):
            raise ValueError("targets: measures of errors have them, and no others")
        if (self.measure == "certified") != (self.scheme == "accuracy" and "radius" in names):
            raise ValueError("measure: what is certified, and nothing else, has a radius")
        return self

    @property
    def bounded(self) -> list[tuple[Group, Group]]:
        """Of each output that is shown to lie somewhere its bounds, and of how many of them it is at least
        that."""
        following = itertools.pairwise(self.public_inputs)
        return [pair for pair in following if (pair[0].kind, pair[1].kind) in BOUNDED.values()]

    def ends(self, values: Values, output: str) -> list[Interval]:
        """Between what the values of an output, "" of an only one, are shown to lie, in its own units. Empty
        where nothing is shown, or no scale is known."""
        for group in self.public_inputs:
            if (group.kind, group.owner) == ("values", output):
                return [(each, each) for each in group.real(group.numbers(values[group.name])) or []]
        for bounds, found in self.bounded:
            if found.owner == output:
                integers = bounds.numbers(values[bounds.name])
                above = bounds.real(integers)
                below = bounds.real([each - 1 for each in integers])
                if above is None or below is None:
                    return []
                lows, highs = [-math.inf, *above], [*below, math.inf]
                return [(lows[place], highs[place]) for place in found.numbers(values[found.name])]
        return []

    @property
    def measurement(self) -> Measurement:
        """What an accuracy measures."""
        return Measurement(self.measure, self.top, self.classes or 0, self.targets)

    def _is_shown(self, names: Sequence[str]) -> bool:
        """Whether the scheme may show this: of each output what goes together, the outputs one by one; and
        nothing of those that are committed to."""
        shown = _PARTS[self.scheme][1]
        committed = {name.partition("/")[2] for name in self.quantisation.output_types}
        if not any("/" in name for name in names):
            return not names if committed else tuple(names) in shown
        outputs: dict[str, list[str]] = {}
        for name in names:
            kind, _, output = name.partition("/")
            outputs.setdefault(output, []).append(kind)
        in_order = [f"{kind}/{output}" for output, kinds in outputs.items() for kind in kinds]
        known = all(tuple(kinds) in shown for kinds in outputs.values())
        known = known and "" not in committed and committed.isdisjoint(outputs)
        return self.scheme == "inference" and known and in_order == [*names]

    def committed_values(self, name: str) -> int | None:
        """How many values the commitment ``name`` is to; None where the description does not say."""
        types = self.quantisation.types | self.quantisation.output_types
        kind = types.get("input" if name == "dataset" else name)
        if kind is None:
            counts = sum(count.size or 1 for count in self.measurement.counts)
            return counts if name == "correct" else None
        sample, targets = math.prod(kind.shape), (self.classes or 0) if self.targets else 0
        samples = (self.batch or 0) * (sample + targets + 1)
        return len(kind.limbs) + (samples if name == "dataset" else sample)

    def public_values(self, values: Values) -> list[int]:
        """The public inputs after ``statement``, canonical, in order. Of an accuracy those that come after
        ``size``, of which each shard has its own.

        Raises ``ValueError`` where ``values`` has other names or numbers than the circuit: -1 and r - 1 are
        one field element, and one of them only is what the circuit means.
        """
        shown, totals = {group.name: group for group in self.public_inputs[1:]}, dict[str, Group]()
        if self.scheme == "accuracy":
            totals = {count.name: _counted(count) for count in (*self.measurement.counts, _SIZE)}
        shown = totals | {name: group for name, group in shown.items() if name not in totals}
        if values.keys() != shown.keys():
            raise ValueError(f"values must be {', '.join(shown) or 'empty'}")
        numbers = {name: group.numbers(values[name]) for name, group in shown.items()}
        own = (each for name in shown if name not in totals for each in numbers[name])
        return [number % SCALAR_MODULUS for number in own]


class OpeningPart(Document):
    """One commitment and what opens it. ``values``: of an output, which nothing else shows, the integers."""

    commitment: Commitment
    opening: Opening
    values: Integers | None = Field(
        default=None,
        exclude_if=is_absent,
        description="Of an output: its integers, row-major, from 0.",
        examples=[None],
    )


class OpeningFile(OfSystem):
    """What opens a committed input or reference, or a private dataset, shard by shard, to who knows it; or a
    committed output, to whoever reads it.

    As secret as the values: with it, guesses of them can be checked.
    """

    format: Literal["zenserve openings"] = Field(
        default="zenserve openings", description="What this document is."
    )
    version: Version = NAMING
    kind: Kind = Field(description="What the commitments are to.", examples=["input"])
    parts: list[OpeningPart] = Field(
        min_length=1, max_length=MOST_SHARDS, fail_fast=True, description="One, or one for each shard."
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        self._require_form(
            {f"parts.{index}.commitment": part.commitment for index, part in enumerate(self.parts)},
            {f"parts.{index}.opening": part.opening for index, part in enumerate(self.parts)},
        )
        if any((part.values is None) == (self.kind == OUTPUT) for part in self.parts):
            raise ValueError("the parts of an opening of outputs, and no others, have values")
        return self


class Parent(Document):
    """The model that another one is a version of. ``commitment`` is null where its weights are public."""

    model_id: str = Field(description="Names it at the service that signed.", examples=["mdl_5d1f0c"])
    commitment: Commitment | None = Field(description="To its weights; null where they are public.")


class Receipt(OfSystem):
    """Signed by the service: this model was registered with it then. See ``verifier.receipts``.

    ``commitment`` and ``registration``, the SHA-256 of the registration proof's statement, are null where the
    weights are public.
    """

    format: Literal["zenserve receipt"] = Field(
        default="zenserve receipt", description="What this document is."
    )
    version: Version = NAMING
    model_id: str = Field(description="Names the model at the service that signed.", examples=["mdl_5d1f0c"])
    name: str = Field(description="What its owner called it.", examples=["digits"])
    commitment: Commitment | None = Field(description="To its weights; null where they are public.")
    network: Digest
    parent: Parent | None = Field(description="The model that it is a version of.")
    registration: Digest | None = Field(
        description="SHA-256 of the statement that its registration proves; null where weights are public."
    )
    registered_at: Time
    saturates: Saturates = Field(
        default=None,
        exclude_if=is_absent,
        description="True where the model takes numbers beyond the range of its calibration as the range's"
        " ends; else not there.",
    )
    issuer: Issuer
    signature: Annotated[
        str, Field(pattern=r"^[0-9a-f]{128}$", description="Ed25519 over all else.", examples=["e5" * 64])
    ]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        parent = self.parent.commitment if self.parent else None
        self._require_form({"commitment": self.commitment, "parent.commitment": parent}, {})
        return self


def as_list(numbers: int | list[int]) -> list[int]:
    """Of a statement's values, which may be a plain number."""
    return numbers if isinstance(numbers, list) else [numbers]


def canonical(value: Any) -> bytes:
    """The one JSON text of a document or of JSON-able data, as RFC 8785 has it, so that programs in any
    language hash the same bytes.

    Raises ``ValueError`` for what that does not have: integers beyond ``MOST_INTEGER``, numbers that are not
    finite, halves of surrogates.
    """
    return rfc8785.dumps(value.model_dump(mode="json") if isinstance(value, BaseModel) else value)


def key_id(system: str, key_digest: bytes, circuit: Mapping[str, Any]) -> str:
    """The id of a verification key: it covers the key, the description of what it proves, and its system, so
    that keys of two never share one. Those of the first have the ids from when there was no other.
    """
    named = {} if system == FIRST else {"system": system}
    return hashlib.sha256(canonical({"key": key_digest.hex(), "circuit": circuit} | named)).hexdigest()


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC, to the second. Raises ``ValueError`` for a time without a zone."""
    if moment.tzinfo is None:
        raise ValueError("a moment needs a time zone")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read(kind: type[DocumentKind], data: bytes | str) -> DocumentKind:
    """A document from JSON text. Raises ``FileFormatError`` (``file.json``), which names the field."""
    return checked(kind, parse(data))


def parse(data: bytes | str) -> Any:
    """``verifier.document.parse_json``. Raises ``FileFormatError`` (``file.json``)."""
    try:
        return parse_json(data)
    except ValueError as error:
        raise FileFormatError("file.json", f"the file is not JSON: {error}") from None


def checked(kind: type[DocumentKind], value: Any) -> DocumentKind:
    """A document from parsed JSON. Raises ``FileFormatError`` (``file.json``), which names the field."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        place, reason = first_fault(error)
        raise FileFormatError("file.json", f"{place or 'the file'}: {reason}", field=place or None) from None


def first_fault(error: ValidationError) -> tuple[str, str]:
    """Where the first fault is that was found, "" for the whole, and what it is. No value is quoted."""
    if error.error_count() > MOST_FAULTS:
        return "", f"{error.error_count()} fields are unknown, missing or wrong"
    first = error.errors(include_url=False, include_input=False)[0]
    return ".".join(map(str, first["loc"])).encode(errors="replace").decode(), first["msg"]
