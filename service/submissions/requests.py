"""Fields of requests, checked without a look at anything else."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema

from zenserve.circuits.schemes.intervals import MOST_BOUNDS
from zenserve.service.submissions import labels
from zenserve.verifier.beacon import MOST_ROUNDS, VALUE_BYTES
from zenserve.verifier.fields import MOST_INTEGER, OWN_NAME, Challenge, Digest, canonical
from zenserve.verifier.schemes import (
    AnyScheme,
    CommitmentKind,
    Measure,
    Norm,
    Privacy,
    PublicOrCommitted,
    PublicOrPrivate,
    Reveal,
    Scheme,
)
from zenserve.verifier.stream import MOST_BATCH, MOST_FRAMES, MOST_MODELS, MOST_SAMPLES, Rules

PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]*$"
MOST_REFERENCE: Final = 220
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=PRINTABLE)]
OwnName = Annotated[str, StringConstraints(pattern=OWN_NAME)]
"""Of one of several inputs or outputs."""
ResourceId = Annotated[str, StringConstraints(max_length=64, pattern=PRINTABLE)]
ModelReference = Annotated[str, StringConstraints(max_length=MOST_REFERENCE, pattern=PRINTABLE)]
"""An id, or NAME, NAME@VERSION, NAME@latest."""
WidthBits = Annotated[int, Field(ge=1, le=16)]
Bits = Annotated[
    str,
    StringConstraints(pattern=r"^(auto|[1-9]|1[0-6])$"),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 16}, {"const": "auto"}]}),
]
MaxLoss = Annotated[float, Field(ge=0, le=100)]
MOST = 1_000_000
MOST_DAYS = 3650
Labels = Annotated[
    dict[str, str],
    AfterValidator(labels.checked),
    Field(
        json_schema_extra={
            "maxProperties": labels.MOST,
            "propertyNames": {"pattern": labels.NAME},
            "additionalProperties": {"type": "string", "pattern": labels.VALUE},
        }
    ),
]
Cell = (
    Annotated[str, StringConstraints(max_length=10_000)]
    | bool
    | int
    | Annotated[float, Field(allow_inf_nan=False)]
    | None
)
Row = Annotated[dict[Annotated[str, StringConstraints(max_length=200)], Cell], Field(min_length=1)]
"""A cell for each column of a table, by their names."""
End = Annotated[float, Field(allow_inf_nan=False)]
EndOf = End | Annotated[dict[OwnName, End], Field(min_length=1)]
EndList = Annotated[list[End], Field(min_length=1, max_length=MOST_BOUNDS)]
EndsOf = EndList | Annotated[dict[OwnName, EndList], Field(min_length=1)]
MOST_CIRCUITS: Final = 16
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_SHA: Final = "5d" * 32


class CommitmentRequest(BaseModel):
    """Commit to an input of a model, or to the embedding that it makes of an image."""

    model_config = ConfigDict(extra="forbid")

    model_id: ModelReference = Field(
        description="The model whose input it is: its id, or NAME, NAME@VERSION.", examples=["mdl_5d1f0c"]
    )
    kind: CommitmentKind = Field(
        description="`input`: to the values themselves; `reference`: to the embedding of them.",
        examples=["input"],
    )
    values: list[Any] | Row = Field(
        description="Numbers, nested to the shape of the model's input: for a reference, an image of it. Of a"
        " model with a table, for an input, a cell for each column by its name, too."
    )
    name: OwnName | None = Field(
        default=None, description="Which input it is, of a model of several.", examples=["image"]
    )


class InputRequest(BaseModel):
    """One of several inputs: its values, or a commitment to it."""

    model_config = ConfigDict(extra="forbid")

    values: list[Any] | Row | None = Field(
        default=None, description="Numbers, nested to the shape of the input."
    )
    privacy: PublicOrPrivate | None = Field(default=None, description="Whether the proof shows them. private")
    id: ResourceId | None = Field(default=None, description="A commitment to the input, in their place.")


class Precision(BaseModel):
    """The quantisation of a network: ``zenserve.circuits.tune`` explains the fields.

    ``input_from``: the model whose output is to be the input; of several outputs, the name follows a slash.
    ``accept_difference``: take a network whose integers, or float network, differ beyond the tolerances of
    ``zenserve.circuits.comparison``.
    """

    bits: Bits = "8"
    weight_bits: WidthBits | None = None
    max_loss: MaxLoss = 1.0
    ranges: dict[str, tuple[int, int]] = {}
    input_from: str | None = None
    accept_difference: bool = False

    def asked(self, weight_privacy: Privacy | None, taken: dict[str, Any] | None = None) -> bytes:
        """JSON, as ``zenserve.circuits.tune`` takes it, and the type of the output that is ``taken``, if one
        is.
        """
        bits = None if self.bits == "auto" else int(self.bits)
        given = self.model_dump(exclude={"input_from"}) | {"bits": bits, "weight_privacy": weight_privacy}
        return canonical(given | ({"taken": taken} if taken else {}))


class TwinRequest(BaseModel):
    """Register a model's network under another proof system, too."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"system": "spartan"}]})

    system: str = Field(
        max_length=40, description="The proof system: not the model's own.", examples=["spartan"]
    )
    labels: Labels | None = Field(
        default=None, description="Names and values to find it by, 16 at most.", examples=[{"run": "17"}]
    )


