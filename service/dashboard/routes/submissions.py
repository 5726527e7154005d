"""Registering models, adding datasets and asking for proofs: forms for what the API does, and its code that
does it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import PurePath
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Form, Request, Response, UploadFile
from pydantic import BaseModel, Field, ValidationError
from starlette import datastructures
from starlette.datastructures import FormData

from zenserve.errors import RequestError, ZenError
from zenserve.service import encryption
from zenserve.service.api import problems
from zenserve.service.api.routes.dependencies import Id, RuntimeDep
from zenserve.service.api.uploads import handed
from zenserve.service.dashboard.forms import Given, ProofForm
from zenserve.service.dashboard.pages import PageRoute, invalid, page, see
from zenserve.service.dashboard.visitors import Prover, Registrar, SendingProver, SendingRegistrar, Visitor
from zenserve.service.runtime import Runtime
from zenserve.service.storage.paging import LONGEST
from zenserve.service.storage.records.resources import Dataset, Model
from zenserve.service.storage.repositories import Models
from zenserve.service.storage.repositories.browsing import Browsing
from zenserve.service.submissions import datasets, models, named, proofs, sandbox
from zenserve.service.submissions.requests import Name, OwnName, Precision, ProofRequest
from zenserve.verifier.document import parse_json
from zenserve.verifier.registry import FIRST
from zenserve.verifier.schemes import Compared, Measure, PublicOrCommitted, PublicOrPrivate

router = APIRouter(prefix="/models", route_class=PageRoute)

Checked = TypeVar("Checked", bound=BaseModel)
_Text = Annotated[str, Form()]


async def _entered(request: Request) -> FormData:
    """All fields: those for inputs and outputs go by the names of these."""
    return await request.form()


Entered = Annotated[FormData, Depends(_entered)]


class _NewModel(BaseModel):
    name: Name
    system: str = FIRST
    weight_privacy: PublicOrCommitted
    saturate: bool = False


class _NewDataset(BaseModel):
    name: Name
    privacy: PublicOrPrivate
    compared: Compared
    output: OwnName | None
    measure: Measure | None
    shard_size: Annotated[int, Field(ge=1, le=2**31 - 1)] | None


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
    system: _Text = FIRST,
    bits: _Text = "",
    shape: _Text = "",
    range: _Text = "",  # noqa: A002  the API's name
    saturate: _Text = "",
    accept_difference: _Text = "",
) -> Response:
    given = {
        "name": name, "weight_privacy": weight_privacy, "system": system, "bits": bits, "shape": shape,
        "range": range, "saturate": saturate, "accept_difference": accept_difference,
    }  # fmt: skip
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
        ends = named.ranges(range.replace(",", " ").split())
        accepts = accept_difference or "false"
        precision = _checked(Precision, {"bits": bits, "ranges": ends, "accept_difference": accepts})
        dimensions = named.sizes(shape.replace(",", " ").split())
        made = models.register(runtime, visitor.principal, row, files, dimensions, precision)
    except ZenError as error:
        return _model_form(request, visitor, given, error)
    return see(f"/admin/jobs/{made}")


@router.get("/{model_id}/prove")
def show_proof_form(request: Request, runtime: RuntimeDep, visitor: Prover, model_id: Id) -> Response:
    form = _form_of(runtime, visitor, model_id)
    return _proof_form(request, runtime, visitor, model_id, form, form.first, None)


@router.post("/{model_id}/prove")
def ask_for_proof(
    request: Request, runtime: RuntimeDep, visitor: SendingProver, model_id: Id, entered: Entered
) -> Response:
    given = {name: value for name, value in entered.items() if isinstance(value, str)}
    form = _form_of(runtime, visitor, model_id)
    try:
        asked = form.asked(given, partial(_numbers, runtime, visitor, model_id, entered))
        made = proofs.ask(runtime, visitor.principal, _checked(ProofRequest, asked | {"model_id": model_id}))
    except ZenError as error:
        return _proof_form(request, runtime, visitor, model_id, form, given, error)
    return see(f"/admin/jobs/{made}")


@router.get("/{model_id}/datasets/new")
def show_dataset_form(request: Request, runtime: RuntimeDep, visitor: Prover, model_id: Id) -> Response:
    given = {"compared": "labels", "privacy": "private"}
    return _dataset_form(request, runtime, visitor, model_id, given, None)


@router.post("/{model_id}/datasets")
def add_dataset(
    request: Request,
    runtime: RuntimeDep,
    visitor: SendingProver,
    model_id: Id,
    samples: UploadFile | None = None,
    compared: _Text = "labels",
    labels: UploadFile | None = None,
    targets: UploadFile | None = None,
    output: _Text = "",
    name: _Text = "",
    privacy: _Text = "",
    measure: _Text = "",
    shard_size: _Text = "",
) -> Response:
    given = {
        "compared": compared, "output": output, "name": name, "privacy": privacy, "measure": measure,
        "shard_size": shard_size,
    }  # fmt: skip
    try:
        files = [handed("samples", _chosen("samples", samples), None)]
        if compared == "targets":
            files.append(handed("targets", _chosen("targets", targets), None))
        elif labels is not None and labels.filename:
            files.append(handed("labels", labels, None))
        named_so = name or PurePath(str(samples and samples.filename)).stem
        left_out = {name: given[name] or None for name in ("output", "measure", "shard_size")}
        filled = given | {"name": named_so} | left_out
        row = Dataset(model_id=model_id, **_checked(_NewDataset, filled).model_dump())
        made = datasets.add(runtime, visitor.principal, row, files)
    except ZenError as error:
        return _dataset_form(request, runtime, visitor, model_id, given, error)
    return see(f"/admin/jobs/{made}")


def _numbers(
    runtime: Runtime, visitor: Visitor, model_id: str, entered: FormData, field: str, name: str = ""
) -> Any:
    """A file's, of the input of this name, or those that were typed, if any were."""
    file, text = entered.get(f"{field}_file"), entered.get(field)
    content = text.encode() if isinstance(text, str) else b""
    if isinstance(file, datastructures.UploadFile) and file.filename:
        content = file.file.read()
        if not content.lstrip().startswith(b"["):
            content = _as_json(runtime, visitor.principal.tenant_id, model_id, content, field, name)
    if not content.strip():
        return None
    try:
        return parse_json(content)
    except ValueError as error:
        raise RequestError("request.invalid", f"{field}: no JSON: {error}", field=field) from None


