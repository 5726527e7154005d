"""Models: networks that are registered once, and that proofs are about."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Response, UploadFile

from client.documents import ProofDocument, Receipt
from service import basis, intake, problems, sandbox, sealed
from service.jobs import Jobs, new_id
from service.repositories import Models
from service.routes.dependencies import IdempotencyKey, RuntimeDep
from service.routes.forms import PRINTABLE, fields_as_described
from service.routes.submission import submit
from service.runtime import Runtime
from service.schemas import ModelView, model_view
from service.tables import Model, WeightPrivacy
from service.tasks.steps import open_network
from zenerrors import ModelError, NotFoundError, RequestError

router = APIRouter(tags=["models"])

_FIELDS = ("model", "calibration", "name", "weight_privacy", "bits", "parent_id")


@router.post(
    "/models",
    status_code=202,
    responses=problems.responses(400, 404, 409, 415),
    dependencies=[Depends(fields_as_described(*_FIELDS))],
)
def create_model(
    runtime: RuntimeDep,
    response: Response,
    model: Annotated[UploadFile, "an ONNX file"],
    calibration: Annotated[UploadFile, "typical inputs: .npy, or a JSON array"],
    name: Annotated[str, Form(min_length=1, max_length=200, pattern=PRINTABLE)] = "unnamed",
    weight_privacy: Annotated[WeightPrivacy, Form()] = "public",
    bits: Annotated[int, Form(ge=2, le=8)] = 8,
    parent_id: Annotated[str | None, Form(max_length=40)] = None,
    idempotency_key: IdempotencyKey = None,
) -> ModelView:
    """Register a network: it is read, quantised and checked at once. A job then commits to its weights, if
    they are to be committed, proves that they are of their types, and makes the keys of its proofs.

    Neither the ONNX file nor the calibration is kept, only the quantised network, encrypted.
    """
    onnx, samples = model.file.read(), calibration.file.read()
    options = (name, weight_privacy, str(bits), parent_id or "")
    mac = runtime.vault.mac(b"model", onnx, samples, *(option.encode() for option in options))
    with runtime.database.read() as session:
        model_id = Jobs(session).earlier(idempotency_key, mac)
    if model_id is None:
        _check_parent(runtime, weight_privacy, parent_id)
        quantised = sandbox.run("quantise", onnx, samples, str(bits).encode())
        if weight_privacy == "committed":
            _check_basis(runtime, quantised)
        row = Model(name=name, weight_privacy=weight_privacy, bits=bits, parent_id=parent_id)
        model_id = _register(runtime, row, quantised, idempotency_key, mac)
    response.headers["Location"] = f"/v1/models/{model_id}"
    return get_model(runtime, model_id)


@router.get("/models/{model_id}", responses=problems.responses(404))
def get_model(runtime: RuntimeDep, model_id: str) -> ModelView:
    """A model, and how far its registration is."""
    with runtime.database.read() as session:
        return model_view(Models(session).get(model_id))


@router.get("/models/{model_id}/receipt", responses=problems.responses(404, 409))
def get_receipt(runtime: RuntimeDep, model_id: str) -> Receipt:
    """What this service signed about the registration: the model, its commitment, and when."""
    return Receipt.model_validate(_registered(runtime, model_id).receipt)


@router.get("/models/{model_id}/registration", responses=problems.responses(404, 409))
def get_registration(runtime: RuntimeDep, model_id: str) -> ProofDocument:
    """The proof that what the model's commitment is to is a network of its architecture."""
    return ProofDocument.model_validate(_committed(runtime, model_id).registration)


@router.get(
    "/models/{model_id}/architecture", response_class=Response, responses=problems.responses(404, 409)
)
def get_architecture(runtime: RuntimeDep, model_id: str) -> Response:
    """What the model's circuits can be compiled from, and `network` is the SHA-256 of: the network, with
    weights and biases blanked where they are committed.
    """
    model = _registered(runtime, model_id)
    quantised = open_network(runtime, model)
    content = quantised if model.commitment is None else intake.architecture(quantised)
    return Response(content, media_type="application/octet-stream")


def _registered(runtime: Runtime, model_id: str) -> Model:
    with runtime.database.read() as session:
        return Models(session).ready(model_id)


def _committed(runtime: Runtime, model_id: str) -> Model:
    model = _registered(runtime, model_id)
    if model.commitment is None:
        raise NotFoundError("not_found", f"the weights of {model_id} are public: nothing is committed to")
    return model


def _check_parent(runtime: Runtime, weight_privacy: WeightPrivacy, parent_id: str | None) -> None:
    if parent_id is None:
        return
    with runtime.database.read() as session:
        parent = Models(session).ready(parent_id, "parent_id")
    if weight_privacy != "committed" or parent.commitment is None:
        raise RequestError(
            "request.invalid",
            "parent_id: versions are commitments; register both models with weight_privacy committed",
            field="parent_id",
        )


def _check_basis(runtime: Runtime, quantised: bytes) -> None:
    needed, length = intake.parameter_count(quantised), basis.basis_length(runtime.settings)
    if needed > length:
        raise ModelError(
            "model.too_large",
            f"to commit to the network takes a basis of {needed} points, and this service has {length}: "
            f"start one on a new data directory with ZENSERVE_BASIS_POINTS={needed} or more",
            field="model",
        )


def _register(runtime: Runtime, row: Model, quantised: bytes, key: str | None, mac: bytes) -> str:
    row.id = new_id("mdl")
    row.quantised = sealed.put(runtime, f"model:{row.id}", quantised)
    return submit(runtime, "model", row, key, mac)
