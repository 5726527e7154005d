"""The JSON that goes in and out of the API. Documents handed on are ``zenserve.verifier.documents``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field

from zenserve.service.documents import missed
from zenserve.service.jobs import progress
from zenserve.service.settings import QueueName
from zenserve.service.storage.database import now
from zenserve.service.storage.paging import Page, Row
from zenserve.service.storage.records.accounts import Upload
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Commitment, Dataset, Model, Proof
from zenserve.service.storage.records.streams import Frame, Stream
from zenserve.service.submissions.requests import ResourceId
from zenserve.verifier.description import Group
from zenserve.verifier.documents import KeyFile, ProofDocument
from zenserve.verifier.expected import Expected
from zenserve.verifier.fields import Opening
from zenserve.verifier.registry import FIRST
from zenserve.verifier.schemes import (
    Compared,
    HeldKind,
    Measure,
    PublicOrCommitted,
    PublicOrPrivate,
    Scheme,
    kind_of,
)

Item = TypeVar("Item")
State = Literal["queued", "running", "succeeded", "failed", "canceled"]


class Cause(BaseModel):
    """Why a job, or one attempt at it, failed. ``code`` is stable."""

    code: str = Field(description="Stable: what programs may rely on.", examples=["resource.worker_lost"])
    detail: str = Field(
        description="What happened, and what helps; for people.",
        examples=["worker lost during attempt 3: its heartbeat stopped"],
    )
    field: str | None = Field(
        default=None, description="The field of the request at fault, if one is.", examples=["input"]
    )


class Failure(Cause):
    """The cause of one attempt that did not end well."""

    attempt: int = Field(description="Which attempt it was.", examples=[1])
    at: datetime = Field(description="When it ended.", examples=["2026-11-22T10:00:00Z"])


class ContractCall(BaseModel):
    """A call to a contract, as its `verify(bytes proof, uint256[] inputs)` takes it."""

    proof: str = Field(description="Points of the proof, uncompressed: hex behind 0x.", examples=["0x00"])
    inputs: list[str] = Field(description="Public inputs, in decimal.", examples=[["41", "7"]])
    calldata: str = Field(description="The encoded call: hex behind 0x.", examples=["0x9649daae"])
    gas: int = Field(description="About what a transaction takes, all in all.", examples=[443_096])


class ContractCalls(BaseModel):
    """Of a proof, one call for each of its shards."""

    calls: list[ContractCall] = Field(description="In the order of the shards.")


class Listing(BaseModel, Generic[Item]):
    """One page of a list, newest first."""

    items: list[Item] = Field(description="At most `limit` of them.")
    next_cursor: str | None = Field(
        description="Give it as `cursor` for the next page; null on the last.", examples=["MTc2Mzg="]
    )


def listing(page: Page[Row], view: Callable[[Row], Item]) -> Listing[Item]:
    """A page as it is answered, each of its rows as ``view`` shows it."""
    return Listing(items=[view(row) for row in page.rows], next_cursor=page.next_cursor)


class JobView(BaseModel):
    """The state and the progress of a job."""

    id: str = Field(
        description="Names it from now on: `mdl_…`, `dst_…`, `prf_…` or `str_…`.", examples=["prf_5d1f0c"]
    )
    tenant_id: str = Field(description="Whose it is.", examples=["tnt_5d1f0c"])
    state: State = Field(
        description="Over for good with `succeeded`, `failed` or `canceled`.", examples=["succeeded"]
    )
    revision: int = Field(description="Grows with every change.", examples=[9])
    stage: str | None = Field(
        description="What is being done; `shards` or `frames` while a proof or a stream waits for those.",
        examples=["done"],
    )
    percent: float = Field(description="How much of this stage is done.", examples=[100.0])
    overall_percent: float | None = Field(
        description="How much of the whole work is done, once it is known.", examples=[100.0]
    )
    eta_seconds: float | None = Field(
        description="How long it will still take, once it is known.", examples=[0.0]
    )
    eta_setup_seconds: float | None = Field(
        description="How much of that is for keys that are not there yet; 0 where they are.", examples=[0.0]
    )
    labels: dict[str, str] = Field(
        description="What whoever asked for it finds it by: names and their values.", examples=[{"run": "17"}]
    )
    priority: int = Field(description="Among the jobs of its tenant; more is sooner.", examples=[0])
    queue: QueueName = Field(
        description="Which workers may take it: those with a GPU, or all.", examples=["cpu"]
    )
    deadline_at: datetime | None = Field(description="It fails if it is not over by then.", examples=[None])
    expires_at: datetime | None = Field(description="It is deleted then.", examples=[None])
    attempt: int = Field(
        description="Grows when a job is taken up again after a worker was lost.", examples=[1]
    )
    cancel_requested: bool = Field(description="Whether somebody asked to stop it.", examples=[False])
    created_at: datetime = Field(description="When it was asked for.", examples=["2026-11-22T10:00:00Z"])
    started_at: datetime | None = Field(
        description="When a worker first took it.", examples=["2026-11-22T10:00:00Z"]
    )
    finished_at: datetime | None = Field(description="When it was over.", examples=["2026-11-22T10:00:00Z"])
    timings: dict[str, float] = Field(
        description="Seconds per stage, for the owner of the job.",
        examples=[{"witness": 0.36, "msm_a": 0.88}],
    )
    problem: Cause | None = Field(description="Why the job failed.", examples=[None])
    failures: list[Failure] = Field(
        description="The cause of every attempt that did not end well.", examples=[[]]
    )


class Milestone(BaseModel):
    """A change of a job's state or stage, as it was then."""

    model_config = ConfigDict(from_attributes=True)

    job_id: str = Field(description="Whose state or stage changed.", examples=["prf_5d1f0c"])
    revision: int = Field(description="The one that the change made.", examples=[7])
    at: datetime = Field(description="When it changed.", examples=["2026-11-22T10:00:00Z"])
    state: State = Field(description="The state then.", examples=["running"])
    stage: str | None = Field(description="The stage then.", examples=["msm_a"])
    attempt: int = Field(description="The attempt then.", examples=[1])


