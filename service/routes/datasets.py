"""Datasets: labelled samples that a model's accuracy is proven on."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Response, UploadFile

from client.documents import OpeningFile
from service import basis, intake, problems, sandbox, sealed
from service.jobs import Jobs, new_id
from service.repositories import Datasets, Models
from service.routes.dependencies import IdempotencyKey, RuntimeDep
from service.routes.forms import PRINTABLE, fields_as_described
from service.routes.submission import submit
from service.runtime import Runtime
from service.schemas import DatasetView, dataset_view
from service.tables import Dataset, Privacy
from service.tasks.datasets import open_openings
from service.tasks.steps import open_network
from zenerrors import RequestError

router = APIRouter(tags=["datasets"])

_FIELDS = ("samples", "labels", "model_id", "name", "privacy", "shard_size")
_HASH_BYTES = 32


@router.post(
    "/datasets",
    status_code=202,
    responses=problems.responses(400, 404, 409, 415),
    dependencies=[Depends(fields_as_described(*_FIELDS))],
)
def create_dataset(
    runtime: RuntimeDep,
    response: Response,
    samples: Annotated[UploadFile, "float samples [n, *input shape]: .npy, or a JSON array"],
    labels: Annotated[UploadFile, "their classes [n]: .npy, or a JSON array"],
    model_id: Annotated[str, Form(max_length=40)],
    privacy: Annotated[Privacy, Form()],
    name: Annotated[str, Form(min_length=1, max_length=200, pattern=PRINTABLE)] = "unnamed",
    shard_size: Annotated[int | None, Form(ge=1)] = None,
    idempotency_key: IdempotencyKey = None,
) -> DatasetView:
    """Add labelled samples for a registered model: they are checked at once, then committed as a job.

    The model must be registered before: its commitment is on record as older than the choice of the samples.
    One proof is about `shard_size` of them; as many as fit the memory, unless given.
    """
    files = samples.file.read(), labels.file.read()
    options = (model_id, privacy, name, str(shard_size))
    mac = runtime.vault.mac(b"dataset", *files, *(option.encode() for option in options))
    with runtime.database.read() as session:
        dataset_id = Jobs(session).earlier(idempotency_key, mac)
        model = None if dataset_id else Models(session).ready(model_id)
    if model is not None:
        quantised = open_network(runtime, model)
        _check_shard_size(runtime, quantised, shard_size)
        row = Dataset(
            model_id=model_id,
            name=name,
            privacy=privacy,
            shard_size=shard_size,
            picked_for=model.commitment,
        )
        read = sandbox.run("read_dataset", quantised, *files)
        dataset_id = _add(runtime, row, read, idempotency_key, mac)
    response.headers["Location"] = f"/v1/datasets/{dataset_id}"
    return get_dataset(runtime, str(dataset_id))


@router.get("/datasets/{dataset_id}", responses=problems.responses(404))
def get_dataset(runtime: RuntimeDep, dataset_id: str) -> DatasetView:
    """A dataset: its size, its shards' commitments and, if it is public, its hash and what opens them."""
    with runtime.database.read() as session:
        dataset = Datasets(session).get(dataset_id)
    if dataset.openings is None or dataset.privacy == "private":
        return dataset_view(dataset, None)
    return dataset_view(dataset, [part.opening for part in open_openings(runtime, dataset).parts])


@router.get("/datasets/{dataset_id}/opening", responses=problems.responses(404, 409))
def get_dataset_opening(runtime: RuntimeDep, dataset_id: str) -> OpeningFile:
    """What convinces those who hold the dataset that the shards' commitments are to it, for its owner to hand
    on. Of a private dataset it is secret: with it, guesses can be checked.
    """
    with runtime.database.read() as session:
        dataset = Datasets(session).ready(dataset_id)
    return open_openings(runtime, dataset)


@router.delete("/datasets/{dataset_id}", status_code=204, responses=problems.responses(404, 409))
def delete_dataset(runtime: RuntimeDep, dataset_id: str) -> None:
    """Forget the samples and what opens their commitments. Refused while a job needs them; proofs that are
    done stay.
    """
    with runtime.database.write() as session:
        dataset = Datasets(session).delete(dataset_id)
    for digest in (dataset.samples, dataset.openings):
        if digest is not None:
            runtime.store.delete(digest)


def _check_shard_size(runtime: Runtime, quantised: bytes, shard_size: int | None) -> None:
    most = basis.basis_length(runtime.settings) // intake.sample_values(quantised)
    if most < (shard_size or 1):
        raise RequestError(
            "request.invalid",
            f"shard_size: the commitment basis has points for {most} samples of this model; a service on a "
            "new data directory with a larger ZENSERVE_BASIS_POINTS has more",
            field="shard_size",
        )


def _add(runtime: Runtime, row: Dataset, read: bytes, key: str | None, mac: bytes) -> str:
    row.id = new_id("dst")
    row.sha256 = read[:_HASH_BYTES].hex()
    row.size = len(sealed.unpack(read[_HASH_BYTES:])["labels"].values)
    row.samples = sealed.put(runtime, f"dataset:{row.id}", read[_HASH_BYTES:])
    return submit(runtime, "dataset", row, key, mac)
