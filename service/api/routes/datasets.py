"""Datasets: labelled samples that a model's accuracy is proven on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, File, Form, Response, UploadFile
from starlette.concurrency import run_in_threadpool

from zenserve.errors import RequestError
from zenserve.service.access.principal import Principal
from zenserve.service.api import problems
from zenserve.service.api.routes.dependencies import (
    CreatedDep,
    Id,
    IdempotencyKey,
    LabelFilter,
    ModelFilter,
    NameFilter,
    Prover,
    Reader,
    Revealer,
    RuntimeDep,
    StateFilter,
    WaitDep,
    WindowDep,
)
from zenserve.service.api.routes.forms import Hash, JobLabels, fields_as_described
from zenserve.service.api.routes.jobs import JobRoutes
from zenserve.service.api.routes.strict import ApiRoute
from zenserve.service.api.schemas import (
    DatasetSummary,
    DatasetView,
    Listing,
    dataset_summary,
    dataset_view,
    listing,
)
from zenserve.service.api.uploads import handed
from zenserve.service.basis import open_openings
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.resources import Dataset
from zenserve.service.storage.repositories import Datasets, Models
from zenserve.service.storage.repositories.lists import Lists
from zenserve.service.submissions import datasets
from zenserve.service.submissions.requests import ModelReference, Name, OwnName
from zenserve.verifier.documents import OpeningFile
from zenserve.verifier.schemes import Measure, PublicOrPrivate

router = APIRouter(tags=["datasets"], route_class=ApiRoute)


def _view(runtime: Runtime, principal: Principal, dataset_id: str) -> DatasetView:
    with runtime.database.read() as session:
        dataset = Datasets(session, principal.sight).get(dataset_id)
    if dataset.openings is None or dataset.privacy == "private":
        return dataset_view(dataset, None)
    return dataset_view(dataset, [part.opening for part in open_openings(runtime, dataset).parts])


_jobs = JobRoutes(router, "dataset", "datasets", DatasetView, _view)
_jobs.add_get(
    "A dataset: its size, its shards' commitments and, if it is public, its hash and what opens them."
)
_jobs.add_cancel(
    "Cancel the commitment to a dataset: at once while it is queued, at its next progress report while it"
    " runs."
)
_jobs.add_retry("Try to commit to a dataset once more, after that failed.")
_jobs.add_events("Server-sent events of a dataset's commitment, as those of a proof.")
_FIELDS = (
    *("samples", "labels", "targets", "samples_sha256", "labels_sha256", "targets_sha256"),
    *("model_id", "name", "privacy", "output", "measure", "shard_size", "label"),
)


@router.post(
    "/datasets",
    status_code=202,
    responses=_jobs.asked("The dataset is committed, within the time of `Prefer`", 507),
)
async def create_dataset(
    runtime: RuntimeDep,
    principal: Prover,
    _fields: Annotated[None, Depends(fields_as_described(*_FIELDS))],
    response: Response,
    wait: WaitDep,
    job_labels: JobLabels,
    model_id: Annotated[
        ModelReference,
        Form(
            description="The registered model whose inputs they are: its id, or NAME, NAME@VERSION.",
            examples=["mdl_5d1f0c"],
        ),
    ],
    privacy: Annotated[PublicOrPrivate, Form(description="Whether proofs say which dataset it is.")],
    samples: Annotated[
        UploadFile | None,
        File(
            description="Samples `[n, *input shape]`: .npy, .npz, JSON or CSV; of several inputs an array for"
            " each by its name."
        ),
    ] = None,
    labels: Annotated[
        UploadFile | None, File(description="Their classes `[n]`, unless the samples' file has them.")
    ] = None,
    targets: Annotated[
        UploadFile | None,
        File(description="In place of labels: `[n, outputs]`, what the network should say; or `[n]`."),
    ] = None,
    samples_sha256: Hash = None,
    labels_sha256: Hash = None,
    targets_sha256: Hash = None,
    name: Annotated[Name, Form(description="What to call it.", examples=["held-out digits"])] = "unnamed",
    measure: Annotated[
        Measure | None,
        Form(
            description="What is to be measured on it: as many samples go into one proof as fit then. Unless"
            " given, accuracy, or r2.",
            examples=["certified"],
        ),
    ] = None,
    shard_size: Annotated[
        int | None,
        Form(
            ge=1,
            le=2**31 - 1,
            description="Samples in one proof; as many as fit unless given.",
            examples=[100],
        ),
    ] = None,
    output: Annotated[
        OwnName | None,
        Form(
            description="Of which output of the network labels or targets are, where several could be meant.",
            examples=["probabilities"],
        ),
    ] = None,
    idempotency_key: IdempotencyKey = None,
) -> DatasetView:
    """Add labelled samples, or samples with targets, for a registered model: they are checked at once, then
    committed as a job.

    The model must be registered before: its commitment is on record as older than the choice of the samples.
    One proof is about `shard_size` of them; as many as fit the memory, unless given. Each file is sent along,
    or was brought before (`PUT /v1/uploads/…`) and is named by its SHA-256.
    """
    files = [await run_in_threadpool(handed, "samples", samples, samples_sha256)]
    measured = (targets or targets_sha256) is not None
    labelled = (labels or labels_sha256) is not None
    if measured and labelled:
        raise RequestError("request.invalid", "targets: give labels or targets, one of them", field="targets")
    if labelled:
        files.append(await run_in_threadpool(handed, "labels", labels, labels_sha256))
    if measured:
        files.append(await run_in_threadpool(handed, "targets", targets, targets_sha256))
    row = Dataset(
        model_id=model_id,
        name=name,
        privacy=privacy,
        output=output,
        measure=measure,
        shard_size=shard_size,
        compared="targets" if measured else "labels",
    )
    ask = partial(datasets.add, runtime, principal, row, files, job_labels, idempotency_key)
    return await _jobs.answer(runtime, principal, ask, wait, response)


@router.get("/datasets", responses=problems.responses(404))
def list_datasets(
    runtime: RuntimeDep,
    principal: Reader,
    window: WindowDep,
    created: CreatedDep,
    labels: LabelFilter,
    state: StateFilter = None,
    model_id: ModelFilter = None,
    name: NameFilter = None,
) -> Listing[DatasetSummary]:
    """The datasets, newest first."""
    with runtime.database.read() as session:
        model_id = Models(session, principal.sight).id_of(model_id)
        filters = replace(created, state=state, model_id=model_id, name=name, labels=labels)
        page = Lists(session, principal.sight).datasets(filters, window)
        return listing(page, dataset_summary)


@router.get("/datasets/{dataset_id}/opening", responses=problems.responses(404, 409))
def get_dataset_opening(runtime: RuntimeDep, principal: Revealer, dataset_id: Id) -> OpeningFile:
    """Return the opening of the dataset's commitments, for its owner to hand on.

    The opening proves to those who hold the dataset that the shards' commitments are to it. The opening of a
    private dataset is secret: with it, guesses can be checked. The audit log notes who fetched it.
    """
    return datasets.reveal(runtime, principal, dataset_id)


@router.delete("/datasets/{dataset_id}", status_code=204, responses=problems.responses(404, 409))
def delete_dataset(runtime: RuntimeDep, principal: Prover, dataset_id: Id) -> None:
    """Forget the samples and what opens their commitments. Refused while a job needs them; proofs that are
    done stay.
    """
    datasets.delete(runtime, principal, dataset_id)