class ProofRequest(BaseModel):
    """Prove what a model makes of an input or of a dataset. Each scheme takes its own fields, and no
    others.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"model_id": "mdl_5d1f0c", "input": [[0.0, 0.5, 1.0]]},
                {"model_id": "mdl_5d1f0c", "scheme": "accuracy", "dataset_id": "dst_5d1f0c"},
            ]
        },
    )

    model_id: ModelReference = Field(
        description="The registered model: its id, or NAME, NAME@VERSION, NAME@latest.",
        examples=["mdl_5d1f0c"],
    )
    system: str | None = Field(
        default=None,
        max_length=40,
        description="The proof system: the model's, unless another is named, that its twin is of.",
        examples=["spartan"],
    )
    scheme: Scheme = Field(
        default="inference", description="What is to be proven; it says which other fields there are."
    )
    challenge: Challenge | None = Field(
        default=None, description="A text of whoever asks for the proof: it ends up in the statement."
    )
    input: list[Any] | Row | None = Field(
        default=None,
        description="Numbers, nested to the shape of the model's input; or, of a model with a table, a cell"
        " for each column by its name: a number, a word, true or false, or null for a missing value.",
        examples=[{"age": 41, "city": "Hamburg", "income": None}],
    )
    input_privacy: PublicOrPrivate | None = Field(
        default=None, description="Whether the proof shows it. private"
    )
    input_id: ResourceId | None = Field(default=None, description="A commitment to the input.")
    inputs: dict[OwnName, InputRequest] | None = Field(
        default=None,
        description="Inference: of a network of several, each by its name, in the place of those.",
        examples=[{"image": {"id": "cmt_5d1f0c"}, "mask": {"values": [0, 1], "privacy": "public"}}],
    )
    reveal: Reveal | None = Field(
        default=None,
        description="Inference: what the proof shows of the output. label; values where there are no classes",
    )
    outputs: dict[OwnName, Reveal] | None = Field(
        default=None,
        description="Inference: of several outputs, what the proof shows of each that it names.",
        examples=[{"scores": "label", "boxes": "values"}],
    )
    top: int | None = Field(
        default=None,
        ge=1,
        le=MOST,
        description="How many labels, with reveal top or measure top-k; at most ten.",
    )
    fold_inputs: bool | None = Field(
        default=None,
        description="Inference: have verifiers read all public inputs as one number, which spares contracts"
        " gas.",
    )
    at_least: EndOf | None = Field(
        default=None,
        description="With reveal threshold: whether the output is this or more, in its own units; of several"
        " by their names.",
        examples=[0.5],
    )
    at_most: EndOf | None = Field(
        default=None,
        description="With reveal threshold: whether it is this or less, in the place of at_least.",
        examples=[{"score": 0.5}],
    )
    bounds: EndsOf | None = Field(
        default=None,
        description="With reveal range: between which of these the output lies, in increasing order.",
        examples=[[0.25, 0.5, 0.75]],
    )
    reference: list[Any] | None = Field(
        default=None, description="Recognition: an image; the proof shows its embedding."
    )
    reference_id: ResourceId | None = Field(
        default=None, description="Recognition: a commitment to a reference."
    )
    accept_difference: bool | None = Field(
        default=None,
        description="Prove although the integers' answer differs from the float network's beyond tolerance.",
    )
    threshold: int | None = Field(
        default=None,
        ge=0,
        le=MOST_INTEGER,
        description="Recognition: the largest squared distance of a match.",
    )
    radius: int | None = Field(
        default=None,
        ge=0,
        le=MOST_INTEGER,
        description="Robustness, and with measure certified: how far each entry may be changed, in"
        " steps of its integers.",
        examples=[8],
    )
    norm: Norm | None = Field(
        default=None,
        description="With a radius: of each entry's change, inf; of all, squared and added up, 2. inf",
    )
    dataset_id: ResourceId | None = Field(default=None, description="Accuracy: what it is about.")
    measure: Measure | None = Field(
        default=None,
        description="Accuracy: what is counted or added up. accuracy; mse of a dataset with targets",
    )
    labels: Labels | None = Field(
        default=None,
        description="Names and values to find it by, 16 at most; no part of the proof.",
        examples=[{"run": "17"}],
    )
    priority: int = Field(default=0, ge=-10, le=10, description="Among your own jobs; more is sooner.")
    deadline_seconds: int | None = Field(
        default=None, ge=1, le=MOST, description="The proof fails if it is not done by then."
    )
    expires_in_days: int | None = Field(
        default=None, ge=1, le=MOST_DAYS, description="When it is to be deleted; else the tenant's rule."
    )


class ProfileRequest(BaseModel):
    """Samples of which the models of a bank say what they see: as numbers, or in a file that was brought
    before (`PUT /v1/uploads/…`) and is named by its SHA-256, which may have their labels, too.
    """

    model_config = ConfigDict(extra="forbid")

    samples: list[Any] | None = Field(
        default=None, description="Numbers, nested: one input of the models after the other."
    )
    labels: list[int] | None = Field(
        default=None,
        min_length=1,
        max_length=MOST_SAMPLES,
        description="The class of each, of all classes equally many; not needed where the file has them.",
        examples=[[0, 1]],
    )
    samples_sha256: Digest | None = Field(
        default=None, description="SHA-256 of an upload, in the place of the samples."
    )


class StreamRequest(BaseModel):
    """Open a stream of frames over a bank of models. The numbers of its course are
    ``zenserve.verifier.stream.Rules``:
    the same ones for all frames.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "models": ["mdl_5d1f0c", "mdl_77aa01"],
                    "profile": {"samples": [[0.0, 0.5], [1.0, 0.5]], "labels": [0, 1]},
                    "deadline_seconds": 60,
                }
            ]
        },
    )

    models: list[ModelReference] = Field(
        min_length=1,
        max_length=MOST_MODELS,
        description="Registered models of a bank (`zenserve.circuits.priors`), the most accurate one first,"
        " and each cheaper to prove than the one before.",
    )
    profile: ProfileRequest = Field(description="By which a model is chosen for the classes that are seen.")
    name: Name = Field(default="unnamed", description="What to call it.", examples=["gate 3"])
    rules: Rules = Field(default=Rules(), description="The numbers of its course (docs/streams.md).")
    challenge: Challenge | None = Field(
        default=None, description="A text of whoever asks for the stream: its chain begins with it."
    )
    input_privacy: PublicOrPrivate = Field(default="private", description="Whether proofs show the frames.")
    deadline_seconds: int | None = Field(
        default=None,
        ge=1,
        le=MOST,
        description="A frame that is not proven so long after it was handed in is missed.",
    )
    backlog: int = Field(
        default=16, ge=1, le=1000, description="How many frames may wait or be proven at once."
    )
    batch_seconds: int | None = Field(
        default=None,
        ge=1,
        le=MOST,
        description="Where the rules have a `batch`: how long a frame waits for the others of its batch, but"
        " no longer than half of its deadline. 10, unless it is given.",
    )
    labels: Labels | None = Field(
        default=None,
        description="Names and values to find it by, 16 at most; no part of its proofs.",
        examples=[{"gate": "3"}],
    )
    priority: int = Field(default=0, ge=-10, le=10, description="Among your own jobs; more is sooner.")


