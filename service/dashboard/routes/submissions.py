"""Registering models and asking for proofs: forms for what the API does, and its code that does it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Form, Request, Response, UploadFile
from pydantic import BaseModel, ValidationError

from service import encryption
from service.api import problems
from service.api.routes.dependencies import Id, RuntimeDep
from service.api.uploads import handed
from service.dashboard.pages import PageRoute, invalid, page, see
from service.dashboard.pictures import is_picture
from service.dashboard.visitors import Prover, Registrar, SendingProver, SendingRegistrar, Visitor
from service.runtime import Runtime
from service.storage.paging import LONGEST
from service.storage.records.resources import Model
from service.storage.repositories import Models
from service.storage.repositories.browsing import Browsing
from service.submissions import models, named, orders, proofs, sandbox
from service.submissions.requests import Name, Precision, ProofRequest
from verifier.document import parse_json
from verifier.registry import FIRST
from verifier.schemes import PublicOrCommitted
from zenerrors import RequestError, ZenError

router = APIRouter(prefix="/models", route_class=PageRoute)

Given = Mapping[str, str]
"""What was entered, by field."""
Checked = TypeVar("Checked", bound=BaseModel)
_Text = Annotated[str, Form()]


class _NewModel(BaseModel):
    name: Name
    system: str = FIRST
    weight_privacy: PublicOrCommitted
    saturate: bool = False


@router.get("/new")
def show_model_form(request: Request, visitor: Registrar) -> Response:
    return _model_form(request, visitor, {"weight_privacy": "committed", "bits": "8"}, None)


@router.post("")
def register_model(
    request: Request,
    runtime: RuntimeDep,
    visitor: SendingRegistrar,
    model: UploadFile | None = None,
    calibration: UploadFile | None = None,
    calibration_labels: UploadFile | None = None,
    name: _Text = "",
    weight_privacy: _Text = "",
    bits: _Text = "",
    shape: _Text = "",
    saturate: _Text = "",
) -> Response:
    given = {
        "name": name,
        "weight_privacy": weight_privacy,
        "bits": bits,
        "shape": shape,
        "saturate": saturate,
    }
    try:
        files = [
            handed("model", _chosen("model", model), None),
            handed("calibration", _chosen("calibration", calibration), None),
        ]
        if calibration_labels is not None and calibration_labels.filename:
            files.append(handed("calibration_labels", calibration_labels, None))
        filled = given | {
            "saturate": saturate or "false",
            "name": name or PurePath(str(model and model.filename)).stem,
        }
        row = Model(**_checked(_NewModel, filled).model_dump())
        precision = _checked(Precision, {"bits": bits})
        dimensions = named.sizes(shape.replace(",", " ").split())
        made = models.register(runtime, visitor.principal, row, files, dimensions, precision)
    except ZenError as error:
        return _model_form(request, visitor, given, error)
    return see(f"/admin/jobs/{made}")


@router.get("/{model_id}/prove")
def show_proof_form(request: Request, runtime: RuntimeDep, visitor: Prover, model_id: Id) -> Response:
    return _proof_form(request, runtime, visitor, model_id, {"scheme": "inference"}, None)


@router.post("/{model_id}/prove")
def ask_for_proof(
    request: Request,
    runtime: RuntimeDep,
    visitor: SendingProver,
    model_id: Id,
    scheme: _Text = "inference",
    input: _Text = "",  # noqa: A002  the API's name
    input_file: UploadFile | None = None,
    input_privacy: _Text = "",
    reveal: _Text = "",
    top: _Text = "",
    at_least: _Text = "",
    at_most: _Text = "",
    bounds: _Text = "",
    measure: _Text = "",
    reference: _Text = "",
    reference_file: UploadFile | None = None,
    threshold: _Text = "",
    dataset_id: _Text = "",
    challenge: _Text = "",
) -> Response:
    given = {
        "scheme": scheme, "input": input, "input_privacy": input_privacy, "reveal": reveal, "top": top,
        "at_least": at_least, "at_most": at_most, "bounds": bounds, "measure": measure,
        "reference": reference, "threshold": threshold, "dataset_id": dataset_id, "challenge": challenge,
    }  # fmt: skip
    try:
        fields: dict[str, Any] = {name: value for name, value in given.items() if _asked(name, given)}
        if "bounds" in fields:
            fields["bounds"] = _listed("bounds", fields["bounds"])
        for name, file in (("input", input_file), ("reference", reference_file)):
            if name in orders.TAKES.get(scheme, ()):
                fields |= _numbers(runtime, visitor, model_id, name, file, given[name])
        body = _checked(ProofRequest, fields | {"model_id": model_id})
        made = proofs.ask(runtime, visitor.principal, body)
    except ZenError as error:
        return _proof_form(request, runtime, visitor, model_id, given, error)
    return see(f"/admin/jobs/{made}")


def _asked(name: str, given: Given) -> bool:
    """Whether the field is one of the scheme's, and says something: forms send all that they have."""
    reveal = {"top": "top", "at_least": "threshold", "at_most": "threshold", "bounds": "range"}
    if given["scheme"] == "accuracy":
        of_another = name == "top" and given["measure"] != "top-k"
    else:
        of_another = name in reveal and given["reveal"] != reveal[name]
    if not given[name] or of_another:
        return False
    return name in ("scheme", "challenge", *orders.TAKES.get(given["scheme"], ()))