class ModelSummary(JobView):
    """A registered model, as lists show it."""

    name: str = Field(description="What its owner calls it.", examples=["digits"])
    version: int = Field(description="Its number among the models of this name.", examples=[2])
    system: str = Field(description="The proof system that proves what it computes.", examples=[FIRST])
    weight_privacy: PublicOrCommitted = Field(
        description="Whether everybody may know the weights, or proofs are about a commitment to them.",
        examples=["committed"],
    )
    bits: int = Field(description="Precision of its quantised tensors, the most that one has.", examples=[8])
    parent_id: str | None = Field(description="The model that this is a new version of.")
    network: str | None = Field(
        description="SHA-256 of the network, or of its architecture where the weights are committed."
    )
    commitment: str | None = Field(description="48 bytes in hex, where the weights are committed.")
    setup: str | None = Field(
        description="Who made that key: `development`, one party, which could have kept the power to forge"
        " proofs; `ceremony`, several.",
        examples=["development"],
    )
    verification_key_id: str | None = Field(description="Of proofs of a private input's label.")
    require_ceremony: bool = Field(
        description="Whether proofs of it are made with keys of a ceremony alone.", examples=[False]
    )
    saturate: bool = Field(
        description="Whether inputs beyond its calibration are taken as the ends of that range, not refused.",
        examples=[False],
    )
    accept_difference: bool = Field(
        description="Whether proofs are made however far its integers' answers are from its float network's.",
        examples=[False],
    )


class Difference(BaseModel):
    """The difference between two successive steps from the model to the integers, on the same samples.

    No part of it is proven.
    """

    stage: Literal["export", "import", "quantisation"] = Field(
        description="`import`: the float network that was read from the file; `quantisation`: the integers.",
        examples=["quantisation"],
    )
    reference: str = Field(description="What they are compared with.", examples=["the float network"])
    samples: int = Field(description="How many inputs were compared.", examples=[16])
    output: str = Field(description="The output that is furthest off.", examples=["logits"])
    measure: Literal["label", "value"] = Field(
        description="Whether samples are compared by their first labels or by values.", examples=["label"]
    )
    error: float = Field(
        description="Of values the largest error, as a share of the output's range, zero included; of labels"
        " the share of the samples with others.",
        examples=[0.0],
    )
    differing: float = Field(description="The share of the samples beyond tolerance.", examples=[0.0])
    node: str | None = Field(description="Where the two part first; null within tolerance.", examples=[None])


