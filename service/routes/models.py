"""Models: networks that the service can prove."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request, Response, UploadFile

from service import problems, sandbox, work
from service.jobs import Jobs, new_id
from service.repositories import Models
from service.routes.dependencies import IdempotencyKey, RuntimeDep
from service.runtime import Runtime
from service.schemas import ModelView, model_view
from service.tables import Model, Privacy
from zenerrors import RequestError

router = APIRouter(tags=["models"])

_FIELDS = ("model", "calibration", "name", "input_privacy", "weight_privacy", "bits")
_PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]*$"


async def _fields_as_described(request: Request) -> None:
    """Refuse what would otherwise be passed over: a misspelt ``weight_privacy`` would make weights public."""
    seen: set[str] = set()
    for name, value in (await request.form()).multi_items():
        if name not in _FIELDS:
            problem = f"there is no such field; there are {', '.join(_FIELDS)}"
        elif name in seen:
            problem = "this field is given twice"
        elif value == "":
            problem = "this field is empty; give it a value or leave it out"
        else:
            seen.add(name)
            continue
        raise RequestError("request.invalid", f"{name}: {problem}", field=name)


@router.post(
    "/models",
    status_code=202,
    responses=problems.responses(400, 409, 415),
    dependencies=[Depends(_fields_as_described)],
)
def create_model(
    runtime: RuntimeDep,
    response: Response,
    model: Annotated[UploadFile, "an ONNX file"],
    calibration: Annotated[UploadFile, "typical inputs: .npy, or a JSON array"],
    name: Annotated[str, Form(min_length=1, max_length=200, pattern=_PRINTABLE)] = "unnamed",
    input_privacy: Annotated[Privacy, Form()] = "private",
    weight_privacy: Annotated[Privacy, Form()] = "public",
    bits: Annotated[int, Form(ge=2, le=8)] = 8,
    idempotency_key: IdempotencyKey = None,
) -> ModelView:
    """Register a network: it is read, quantised and checked at once, then compiled and set up as a job.

    Neither the ONNX file nor the calibration is kept, only the quantised network, encrypted.
    """
    onnx, samples = model.file.read(), calibration.file.read()
    options = (name, input_privacy, weight_privacy, str(bits))
    mac = runtime.vault.mac(b"model", onnx, samples, *(option.encode() for option in options))
    with runtime.database.read() as session:
        model_id = Jobs(session).earlier(idempotency_key, mac)
    if model_id is None:
        quantised = sandbox.run("quantise", onnx, samples, str(bits).encode())
        row = Model(name=name, input_privacy=input_privacy, weight_privacy=weight_privacy, bits=bits)
        model_id = _register(runtime, row, quantised, idempotency_key, mac)
    response.headers["Location"] = f"/v1/models/{model_id}"
    return get_model(runtime, model_id)


@router.get("/models/{model_id}", responses=problems.responses(404))
def get_model(runtime: RuntimeDep, model_id: str) -> ModelView:
    """A model, and how far its preparation is."""
    with runtime.database.read() as session:
        return model_view(Models(session).get(model_id))


def _register(runtime: Runtime, row: Model, quantised: bytes, key: str | None, mac: bytes) -> str:
    row.id = new_id("mdl")
    row.quantised = work.seal_model(runtime, row.id, quantised)
    with runtime.database.write() as session:
        if earlier := Jobs(session).earlier(key, mac):
            return earlier
        Jobs(session).create(row.id, "model", key, mac)
        Models(session).add(row)
    runtime.enqueue(row.id)
    return row.id