class FrameRequest(BaseModel):
    """The next frame of a stream."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"number": 0, "input": [0.0, 0.5]}]}
    )

    number: int = Field(ge=0, lt=MOST_FRAMES, description="Its place, from 0: none is left out.")
    input: list[Any] = Field(description="Numbers, nested to the shape of the models' input.")


class CircuitRequest(BaseModel):
    """A circuit of a model: by its scheme and what tells it from others, or by a key that it has."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"scheme": "inference", "reveal": "label"}]}
    )

    scheme: AnyScheme | None = Field(default=None, description="What its proofs prove.")
    input_privacy: Privacy | dict[OwnName, Privacy] | None = Field(
        default=None,
        description="Inference, recognition: whether proofs show their input, of several by their names."
        " private",
        examples=[{"image": "committed", "mask": "public"}],
    )
    reveal: Reveal | None = Field(
        default=None,
        description="Inference: what proofs show of the output. label; values where there are no classes",
    )
    outputs: dict[OwnName, Reveal] | None = Field(
        default=None,
        description="Inference: of several outputs, what proofs show of each that it names.",
        examples=[{"scores": "label", "boxes": "values"}],
    )
    top: int | None = Field(
        default=None, ge=1, description="How many labels, with reveal top or measure top-k."
    )
    bounds: int | None = Field(
        default=None, ge=1, le=MOST_BOUNDS, description="How many bounds, with reveal range."
    )
    batch: int | None = Field(
        default=None, ge=2, le=MOST_BATCH, description="Inference: frames in one proof, of a bank's model."
    )
    fold_inputs: bool | None = Field(
        default=None, description="Inference: whether verifiers read all public inputs as one number."
    )
    measure: Measure | None = Field(
        default=None, description="Accuracy: what is counted or added up. accuracy"
    )
    norm: Norm | None = Field(default=None, description="Robustness, measure certified: of the radius. inf")
    reference_privacy: PublicOrCommitted | None = Field(
        default=None, description="Recognition: whether proofs show the reference. public"
    )
    shard_size: int | None = Field(
        default=None, ge=1, le=MOST, description="Accuracy: samples in one proof, as the dataset has it."
    )
    verification_key_id: ResourceId | None = Field(
        default=None, description="A key of the circuit, in the place of all that."
    )