class ModelChange(BaseModel):
    """The changes to a model."""

    model_config = ConfigDict(extra="forbid")

    require_ceremony: bool = Field(
        description="Whether proofs of it are made with keys of a ceremony alone.", examples=[True]
    )


class Histogram(BaseModel):
    """The number of a tensor's values in each bin, from `start` on."""

    start: float = Field(description="Where the first bin begins.", examples=[-0.5])
    width: float = Field(description="Of each bin: some whole steps.", examples=[1.0])
    floats: list[int] = Field(description="Of the values in floats.", examples=[[3, 1]])
    integers: list[int] = Field(description="Of what the integers stand for.", examples=[[2, 2]])


class Errors(BaseModel):
    """The errors of values against the expected values."""

    mse: float = Field(description="The mean squared error.", examples=[0.01])
    mae: float = Field(description="The mean absolute error.", examples=[0.08])
    r2: float | None = Field(description="R²; null where all values are one.", examples=[0.99])


class OutputReport(BaseModel):
    """An output of the quantised network beside the same one in floats."""

    name: str = Field(description="As the network's file has it.", examples=["logits"])
    size: int = Field(description="How many values it is of.", examples=[10])
    agreement: float | None = Field(
        description="How often the largest is the same one; null where it is no class.", examples=[0.995]
    )
    confusion: list[list[int]] | None = Field(
        description="How often which class was taken for which: a row for each class in floats, a column for "
        "each in integers; null for many classes.",
        examples=[[[9, 1], [0, 10]]],
    )
    errors: Errors | None = Field(description="Of the integers' values beside the floats'.")
    points: list[tuple[float, float]] = Field(
        description="Some values in floats and in integers.", examples=[[[0.25, 0.26]]]
    )
    float_loss: Errors | None = Field(description="Of the floats beside targets, if there are any.")
    loss: Errors | None = Field(description="Of the integers beside targets, if there are any.")


class TensorReport(BaseModel):
    """A tensor of the quantised network beside the same one in floats, on the calibration."""

    name: str = Field(description="As the network's file has it.", examples=["fc1"])
    operator: str = Field(description="What makes it; `input` of the input.", examples=["Dense"])
    bits: int = Field(description="Precision of its integers.", examples=[8])
    low: float = Field(description="The least of the float values.", examples=[0.0])
    high: float = Field(description="The largest of them.", examples=[41.7])
    least: float = Field(description="The least that the integers stand for.", examples=[0.0])
    greatest: float = Field(description="The largest that they stand for.", examples=[41.8])
    function: str | None = Field(
        default=None, description="The function that a table makes it by.", examples=["sigmoid(x)"]
    )
    rounding: float | None = Field(
        default=None, description="How far the table is from that at most, in steps.", examples=[0.5]
    )
    snr: float | None = Field(default=None, description="Signal-to-noise ratio in dB.", examples=[46.1])
    worst: float | None = Field(default=None, description="The largest error, in steps.", examples=[0.9])
    saturated: float | None = Field(
        default=None, description="The share of values beyond what the integers stand for.", examples=[0.0]
    )
    histogram: Histogram | None = Field(
        default=None, description="How its values are spread; null for models of older services."
    )


class TunedLayer(BaseModel):
    """The bits of a tensor and of the weights that make it."""

    name: str = Field(description="As the network's file has it.", examples=["dense1"])
    operator: str = Field(description="What makes it; `input` of the input.", examples=["Dense"])
    bits: int | None = Field(description="Of the tensor; null of sums without a type.", examples=[8])
    weight_bits: int | None = Field(description="Null where there are no weights.", examples=[6])
    why: str = Field(
        description="Why not fewer; empty where bits were given.", examples=["a bit less loses 0.7 %"]
    )