def _listed(field: str, text: str) -> list[float]:
    try:
        return [float(each) for each in text.replace(",", " ").split()]
    except ValueError:
        reason = f"{field}: these must be numbers, such as 0.2, 0.5, 0.8"
        raise RequestError("request.invalid", reason, field=field) from None


def _numbers(
    runtime: Runtime, visitor: Visitor, model_id: str, field: str, file: UploadFile | None, text: str
) -> dict[str, Any]:
    """A file's, or those that were typed."""
    content = text.encode()
    if file is not None and file.filename:
        content = file.file.read()
        if not content.lstrip().startswith(b"["):
            content = _as_json(runtime, visitor.principal.tenant_id, model_id, field, content)
    if not content.strip():
        return {}
    try:
        return {field: parse_json(content)}
    except ValueError as error:
        raise RequestError("request.invalid", f"{field}: no JSON: {error}", field=field) from None


def _as_json(runtime: Runtime, tenant_id: str, model_id: str, field: str, content: bytes) -> bytes:
    with runtime.database.read() as session:
        model = Models(session, tenant_id).ready(model_id)
    quantised = encryption.open_network(runtime, model)
    return sandbox.run(tenant_id, "as_json", quantised, content, field.encode())


def _chosen(field: str, file: UploadFile | None) -> UploadFile:
    """Browsers send a file without a name where none was chosen."""
    if file is None or not file.filename:
        raise RequestError("request.invalid", f"{field}: choose a file", field=field)
    return file


def _checked(kind: type[Checked], fields: Mapping[str, Any]) -> Checked:
    """As the API would: numbers may be text. Raises ``RequestError`` (``request.invalid``)."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise invalid(error.errors()[0]) from None


def _model_form(request: Request, visitor: Visitor, given: Given, error: ZenError | None) -> Response:
    return page(request, visitor, "new-model.html", _status(error), given=given, problem=error)


def _proof_form(
    request: Request, runtime: Runtime, visitor: Visitor, model_id: str, given: Given, error: ZenError | None
) -> Response:
    with runtime.database.read() as session:
        model = Models(session, visitor.principal.tenant_id).ready(model_id)
        circuit = Browsing(session, visitor.principal.sight).described(str(model.verification_key_id))
        kind = circuit["quantisation"].get("input")
        if kind is None:
            raise RequestError(
                "request.invalid",
                "the model has several inputs, and this form takes one: use the API, or `zenserve prove`",
                field="model_id",
            )
        shape = kind["shape"]
        return page(
            request,
            visitor,
            "new-proof.html",
            _status(error),
            model=model,
            type=kind,
            drawn=is_picture(shape) and len(shape) - shape.count(1) == 2,
            datasets=Browsing(session, visitor.principal.tenant_id).dataset_names(model_id, LONGEST),
            given=given,
            problem=error,
        )


def _status(error: ZenError | None) -> int:
    return problems.answer(error).status_code if error else 200
