"""Models: networks that are registered once, and that proofs are about."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, File, Form, Response, UploadFile
from starlette.concurrency import run_in_threadpool

from service import basis, intake
from service import encryption as sealed
from service.access import audit
from service.access.principal import Principal
from service.api import problems, sandbox
from service.api.routes import submission
from service.api.routes.dependencies import (
    CreatedDep,
    Id,
    IdempotencyKey,
    LabelFilter,
    Reader,
    Registrar,
    RuntimeDep,
    StateFilter,
    WaitDep,
    WindowDep,
)
from service.api.routes.forms import Hash, JobLabels, fields_as_described
from service.api.routes.jobs import JobRoutes
from service.api.routes.strict import ApiRoute
from service.api.schemas import (
    Bits,
    Listing,
    ModelChange,
    ModelSummary,
    ModelView,
    Name,
    ResourceId,
    listing,
    model_summary,
    model_view,
)
from service.api.uploads import Handed, handed
from service.jobs.lifecycle import Jobs, new_id
from service.runtime import Runtime
from service.storage.repositories import Models
from service.storage.repositories.lists import Lists
from service.storage.tables import Model, WeightPrivacy
from verifier.documents import ProofDocument, Receipt
from zenerrors import ModelError, NotFoundError, RequestError

router = APIRouter(tags=["models"], route_class=ApiRoute)


def _view(runtime: Runtime, principal: Principal, model_id: str) -> ModelView:
    with runtime.database.read() as session:
        return model_view(Models(session, principal.sight).get(model_id))


_jobs = JobRoutes(router, "model", "models", ModelView, _view)
_jobs.add_get("A model, and how far its registration is.")
_jobs.add_cancel(
    "Cancel a registration: at once while it is queued, at its next progress report while it runs."
)
_jobs.add_retry("Try a registration that failed once more.")
_jobs.add_events("Server-sent events of the registration, as those of a proof.")
_FIELDS = (
    *("model", "calibration", "calibration_labels"),
    *("model_sha256", "calibration_sha256", "calibration_labels_sha256"),
    *("name", "weight_privacy", "bits", "parent_id", "label", "require_ceremony"),
)


@router.post(
    "/models",
    status_code=202,
    responses=_jobs.asked("The model is registered, within the time of `Prefer`", 507),
)
async def create_model(
    runtime: RuntimeDep,
    principal: Registrar,
    _fields: Annotated[None, Depends(fields_as_described(*_FIELDS))],
    response: Response,
    wait: WaitDep,
    labels: JobLabels,
    model: Annotated[UploadFile | None, File(description="An ONNX file.")] = None,
    calibration: Annotated[
        UploadFile | None, File(description="Typical inputs `[n, *input shape]`: .npy, or a JSON array.")
    ] = None,
    calibration_labels: Annotated[
        UploadFile | None, File(description="One class for each, for a report with accuracies: .npy or JSON.")
    ] = None,
    model_sha256: Hash = None,
    calibration_sha256: Hash = None,
    calibration_labels_sha256: Hash = None,
    name: Annotated[Name, Form(description="What to call it.", examples=["digits"])] = "unnamed",
    weight_privacy: Annotated[
        WeightPrivacy,
        Form(description="Whether everybody may know the weights, or proofs are about a commitment to them."),
    ] = "public",
    bits: Annotated[Bits, Form(description="Precision of the quantised network.")] = 8,
    parent_id: Annotated[
        ResourceId | None,
        Form(description="The model that it is a new version of, both committed.", examples=["mdl_5d1f0c"]),
    ] = None,
    require_ceremony: Annotated[
        bool,
        Form(description="Use keys of a ceremony alone, its registration's too: they have to be there."),
    ] = False,
    idempotency_key: IdempotencyKey = None,
) -> ModelView:
    """Register a network: it is read, quantised and checked at once. A job then commits to its weights, if
    they are to be committed, proves that they are of their types, and makes the keys of its proofs.

    Each file is sent along, or was brought before (`PUT /v1/uploads/…`) and is named by its SHA-256. Neither
    the ONNX file nor the calibration is kept, only the quantised network, encrypted.
    """
    files = [handed("model", model, model_sha256), handed("calibration", calibration, calibration_sha256)]
    if calibration_labels is not None or calibration_labels_sha256 is not None:
        files.append(handed("calibration_labels", calibration_labels, calibration_labels_sha256))
    row = Model(
        name=name,
        weight_privacy=weight_privacy,
        bits=bits,
        parent_id=parent_id,
        require_ceremony=require_ceremony,
    )
    submitted = partial(register, runtime, principal, row, files, labels, idempotency_key)
    model_id = await run_in_threadpool(submitted)
    return await _jobs.answer(runtime, principal, model_id, wait, response)


@router.get("/models", responses=problems.responses())
def list_models(
    runtime: RuntimeDep,
    principal: Reader,
    window: WindowDep,
    created: CreatedDep,
    labels: LabelFilter,
    state: StateFilter = None,
) -> Listing[ModelSummary]:
    """The models, newest first."""
    with runtime.database.read() as session:
        page = Lists(session, principal.sight).models(replace(created, state=state, labels=labels), window)
        return listing(page, model_summary)


@router.patch("/models/{model_id}", responses=problems.responses(400, 404, 415))
def change_model(runtime: RuntimeDep, principal: Registrar, body: ModelChange, model_id: Id) -> ModelView:
    """Say whether proofs of a model are made with keys of a ceremony alone. Then one for which there is a
    development key only, or none, is refused (`conflict.ceremony`); those that are made stay what they are.
    """
    with runtime.database.write() as session:
        Models(session, principal.tenant_id).get(model_id).require_ceremony = body.require_ceremony
        audit.note(session, principal, "model.change", model_id)
    return _view(runtime, principal, model_id)


@router.delete("/models/{model_id}", status_code=204, responses=problems.responses(404, 409))
def delete_model(runtime: RuntimeDep, principal: Registrar, model_id: Id) -> None:
    """Forget the network and what opens its commitment. Refused while there are commitments, datasets or
    proofs of it; proofs that were handed on stay as good as they are.
    """
    with runtime.database.write() as session:
        model = Models(session, principal.tenant_id).delete(model_id)
        audit.note(session, principal, "model.delete", model_id)
    submission.delete(runtime, [model.quantised])


@router.get("/models/{model_id}/receipt", responses=problems.responses(404, 409))
def get_receipt(runtime: RuntimeDep, principal: Reader, model_id: Id) -> Receipt:
    """What this service signed about the registration: the model, its commitment, and when."""
    return Receipt.model_validate(_registered(runtime, principal, model_id).receipt)


@router.get("/models/{model_id}/registration", responses=problems.responses(404, 409))
def get_registration(runtime: RuntimeDep, principal: Reader, model_id: Id) -> ProofDocument:
    """The proof that what the model's commitment is to is a network of its architecture."""
    model = _registered(runtime, principal, model_id)
    if model.commitment is None:
        raise NotFoundError("not_found", f"the weights of {model_id} are public: nothing is committed to")
    return ProofDocument.model_validate(model.registration)