class Tuning(BaseModel):
    """The calibration and the bits that were chosen, and their loss on the calibration data."""

    method: str = Field(description="How ranges were taken.", examples=["mse"])
    per_channel: bool = Field(
        description="Whether weights have a scale for each output channel.", examples=[True]
    )
    measure: str = Field(description="What loss is of: accuracy, agreement or values.", examples=["accuracy"])
    loss: float = Field(description="In percent.", examples=[0.2])
    max_loss: float | None = Field(
        description="What was allowed; null where bits were given.", examples=[0.5]
    )
    constraints: int = Field(description="Of the default proof.", examples=[53926])
    samples: int = Field(description="So many were compared.", examples=[100])
    trials: int = Field(description="So often it was quantised.", examples=[40])
    layers: list[TunedLayer] = Field(description="In the order of the network, its input first.")


class QuantisationReport(BaseModel):
    """The effects of quantisation on the network, measured on the calibration.

    Accuracies are given where the calibration came with labels of classes.
    """

    images: int = Field(description="How many samples the calibration has.", examples=[200])
    float_accuracy: float | None = Field(
        default=None, description="Of the network in floats.", examples=[0.99]
    )
    accuracy: float | None = Field(
        default=None, description="Of the quantised network, of 1.", examples=[0.985]
    )
    agreement: float | None = Field(
        default=None, description="How often both say the same.", examples=[0.995]
    )
    drop: float | None = Field(
        default=None, description="What quantisation costs in accuracy.", examples=[0.005]
    )
    warning: str | None = Field(default=None, description="What to do where that is more than a percent.")
    outputs: list[OutputReport] = Field(
        default_factory=list, description="Of the network; none for models of older services."
    )
    tensors: list[TensorReport] = Field(description="In the order of the network, its input first.")
    tuning: Tuning | None = Field(
        default=None, description="How bits and calibration were chosen; null for models of older services."
    )
    differences: list[Difference] = Field(
        default_factory=list,
        description="How far the file, the float network and the integers are apart; none for models of older"
        " services.",
    )


class TwinView(BaseModel):
    """A model of the same network, under another proof system."""

    id: str = Field(description="The twin's own.", examples=["mdl_5d1f0c"])
    system: str = Field(description="The proof system that it is of.", examples=["spartan-bls12-381"])
    commitment: str | None = Field(description="In hex, where the weights are committed.")


class ModelView(ModelSummary):
    """A registered model."""

    twins: list[TwinView] = Field(
        description="The registered models of its network under other proof systems.", examples=[[]]
    )
    report: QuantisationReport | None = Field(
        description="What quantisation did, on the calibration; null for models of older services."
    )
    registration_key_id: str | None = Field(description="Of the registration's proof.")
    table: dict[str, Any] | None = Field(
        default=None,
        description="Of a model of a table, what its columns and classes are called, and which preparation of"
        " the columns is not proven; null where its file does not say.",
        examples=[{"columns": [{"name": "age"}], "classes": ["approve", "decline"]}],
    )
    description: dict[str, Any] | None = Field(
        description="Architecture, quantisation and constraint counts per layer, once it is registered."
    )


class CommitmentView(BaseModel):
    """A commitment. Proofs about what it is to name it by its id."""

    id: str = Field(description="Names it in requests for proofs.", examples=["cmt_5d1f0c"])
    model_id: str = Field(description="The model whose input it is.", examples=["mdl_5d1f0c"])
    kind: HeldKind = Field(
        description="What it is to: an `input`, or the embedding of a `reference`.", examples=["input"]
    )
    commitment: str = Field(description="48 bytes in hex.", examples=["8f" * 48])
    created_at: datetime = Field(description="When it was made.", examples=["2026-11-22T10:00:00Z"])


class ShardView(BaseModel):
    """A part of a dataset. Its opening is public as the dataset is."""

    size: int = Field(description="How many samples are in it.", examples=[100])
    commitment: str = Field(description="To its samples and labels: 48 bytes in hex.", examples=["8f" * 48])
    opening: Opening | None = Field(
        description="What shows what the commitment is to; null where the dataset is private."
    )


