"""The documents that are handed on: statements, proofs, keys, openings and receipts.

Since version 3 each names the proof system that it is of, which says how long its commitments are and what
opens them. Documents of before name none: they are of the first system, Groth16, and go on being read.

Each has one meaning however it is spelled out in JSON: unknown fields, numbers for strings, upper-case hex
and fields given twice are refused, so that whatever a document's hash does not cover cannot be there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Annotated, Any, Final, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from zenserve.errors import FileFormatError
from zenserve.verifier.document import parse_json
from zenserve.verifier.fields import (
    MOST_NAMES,
    MOST_SHARDS,
    Challenge,
    Commitment,
    Digest,
    Document,
    Integers,
    Issuer,
    Kind,
    Name,
    Opening,
    Size,
    Time,
    Values,
    canonical,
    is_absent,
)
from zenserve.verifier.registry import FIRST, SYSTEMS
from zenserve.verifier.schemes import OUTPUT, AnyScheme
from zenserve.verifier.system import CommitmentScheme, VerifyingSystem

MOST_SUM_OPENING: Final = 1 << 23
"""Hex digits: 64 bytes a shard."""
MOST_SENTENCES: Final = 32
"""The most sentences in ``does_not_say`` of a statement."""
MOST_TWINS: Final = 64
"""Of a receipt."""
MOST_FAULTS: Final = 100
"""The most faults that are examined one by one. Only an object with as many unknown fields has more."""

DocumentKind = TypeVar("DocumentKind", bound=BaseModel)


def _is_installed(system: str) -> str:
    if system not in SYSTEMS:
        raise ValueError(
            f"no proof system {system!r} is known here, but {', '.join(SYSTEMS)}: a newer program may know it"
        )
    return system


# Not Literal, for which 1.0 and true pass as well.
def _one_of(*versions: int) -> AfterValidator:
    def check(found: int) -> int:
        if found not in versions:
            *earlier, last = map(str, versions)
            raise ValueError(f"this program reads versions {', '.join(earlier)} and {last}")
        return found

    return AfterValidator(check)


NAMING: Final = 3
"""The version since which documents name their proof system."""
Version = Annotated[
    int, _one_of(1, NAMING), Field(description="Of the format.", json_schema_extra={"enum": [1, NAMING]})
]
SinceTwo = Annotated[
    int, _one_of(2, NAMING), Field(description="Of the format.", json_schema_extra={"enum": [2, NAMING]})
]
LISTING: Final = 4
"""The version of receipts that list twins."""
SinceTwins = Annotated[
    int,
    _one_of(1, NAMING, LISTING),
    Field(description="Of the format.", json_schema_extra={"enum": [1, NAMING, LISTING]}),
]


def _is_true(value: object) -> object:
    if value is not True:
        raise ValueError("it is true, or not there")
    return value


Saturates = Annotated[Literal[True] | None, BeforeValidator(_is_true)]
"""A flag, true or absent. If true, the model clips inputs to the range of its calibration."""

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
            raise ValueError("documents from version 3 on alone name their system and commitment_scheme")
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
            _require_length(place, commitment, scheme)
        for place, opening in openings.items():
            if opening is not None:
                try:
                    scheme.check_form(opening)
                except FileFormatError as error:
                    raise ValueError(f"{place}: not an opening of {scheme.id}: {error.message}") from None


def _require_length(place: str, commitment: str | None, scheme: CommitmentScheme) -> None:
    if commitment is not None and len(commitment) != 2 * scheme.commitment_bytes:
        raise ValueError(f"{place}: a commitment of {scheme.id} has {scheme.commitment_bytes} bytes, in hex")


def named(system: VerifyingSystem) -> dict[str, Any]:
    """Return the fields by which documents made now name the proof system."""
    return {"version": NAMING, "system": system.id, "commitment_scheme": system.commitments.id}


class KeyReference(Document):
    """The verification key that a proof is for. ``id`` covers the key and its meaning (``key_id``)."""

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
    """The dataset of an accuracy. ``sha256``: of its content (``zenserve.verifier.datasets``), null if it is
    private.

    ``picked_for``: the commitment of the model that the dataset was picked for, after seeing it;
    ``blinding``: the opening of the sum of all ``correct`` to the totals, in the commitment scheme's form.
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
    """The statement that a proof shows to be true. Made by ``words.make_statement``; its hash, a public input
    of the proof, covers the proof system, too.
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
    """The openings of a committed input or reference, or of a private dataset, shard by shard, for those who
    know the values; or of a committed output, for its readers.

    As secret as the values: with an opening, guesses of the values can be checked.
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