@router.get(
    "/models/{model_id}/architecture", response_class=Response, responses=problems.responses(404, 409)
)
def get_architecture(runtime: RuntimeDep, principal: Reader, model_id: Id) -> Response:
    """What the model's circuits can be compiled from, and `network` is the SHA-256 of: the network, with
    weights and biases blanked where they are committed.
    """
    model = _registered(runtime, principal, model_id)
    quantised = sealed.open_network(runtime, model)
    content = quantised if model.commitment is None else intake.architecture(quantised)
    return Response(content, media_type="application/octet-stream")


def register(
    runtime: Runtime,
    principal: Principal,
    row: Model,
    files: Sequence[Handed],
    labels: dict[str, str] | None = None,
    idempotency_key: str | None = None,
) -> str:
    """Read, quantise and check the network in the files, and queue the registration of ``row``. The model's
    id, or that which the ``Idempotency-Key`` made. Raises ``ZenError``.

    ``files``: the model, its calibration and, if there are any, the calibration's labels.
    """
    options = [row.name, row.weight_privacy, str(row.bits), row.parent_id or "", *(f.sha256 for f in files)]
    if row.require_ceremony:
        options.append("require_ceremony")
    terms = submission.terms(runtime, principal, b"model", options, labels or {}, idempotency_key)
    with runtime.database.read() as session:
        if earlier := Jobs(session).earlier(terms):
            return earlier
        _check_parent(Models(session, principal.tenant_id), row)
    onnx, samples, *classes = (file.read(runtime, principal.tenant_id) for file in files)
    parts = onnx, samples, str(row.bits).encode(), b"".join(classes)
    read = sandbox.run(principal.tenant_id, "read_model", *parts)
    report, _, quantised = read.partition(b"\n")
    if row.weight_privacy == "committed":
        _check_basis(runtime, quantised)
    row.id = new_id("mdl")
    row.report = json.loads(report)
    row.quantised = sealed.put(runtime, f"model:{row.id}", quantised)
    terms = replace(terms, size=len(quantised))
    return submission.submit(runtime, principal, "model", row, terms, files=files, stored=[row.quantised])


def _registered(runtime: Runtime, principal: Principal, model_id: str) -> Model:
    with runtime.database.read() as session:
        return Models(session, principal.sight).ready(model_id)


def _check_parent(models: Models, row: Model) -> None:
    if row.parent_id is None:
        return
    parent = models.ready(row.parent_id, "parent_id")
    if row.weight_privacy != "committed" or parent.commitment is None:
        raise RequestError(
            "request.invalid",
            "parent_id: versions are commitments; register both models with weight_privacy committed",
            field="parent_id",
        )


def _check_basis(runtime: Runtime, quantised: bytes) -> None:
    needed, length = intake.parameter_count(quantised), basis.basis_length(runtime)
    if needed > length:
        raise ModelError(
            "model.too_large",
            f"to commit to the network takes a basis of {needed} points, and this service has {length}: "
            f"start one on a new data directory with ZENSERVE_BASIS_POINTS={needed} or more",
            field="model",
        )
