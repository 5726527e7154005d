"""Models, the circuits that they share, and lists of datasets and proofs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, cast, get_args

from fastapi import APIRouter, Query, Request, Response

from zenserve.circuits.quantisation.page import NOTE, histogram, plots
from zenserve.circuits.quantisation.plan import INPUT
from zenserve.circuits.quantisation.reporting import sentences
from zenserve.service import openings
from zenserve.service.api.headers import REPORT_HEADERS
from zenserve.service.api.routes.dependencies import Id, RuntimeDep, WindowDep
from zenserve.service.dashboard.layers import layers
from zenserve.service.dashboard.pages import PageRoute, page
from zenserve.service.dashboard.results import brief
from zenserve.service.dashboard.setups import key_of
from zenserve.service.dashboard.visitors import Admin, Reader
from zenserve.service.storage.paging import Window
from zenserve.service.storage.records.jobs import TERMINAL
from zenserve.service.storage.records.resources import Circuit
from zenserve.service.storage.repositories import Models
from zenserve.service.storage.repositories.browsing import Browsing
from zenserve.service.storage.repositories.lists import Filters
from zenserve.service.submissions import models
from zenserve.service.submissions.requests import PRINTABLE
from zenserve.verifier.schemes import Scheme

router = APIRouter(route_class=PageRoute)

STATES: Final = ("queued", "running", *TERMINAL)
SCHEMES: Final = get_args(Scheme)
CHOICES: Final = 50
"""Models to choose from in a filter."""

VERSIONS: Final = 10
"""Models of one name on the page of one of them."""

_Text = Annotated[str, Query(max_length=64, pattern=PRINTABLE)]
_Name = Annotated[str, Query(max_length=200, pattern=PRINTABLE)]


@router.get("/models")
def list_models(
    request: Request,
    runtime: RuntimeDep,
    visitor: Reader,
    window: WindowDep,
    state: _Text = "",
    name: _Name = "",
) -> Response:
    filters = Filters(state=state or None, name=name.strip() or None)
    with runtime.database.read() as session:
        browsing = Browsing(session, visitor.principal.sight)
        return page(
            request,
            visitor,
            "models.html",
            models=browsing.models(filters, window),
            wanted={"state": state, "name": name},
            states=STATES,
            window=window,
            tenants=browsing.tenant_names(),
        )


@router.get("/proofs")
def list_proofs(
    request: Request,
    runtime: RuntimeDep,
    visitor: Reader,
    window: WindowDep,
    state: _Text = "",
    scheme: _Text = "",
    model: _Text = "",
) -> Response:
    filters = Filters(state=state or None, scheme=cast("Scheme", scheme) or None, model_id=model or None)
    with runtime.database.read() as session:
        browsing = Browsing(session, visitor.principal.sight)
        return page(
            request,
            visitor,
            "proofs.html",
            proofs=browsing.proofs(filters, window),
            brief=brief,
            wanted={"state": state, "scheme": scheme, "model": model},
            states=STATES,
            schemes=SCHEMES,
            models=browsing.model_names(Window(CHOICES, None)),
            window=window,
            tenants=browsing.tenant_names(),
        )


@router.get("/datasets")
def list_datasets(
    request: Request,
    runtime: RuntimeDep,
    visitor: Reader,
    window: WindowDep,
    state: _Text = "",
    model: _Text = "",
) -> Response:
    filters = Filters(state=state or None, model_id=model or None)
    with runtime.database.read() as session:
        browsing = Browsing(session, visitor.principal.sight)
        return page(
            request,
            visitor,
            "datasets.html",
            datasets=browsing.datasets(filters, window),
            wanted={"state": state, "model": model},
            states=STATES,
            models=browsing.model_names(Window(CHOICES, None)),
            window=window,
            tenants=browsing.tenant_names(),
        )


@router.get("/models/{model_id}")
def show_model(request: Request, runtime: RuntimeDep, visitor: Reader, model_id: Id) -> Response:
    with runtime.database.read() as session:
        browsing = Browsing(session, visitor.principal.sight)
        listed = browsing.model(model_id)
        key = listed.model.verification_key
        described = key.circuit if key else None
        seconds = _seconds(listed.circuit)
        report = listed.model.report
        tensors = report["tensors"] if report else []
        outputs = report.get("outputs", []) if report else []
        inputs = described["quantisation"].get("inputs", []) if described else []
        named = {INPUT: "input"} | {each["name"]: f"input/{each['name']}" for each in inputs}
        return page(
            request,
            visitor,
            "model.html",
            listed=listed,
            model=listed.model,
            versions=browsing.versions(listed.model, VERSIONS + 1),
            most_versions=VERSIONS,
            twins=Models(session, visitor.principal.sight).twins(listed.model),
            key=key_of(session, visitor, key.id) if key else None,
            left=openings.left(runtime, session, listed.model),
            circuit=described,
            seconds=seconds,
            report=report,
            said=list(sentences(report)) if report else [],
            plots=[(what, chart) for output in outputs for what, chart in plots(output)],
            spread={
                named.get(tensor["name"], tensor["name"]): histogram(tensor)
                for tensor in tensors
                if tensor.get("histogram")
            },
            note=NOTE,
            reached={named.get(tensor["name"], tensor["name"]): tensor for tensor in tensors},
            layers=layers(described, sum(seconds.values()) if seconds else None) if described else [],
            tenants=browsing.tenant_names(),
        )


@router.get("/models/{model_id}/report")
def show_report(runtime: RuntimeDep, visitor: Reader, model_id: Id) -> Response:
    with runtime.database.read() as session:
        model = Models(session, visitor.principal.sight).ready(model_id)
        return Response(models.report_page(model), media_type="text/html", headers=REPORT_HEADERS)


def _seconds(circuit: Circuit | None) -> Mapping[str, float] | None:
    """Return the recent seconds of each stage of the circuit's proofs, on a CPU if it was proven there.

    None if it was never proven.
    """
    by_backend = (circuit.seconds or {}) if circuit else {}
    return by_backend.get("cpu") or next(iter(by_backend.values()), None)


@router.get("/circuits")
def list_circuits(request: Request, runtime: RuntimeDep, visitor: Admin, window: WindowDep) -> Response:
    with runtime.database.read() as session:
        circuits = Browsing(session, None).circuits(window)
        return page(request, visitor, "circuits.html", circuits=circuits, window=window)