class Twin(Document):
    """The same network as another model's, under another proof system. ``commitment`` is null where its
    weights are public.
    """

    system: SystemId = Field(description="The proof system that it is of.", examples=[FIRST])
    model_id: str = Field(description="Names it at the service that signed.", examples=["mdl_5d1f0c"])
    commitment: Commitment | None = Field(description="To its weights; null where they are public.")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _require_length("commitment", self.commitment, SYSTEMS[self.system].commitments)
        return self


class Receipt(OfSystem):
    """Signed by the service: this model was registered with it then. See ``zenserve.verifier.receipts``.

    ``commitment`` and ``registration``, the SHA-256 of the registration proof's statement, are null where the
    weights are public.
    """

    format: Literal["zenserve receipt"] = Field(
        default="zenserve receipt", description="What this document is."
    )
    version: SinceTwins = NAMING
    model_id: str = Field(description="Names the model at the service that signed.", examples=["mdl_5d1f0c"])
    name: str = Field(description="What its owner called it.", examples=["digits"])
    commitment: Commitment | None = Field(description="To its weights; null where they are public.")
    network: Digest
    parent: Parent | None = Field(description="The model that it is a version of.")
    twins: list[Twin] | None = Field(
        default=None,
        exclude_if=is_absent,
        min_length=1,
        max_length=MOST_TWINS,
        description="The models of the same network that were registered before, under other proof systems;"
        " not there where there are none.",
        examples=[None],
    )
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
        named = "twins" in self.model_fields_set
        if named != (self.version == LISTING) or named != (self.twins is not None):
            raise ValueError(f"receipts of version {LISTING}, and no others, have twins")
        return self


def key_id(system: str, key_digest: bytes, circuit: Mapping[str, Any]) -> str:
    """The id of a verification key: it covers the key, the description of what it proves, and its system, so
    that keys of two never share one. Those of the first have the ids from when there was no other.
    """
    named = {} if system == FIRST else {"system": system}
    return hashlib.sha256(canonical({"key": key_digest.hex(), "circuit": circuit} | named)).hexdigest()


def read(kind: type[DocumentKind], data: bytes | str) -> DocumentKind:
    """A document from JSON text. Raises ``FileFormatError`` (``file.json``), which names the field."""
    fields = parse(data)
    if kind is KeyFile and isinstance(fields, dict) and "statement" in fields:
        raise FileFormatError("file.json", "this is the file of a proof: name that of its key here")
    return checked(kind, fields)


def parse(data: bytes | str) -> Any:
    """``zenserve.verifier.document.parse_json``. Raises ``FileFormatError`` (``file.json``)."""
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
    """Return the place of the first fault found, "" for the whole document, and a message without values."""
    if error.error_count() > MOST_FAULTS:
        return "", f"{error.error_count()} fields are unknown, missing or wrong"
    first = error.errors(include_url=False, include_input=False)[0]
    return place(first["loc"]), said(first["msg"])


def place(parts: Iterable[str | int]) -> str:
    """Return the names of a fault's place, joined by dots, down to the first field of several types."""
    names = takewhile(lambda part: not (isinstance(part, str) and "[" in part), parts)
    return ".".join(map(str, names)).encode(errors="replace").decode()


def said(message: str) -> str:
    """A fault's message, without what pydantic sets before one of ours."""
    return message.removeprefix("Value error, ")