class CeremonyRequest(BaseModel):
    """Open a ceremony for the keys of circuits of one model."""

    model_config = ConfigDict(extra="forbid")

    model_id: ModelReference = Field(
        description="The registered model: its id, or NAME, NAME@VERSION.", examples=["mdl_5d1f0c"]
    )
    name: Name = Field(description="What to call it.", examples=["digits, for production"])
    circuits: list[CircuitRequest] = Field(
        min_length=1,
        max_length=MOST_CIRCUITS,
        description="Whose keys are to be made; contributors share in all of them at once.",
    )


class CloseRequest(BaseModel):
    """Announce the public randomness that will close a ceremony."""

    model_config = ConfigDict(extra="forbid")

    beacon: Name = Field(
        description="Which value it will be, of a source that anybody can look up later.",
        examples=["drand quicknet, round 12345678"],
    )
    rounds: int = Field(
        default=10, ge=0, le=MOST_ROUNDS, description="The value is hashed 2^rounds times.", examples=[10]
    )


class FinishRequest(BaseModel):
    """The value that was announced, now that everybody knows it."""

    model_config = ConfigDict(extra="forbid")

    value: Sha256 = Field(description=f"{VALUE_BYTES} bytes in hex.", examples=["5a" * VALUE_BYTES])
    development: bool = Field(
        default=False,
        description="Make keys although nobody contributed to the powers of tau: they say `development`.",
    )


class HandedStateRequest(BaseModel):
    """The state of a circuit after one's contribution, and the one that it extends."""

    model_config = ConfigDict(extra="forbid")

    extends: Sha256 = Field(description="SHA-256 of the state that was contributed to.", examples=[_SHA])
    sha256: Sha256 = Field(description="Of the upload with the new state.", examples=["6e" * 32])


class ContributionRequest(BaseModel):
    """Hand in a contribution to all circuits of a ceremony."""

    model_config = ConfigDict(extra="forbid")

    states: list[HandedStateRequest] = Field(
        min_length=1, max_length=MOST_CIRCUITS, description="One for each circuit, in their order."
    )