class DatasetSummary(JobView):
    """Labelled samples, as lists show them."""

    model_id: str = Field(description="The model whose inputs the samples are.", examples=["mdl_5d1f0c"])
    name: str = Field(description="What its owner calls it.", examples=["held-out digits"])
    privacy: PublicOrPrivate = Field(
        description="Whether proofs say which dataset it is.", examples=["public"]
    )
    size: int = Field(description="How many samples it has.", examples=[100])
    sha256: str | None = Field(description="Of the content; null where it is private.")
    compared: Compared = Field(
        description="What its samples have, which says what can be measured.", examples=["labels"]
    )
    output: str | None = Field(
        default=None,
        description="Which output of the network these are of, where there are several.",
        examples=["probabilities"],
    )
    picked_for: str | None = Field(description="The model's commitment, which was there before.")
    measure: Measure | None = Field(
        default=None, description="What was said to be measured on it.", examples=[None]
    )
    shard_size: int | None = Field(description="Samples in one proof.")


class DatasetView(DatasetSummary):
    """Labelled samples, committed in shards."""

    shards: list[ShardView] | None = Field(description="Its parts, once they are committed to.")


class ProofView(JobView):
    """A proof, from the request to the result."""

    model_id: str = Field(description="The model that it is about.", examples=["mdl_5d1f0c"])
    system: str = Field(description="The proof system that proves it: its model's.", examples=[FIRST])
    scheme: Scheme = Field(description="What it proves.", examples=["inference"])
    dataset_id: str | None = Field(description="What an accuracy is on.", examples=[None])
    challenge: str | None = Field(
        description="The text that whoever asked for it gave.", examples=["for Ada"]
    )
    verification_key_id: str | None = Field(
        description="The key that it verifies with, once it is there.", examples=["5d" * 32]
    )
    label: int | None = Field(description="The class that the network chose.", examples=[7])
    class_name: str | None = Field(
        default=None,
        description="What the model's table calls that class, which nothing proves. Not in lists.",
        examples=["approve"],
    )
    unproven: str | None = Field(
        default=None,
        description="What was done to the table's columns before the network, and is not proven. Not in"
        " lists.",
        examples=[None],
    )
    values: dict[str, int | list[int]] | None = Field(
        description="All that the proof shows, by name.", examples=[{"label": 7}]
    )
    claim: str | None = Field(
        default=None,
        description="What the proof says, in the words of its statement. Not in lists.",
        examples=["The label is 7."],
    )
    logits: list[float] | None = Field(
        default=None,
        description="What the integers in `values.logits` stand for, where they are shown. Not in lists.",
        examples=[None],
    )
    output_ids: dict[str, str] | None = Field(
        default=None,
        description="The commitments to outputs that it published, by their names in the statement, once it"
        " succeeded.",
        examples=[None],
    )
    outputs: list[float] | None = Field(
        default=None,
        description="What the integers in `values.values` stand for, where they are shown and have one scale."
        " Not in lists.",
        examples=[None],
    )
    difference: Difference | None = Field(
        default=None,
        description="How far the integers' answer to this input is from the float network's. Not in lists.",
    )


class StreamView(JobView):
    """A stream of frames. It is `running`, at the stage `frames`, while it takes some."""

    name: str = Field(description="What its owner calls it.", examples=["gate 3"])
    models: list[str] = Field(
        description="Its bank, the most accurate model first.", examples=[["mdl_5d1f0c", "mdl_77aa01"]]
    )
    classes: int = Field(description="How many the models tell apart.", examples=[10])
    input_privacy: PublicOrPrivate = Field(
        description="Whether proofs show the frames.", examples=["private"]
    )
    deadline_seconds: int | None = Field(
        description="A frame that is not proven so long after it was handed in is missed.", examples=[60]
    )
    backlog: int = Field(description="How many frames may wait or be proven at once.", examples=[16])
    batch: int | None = Field(
        description="So many frames in a row may have one proof; null where each has its own.", examples=[4]
    )
    batch_seconds: int | None = Field(
        description="How long a frame waits for the others of its batch.", examples=[10]
    )
    begun_at: datetime | None = Field(
        description="Since when it takes frames: the keys are there.", examples=["2026-11-22T10:00:00Z"]
    )
    challenge: str | None = Field(
        description="The text that whoever asked for it gave.", examples=["for Ada"]
    )
    head: str | None = Field(
        description="Of its bank, rules, challenge and beginning: what its chain begins with.",
        examples=["5d" * 32],
    )
    ended_at: datetime | None = Field(description="Since when it takes no more.", examples=[None])
    frames: int = Field(description="How many were handed in; the next one's number.", examples=[120])
    frames_over: int = Field(
        description="How many of these are proven or missed, of the first ones without a gap.", examples=[117]
    )