def _as_json(runtime: Runtime, tenant_id: str, model_id: str, content: bytes, field: str, name: str) -> bytes:
    with runtime.database.read() as session:
        model = Models(session, tenant_id).ready(model_id)
    quantised = encryption.open_network(runtime, model)
    table = json.dumps(model.table).encode() if model.table else b""
    return sandbox.run(tenant_id, "as_json", quantised, content, field.encode(), name.encode(), table)


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


def _form_of(runtime: Runtime, visitor: Visitor, model_id: str) -> ProofForm:
    with runtime.database.read() as session:
        model = Models(session, visitor.principal.tenant_id).ready(model_id)
        browsing = Browsing(session, visitor.principal.sight)
        return ProofForm.of(browsing.described(str(model.verification_key_id)), model.table)


def _proof_form(
    request: Request,
    runtime: Runtime,
    visitor: Visitor,
    model_id: str,
    form: ProofForm,
    given: Given,
    error: ZenError | None,
) -> Response:
    with runtime.database.read() as session:
        return page(
            request,
            visitor,
            "new-proof.html",
            _status(error),
            model=Models(session, visitor.principal.tenant_id).ready(model_id),
            form=form,
            datasets=Browsing(session, visitor.principal.tenant_id).dataset_names(model_id, LONGEST),
            given=given,
            problem=error,
        )


def _dataset_form(
    request: Request, runtime: Runtime, visitor: Visitor, model_id: str, given: Given, error: ZenError | None
) -> Response:
    with runtime.database.read() as session:
        model = Models(session, visitor.principal.tenant_id).ready(model_id)
    form = _form_of(runtime, visitor, model_id)
    return page(
        request,
        visitor,
        "new-dataset.html",
        _status(error),
        model=model,
        form=form,
        given=given,
        problem=error,
    )


def _status(error: ZenError | None) -> int:
    return problems.answer(error).status_code if error else 200
