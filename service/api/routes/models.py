"""Models: networks that are registered once, and that proofs are about."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, File, Form, Response, UploadFile
from starlette.concurrency import run_in_threadpool

from zenserve.errors import NotFoundError
from zenserve.service import encryption, intake
from zenserve.service.access.principal import Principal
from zenserve.service.api import problems
from zenserve.service.api.headers import REPORT_HEADERS
from zenserve.service.api.routes.dependencies import (
    CreatedDep,
    Id,
    IdempotencyKey,
    LabelFilter,
    NameFilter,
    Reader,
    Registrar,
    RuntimeDep,
    StateFilter,
    WaitDep,
    WindowDep,
)
from zenserve.service.api.routes.forms import Hash, JobLabels, Ranges, Sizes, fields_as_described
from zenserve.service.api.routes.jobs import JobRoutes
from zenserve.service.api.routes.strict import ApiRoute
from zenserve.service.api.schemas import (
    Listing,
    ModelChange,
    ModelSummary,
    ModelView,
    listing,
    model_summary,
    model_view,
)
from zenserve.service.api.uploads import handed
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.resources import Model
from zenserve.service.storage.repositories import Models
from zenserve.service.storage.repositories.lists import Lists
from zenserve.service.submissions import models
from zenserve.service.submissions.requests import (
    Bits,
    MaxLoss,
    ModelReference,
    Name,
    Precision,
    TwinRequest,
    WidthBits,
)
from zenserve.verifier.documents import ProofDocument, Receipt
from zenserve.verifier.registry import FIRST
from zenserve.verifier.schemes import PublicOrCommitted

router = APIRouter(tags=["models"], route_class=ApiRoute)


def _view(runtime: Runtime, principal: Principal, model_id: str) -> ModelView:
    with runtime.database.read() as session:
        models = Models(session, principal.sight)
        model = models.get(model_id)
        return model_view(model, models.twins(model))


_jobs = JobRoutes(router, "model", "models", ModelView, _view)
_jobs.add_get("A model by its id, or as NAME, NAME@VERSION, NAME@latest, and how far its registration is.")
_jobs.add_cancel(
    "Cancel a registration: at once while it is queued, at its next progress report while it runs."
)
_jobs.add_retry("Try a registration that failed once more.")
_jobs.add_events("Server-sent events of the registration, as those of a proof.")
_FIELDS = (
    *("model", "calibration", "calibration_labels"),
    *("model_sha256", "calibration_sha256", "calibration_labels_sha256"),
    *(
        "name",
        "system",
        "weight_privacy",
        "bits",
        "weight_bits",
        "max_loss",
        "shape",
        "range",
        "parent_id",
        "input_from",
        "label",
        "require_ceremony",
        "saturate",
        "accept_difference",
    ),
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
    sizes: Sizes,
    ranges: Ranges,
    model: Annotated[UploadFile | None, File(description="An ONNX file.")] = None,
    calibration: Annotated[
        UploadFile | None, File(description="Typical inputs `[n, *input shape]`: .npy, .npz, JSON or CSV.")
    ] = None,
    calibration_labels: Annotated[
        UploadFile | None,
        File(description="One class for each, unless that file has them: shows accuracies."),
    ] = None,
    model_sha256: Hash = None,
    calibration_sha256: Hash = None,
    calibration_labels_sha256: Hash = None,
    name: Annotated[Name, Form(description="What to call it.", examples=["digits"])] = "unnamed",
    system: Annotated[
        str,
        Form(max_length=40, description="The proof system that proves what it computes.", examples=[FIRST]),
    ] = FIRST,
    weight_privacy: Annotated[
        PublicOrCommitted | None,
        Form(
            description="`committed`: proofs are about a commitment to hidden weights. `public`: whoever has"
            " a proof's key sees the weights. committed; public where the network has no weights",
            examples=["committed"],
        ),
    ] = None,
    bits: Annotated[
        Bits,
        Form(
            description="Precision of the quantised network, or auto: of each tensor and each layer's weights"
            " as few bits as max_loss allows.",
            examples=[8],
            json_schema_extra={"default": 8},
        ),
    ] = "8",
    weight_bits: Annotated[
        WidthBits | None, Form(description="Of weights; as bits unless it is given.", examples=[4])
    ] = None,
    max_loss: Annotated[
        MaxLoss,
        Form(
            description="For automatic bits what may be lost on the calibration, in percent: of accuracy with"
            " labels, else of agreement with floats, or of the range of outputs that are no classes.",
            examples=[0.5],
        ),
    ] = 1.0,
    parent_id: Annotated[
        ModelReference | None,
        Form(description="The model that it is a new version of, both committed.", examples=["mdl_5d1f0c"]),
    ] = None,
    input_from: Annotated[
        str | None,
        Form(
            max_length=140,
            pattern=r"^[A-Za-z0-9_]+(/[A-Za-z0-9_.-]{1,64})?$",
            description="The model whose output is to be its input, of several outputs `mdl_…/name`: it then"
            " takes commitments to that output.",
            examples=["mdl_5d1f0c"],
        ),
    ] = None,
    require_ceremony: Annotated[
        bool,
        Form(description="Use keys of a ceremony alone, its registration's too: they have to be there."),
    ] = False,
    saturate: Annotated[
        bool,
        Form(description="Take inputs beyond the calibration as the ends of its range; else none is taken."),
    ] = False,
    accept_difference: Annotated[
        bool,
        Form(
            description="Take it although the file's or the integers' answers differ beyond tolerance; proofs"
            " are then made however large the difference."
        ),
    ] = False,
    idempotency_key: IdempotencyKey = None,
) -> ModelView:
    """Register a network: it is read, quantised and checked at once. A job then commits to its weights, if
    they are to be committed, proves that they are of their types, and makes the keys of its proofs.

    Each file is sent along, or was brought before (`PUT /v1/uploads/…`) and is named by its SHA-256. Neither
    the ONNX file nor the calibration is kept, only the quantised and the float network, encrypted.
    """
    files = [
        await run_in_threadpool(handed, "model", model, model_sha256),
        await run_in_threadpool(handed, "calibration", calibration, calibration_sha256),
    ]
    if calibration_labels is not None or calibration_labels_sha256 is not None:
        files.append(
            await run_in_threadpool(
                handed, "calibration_labels", calibration_labels, calibration_labels_sha256
            )
        )
    row = Model(
        name=name,
        system=system,
        weight_privacy=weight_privacy,
        parent_id=parent_id,
        require_ceremony=require_ceremony,
        saturate=saturate,
    )
    ask = partial(
        models.register,
        *(runtime, principal, row, files, sizes),
        Precision(
            bits=bits,
            weight_bits=weight_bits,
            max_loss=max_loss,
            ranges=ranges,
            input_from=input_from,
            accept_difference=accept_difference,
        ),
        *(labels, idempotency_key),
    )
    return await _jobs.answer(runtime, principal, ask, wait, response)


@router.post(
    "/models/{model_id}/twins",
    status_code=202,
    responses=_jobs.asked("The twin is registered, within the time of `Prefer`", 507),
)
async def create_twin(
    runtime: RuntimeDep,
    principal: Registrar,
    body: TwinRequest,
    model_id: Id,
    response: Response,
    wait: WaitDep,
    idempotency_key: IdempotencyKey = None,
) -> ModelView:
    """Register a model's network under another proof system, too: a model of its own, with a commitment of
    that system, keys and a receipt, which lists the model. Proofs of either may name the `system` that they
    are to be of.
    """
    ask = partial(models.add_twin, runtime, principal, model_id, body, idempotency_key)
    return await _jobs.answer(runtime, principal, ask, wait, response)


@router.get("/models", responses=problems.responses())
def list_models(
    runtime: RuntimeDep,
    principal: Reader,
    window: WindowDep,
    created: CreatedDep,
    labels: LabelFilter,
    state: StateFilter = None,
    name: NameFilter = None,
) -> Listing[ModelSummary]:
    """The models, newest first; of one name all its versions."""
    filters = replace(created, state=state, name=name, labels=labels)
    with runtime.database.read() as session:
        page = Lists(session, principal.sight).models(filters, window)
        return listing(page, model_summary)


@router.patch("/models/{model_id}", responses=problems.responses(400, 404, 415))
def change_model(runtime: RuntimeDep, principal: Registrar, body: ModelChange, model_id: Id) -> ModelView:
    """Say whether proofs of a model are made with keys of a ceremony alone. Then one for which there is a
    development key only, or none, is refused (`conflict.ceremony`); those that are made stay what they are.
    """
    models.change(runtime, principal, model_id, require_ceremony=body.require_ceremony)
    return _view(runtime, principal, model_id)


@router.delete("/models/{model_id}", status_code=204, responses=problems.responses(404, 409))
def delete_model(runtime: RuntimeDep, principal: Registrar, model_id: Id) -> None:
    """Forget the network and what opens its commitment. Refused while there are commitments, datasets or
    proofs of it; proofs that were handed on stay as good as they are.
    """
    models.delete(runtime, principal, model_id)


@router.get("/models/{model_id}/receipt", responses=problems.responses(404, 409))
def get_receipt(runtime: RuntimeDep, principal: Reader, model_id: Id) -> Receipt:
    """Return the service's signed receipt of the registration: the model, its commitment, and the time."""
    return Receipt.model_validate(_registered(runtime, principal, model_id).receipt)