class FrameView(BaseModel):
    """A frame, and what its proof says."""

    number: int = Field(description="Its place in the stream, from 0.", examples=[7])
    proof_id: str = Field(description="The proof, as any other.", examples=["prf_5d1f0c"])
    state: State = Field(description="The proof's.", examples=["succeeded"])
    missed: str | None = Field(
        description="Why there is no proof, as the stream's chain says: `deadline`, …", examples=[None]
    )
    model_id: str | None = Field(
        description="The model that the labels before it asked for, once it is proven.",
        examples=["mdl_77aa01"],
    )
    label: int | None = Field(description="The class that it was given.", examples=[3])
    seen: int | None = Field(
        description="The class that the model sees without a prior: the course follows this.", examples=[3]
    )
    created_at: datetime = Field(description="When it was handed in.", examples=["2026-11-22T10:00:00Z"])
    finished_at: datetime | None = Field(
        description="When it was proven or missed.", examples=["2026-11-22T10:00:01Z"]
    )
    batch: int | None = Field(
        description="The first frame of those that its proof is of; null where that is of no other.",
        examples=[4],
    )
    seconds: float = Field(description="What its proof took a worker; of a batch its share.", examples=[0.31])


class VerifyRequest(BaseModel):
    """A proof to verify, and the key to verify it with: by id, inline, or by the document's own word."""

    model_config = ConfigDict(extra="forbid")

    proof: ProofDocument = Field(description="The proof, as it was handed on.")
    verification_key_id: ResourceId | None = Field(
        default=None,
        description="The key to verify it with, by its id; else the document's own word counts.",
        examples=["5d" * 32],
    )
    verification_key: KeyFile | None = Field(
        default=None, description="A key file, as it is handed on.", examples=[None]
    )
    expected: Expected = Field(
        default=Expected(), description="What you know from elsewhere, to be found in the statement."
    )
    registration: ProofDocument | None = Field(
        default=None,
        description="The registration of a committed model, to be verified with the proof.",
        examples=[None],
    )
    registration_key: KeyFile | None = Field(
        default=None,
        description="The registration's key; else the one that it names counts.",
        examples=[None],
    )


class UploadView(BaseModel):
    """A file that was brought ahead of the request that names it."""

    sha256: str = Field(
        description="Of the file, in hex: what later requests name it by.", examples=["5d" * 32]
    )
    size: int = Field(description="Of the file, in bytes.", examples=[26214400])
    expires_at: datetime = Field(
        description="It is deleted then, used or not.", examples=["2026-11-22T10:00:00Z"]
    )


def job_fields(job: Job) -> dict[str, Any]:
    seen = progress.overall(job, now())
    names = JobView.model_fields.keys() - {"labels", "overall_percent", "eta_seconds", "eta_setup_seconds"}
    return {name: getattr(job, name) for name in names} | {
        "labels": job.labels or {},
        "overall_percent": seen.percent,
        "eta_seconds": seen.eta_seconds,
        "eta_setup_seconds": seen.setup_seconds,
    }


def model_summary(model: Model) -> ModelSummary:
    return ModelSummary(**_model_fields(model))


def model_view(model: Model, twins: Sequence[Model]) -> ModelView:
    key = model.registration["statement"]["verification_key"]["id"] if model.registration else None
    return ModelView(
        **_model_fields(model),
        twins=[TwinView(id=each.id, system=each.system, commitment=each.commitment) for each in twins],
        report=QuantisationReport.model_validate(model.report) if model.report else None,
        registration_key_id=key,
        table=model.table,
        description=model.verification_key.circuit if model.verification_key else None,
    )


def commitment_view(commitment: Commitment) -> CommitmentView:
    return CommitmentView(**{name: getattr(commitment, name) for name in CommitmentView.model_fields})


def dataset_summary(dataset: Dataset) -> DatasetSummary:
    return DatasetSummary(**_dataset_fields(dataset))


