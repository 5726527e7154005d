"""Rendering of a page: its template, the variables of all templates, and its headers."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool

from zenserve.errors import AccessError, RequestError, ZenError
from zenserve.service.access.principal import Scope
from zenserve.service.api import pages
from zenserve.service.dashboard import formats, setups
from zenserve.service.dashboard.stages import EXPLAINED
from zenserve.service.dashboard.visitors import Visitor, visitor_of
from zenserve.service.storage.database import now

_ROOMS: tuple[tuple[str, str, Scope], ...] = (
    ("Overview", "/admin", "read"),
    ("Jobs", "/admin/jobs", "read"),
    ("Proofs", "/admin/proofs", "read"),
    ("Models", "/admin/models", "read"),
    ("Datasets", "/admin/datasets", "read"),
    ("Ceremonies", "/admin/ceremonies", "read"),
    ("Circuits", "/admin/circuits", "admin"),
    ("Webhooks", "/admin/webhooks", "manage"),
    ("Tenants", "/admin/tenants", "admin"),
    ("Keys", "/admin/keys", "manage"),
    ("Audit log", "/admin/audit", "manage"),
    ("Health", "/admin/health", "admin"),
)
"""Each with the scope that it takes, where one has not ``admin``."""

_environment = Environment(
    loader=PackageLoader("zenserve.service.dashboard"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_environment.filters |= {function.__name__: function for function in formats.FILTERS}


def compile_templates() -> None:
    """All at once, before there are threads: Python 3.11 cannot compile in several (gh-106905)."""
    for name in _environment.list_templates():
        _environment.get_template(name)


class PageRoute(APIRoute):
    """Errors are pages, too, with the status and words of the API's; who is not logged in comes to do so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                if request.method == "POST" and not request.url.path.endswith("/login"):
                    # Before the form is read, which may hold files.
                    await run_in_threadpool(visitor_of, request, request.app.state.runtime)
                return await handle(request)
            except (ZenError, RequestValidationError) as error:
                if isinstance(error, ZenError) and error.code == "auth.required":
                    return _to_login(request)
                known = error if isinstance(error, ZenError) else invalid(error.errors()[0])
                problem: Response = await request.app.exception_handlers[ZenError](request, known)
                return await run_in_threadpool(_error, request, problem)

        return answer


def page(
    request: Request, visitor: Visitor | None, template: str, status_code: int = 200, **values: Any
) -> HTMLResponse:
    """A page for this visitor; for nobody yet, where it is the one to log in on."""
    scopes = visitor.principal.scopes if visitor else frozenset()
    rooms = [(name, path) for name, path, scope in _ROOMS if not scopes.isdisjoint((scope, "admin"))]
    content = _environment.get_template(template).render(
        visitor=visitor,
        me=visitor.principal if visitor else None,
        rooms=rooms,
        path=request.url.path,
        now=now(),
        asks_for_keys=request.app.state.runtime.settings.auth == "keys",
        **values,
    )
    return HTMLResponse(content, status_code, {"Cache-Control": "no-store"})


def see(path: str) -> RedirectResponse:
    """The page to go on to, once a form is done."""
    return RedirectResponse(path, 303)


def link(path: str, **query: object) -> str:
    """A path with those of the parameters that say something."""
    told = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(told)}" if told else path


def invalid(first: Mapping[str, Any]) -> RequestError:
    """The first of what pydantic complains about. Of a list, the field is the list's."""
    field = next((str(place) for place in reversed(first["loc"]) if isinstance(place, str)), "form")
    return RequestError("request.invalid", f"{field}: {first['msg']}", field=field)


def _to_login(request: Request) -> RedirectResponse:
    asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return see(f"/admin/login?next={quote(asked, safe='')}" if request.method == "GET" else "/admin/login")


def _error(request: Request, problem: Response) -> HTMLResponse:
    try:
        visitor = visitor_of(request, request.app.state.runtime)
    except AccessError:
        visitor = None
    told = json.loads(bytes(problem.body))
    response = page(request, visitor, "error.html", problem.status_code, problem=told)
    if wait := problem.headers.get("Retry-After"):
        response.headers["Retry-After"] = wait
    return response


_environment.globals |= {
    "explained": EXPLAINED,
    "link": link,
    "setups": setups.WORDS,
    "static": pages.address,
    "zip": zip,
}