@router.get("/models/{model_id}/registration", responses=problems.responses(404, 409))
def get_registration(runtime: RuntimeDep, principal: Reader, model_id: Id) -> ProofDocument:
    """The proof that what the model's commitment is to is a network of its architecture."""
    model = _registered(runtime, principal, model_id)
    if model.commitment is None:
        raise NotFoundError("not_found", f"the weights of {model_id} are public: nothing is committed to")
    return ProofDocument.model_validate(model.registration)


@router.get(
    "/models/{model_id}/architecture",
    response_class=Response,
    responses=problems.responses(404, 409)
    | {200: {"content": {"application/octet-stream": {"example": "…"}}}},
)
def get_architecture(runtime: RuntimeDep, principal: Reader, model_id: Id) -> Response:
    """Return the network that the model's circuits can be compiled from.

    Weights and biases are blanked where they are committed. The model's `network` is the file's SHA-256.
    """
    model = _registered(runtime, principal, model_id)
    quantised = encryption.open_network(runtime, model)
    content = quantised if model.commitment is None else intake.architecture(quantised)
    return Response(content, media_type="application/octet-stream")


@router.get(
    "/models/{model_id}/report",
    response_class=Response,
    responses=problems.responses(404, 409)
    | {200: {"content": {"text/html": {"example": "<!doctype html>…"}}}},
)
def get_report(runtime: RuntimeDep, principal: Reader, model_id: Id) -> Response:
    """Return the quantisation report, layer by layer, with plots: one file of HTML without scripts."""
    found = models.report_page(_registered(runtime, principal, model_id))
    return Response(found, media_type="text/html", headers=REPORT_HEADERS)


def _registered(runtime: Runtime, principal: Principal, model_id: str) -> Model:
    with runtime.database.read() as session:
        return Models(session, principal.sight).ready(model_id)