def dataset_view(dataset: Dataset, openings: list[Opening] | None) -> DatasetView:
    """``openings``: one for each shard, where they are for all to see."""
    shown = [
        ShardView(**shard, opening=openings[index] if openings else None)
        for index, shard in enumerate(dataset.shards or [])
    ]
    return DatasetView(**_dataset_fields(dataset), shards=shown if dataset.shards else None)


def proof_view(proof: Proof) -> ProofView:
    document = proof.document or {}
    view = proof_summary(proof, document.get("statement", {}).get("values"))
    view.difference = Difference(**proof.difference) if proof.difference else None
    view.unproven = (proof.model.table or {}).get("unproven")
    view.class_name = _class_name(proof, view.label)
    if view.values is not None:
        view.claim = document["statement"]["claim"]
    if view.values and proof.verification_key:
        for group in map(Group.model_validate, proof.verification_key.circuit["public_inputs"]):
            if group.name == "logits":
                view.logits = group.real(group.numbers(view.values["logits"]))
            if group.name == "values":
                view.outputs = group.real(group.numbers(view.values["values"]))
    return view


def _label(shown: dict[str, Any]) -> int | None:
    """The only one, of whichever output."""
    labels = [value for name, value in shown.items() if kind_of(name) == "label"]
    return labels[0] if len(labels) == 1 and isinstance(labels[0], int) else None


def _class_name(proof: Proof, label: int | None) -> str | None:
    classes = (proof.model.table or {}).get("classes") or []
    return classes[label] if label is not None and label < len(classes) else None


def proof_summary(proof: Proof, values: dict[str, Any] | None) -> ProofView:
    """``values``: what its document shows, if there is one."""
    # While the shards are at work, what they are to show is nobody's to see: they may still fail.
    shown = values if proof.job.state == "succeeded" else None
    return ProofView(
        **job_fields(proof.job),
        model_id=proof.model_id,
        system=proof.system,
        scheme=proof.scheme,
        dataset_id=proof.dataset_id,
        challenge=proof.request.get("challenge"),
        verification_key_id=proof.verification_key_id,
        label=_label(shown or {}),
        values=shown,
        output_ids=proof.request.get("output_ids") if shown is not None else None,
    )


def stream_view(stream: Stream) -> StreamView:
    kept = ("name", "classes", "input_privacy", "deadline_seconds", "backlog", "batch_seconds", "challenge")
    return StreamView(
        **job_fields(stream.job),
        **{name: getattr(stream, name) for name in (*kept, "begun_at", "ended_at")},
        models=[each.model_id for each in stream.models],
        batch=stream.rules.get("batch"),
        head=stream.begins_with,
        frames=stream.count,
        frames_over=stream.over,
    )


def frame_view(stream: Stream, frame: Frame, job: Job) -> FrameView:
    is_missed = job.state in ("failed", "canceled")
    return FrameView(
        number=frame.number,
        proof_id=frame.id,
        state=cast("State", job.state),
        missed=missed(job.problem).missed if is_missed else None,
        model_id=None if frame.model is None else stream.models[frame.model].model_id,
        label=frame.answer,
        seen=frame.seen,
        batch=frame.batch,
        created_at=job.created_at,
        finished_at=job.finished_at,
        seconds=round(sum(job.timings.values()), 4),
    )


def upload_view(upload: Upload) -> UploadView:
    return UploadView(sha256=upload.sha256, size=upload.size, expires_at=upload.expires_at)


def _model_fields(model: Model) -> dict[str, Any]:
    names = (
        *("name", "version", "system", "weight_privacy", "bits", "parent_id", "network", "commitment"),
        *("setup", "verification_key_id", "require_ceremony", "saturate", "accept_difference"),
    )
    return job_fields(model.job) | {name: getattr(model, name) for name in names}


def _dataset_fields(dataset: Dataset) -> dict[str, Any]:
    names = (
        "model_id",
        "name",
        "privacy",
        "size",
        "compared",
        "output",
        "picked_for",
        "measure",
        "shard_size",
    )
    fields = job_fields(dataset.job) | {name: getattr(dataset, name) for name in names}
    return fields | {"sha256": dataset.sha256 if dataset.privacy == "public" else None}
