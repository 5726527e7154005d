"""Logging in and out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request, Response

from service.access import keys
from service.api.routes.dependencies import RuntimeDep
from service.dashboard import visitors
from service.dashboard.pages import PageRoute, page, see
from service.dashboard.visitors import COOKIE, LIFETIME, Leaving, from_this_host
from service.runtime import Runtime
from zenerrors import AccessError, ResourceError

router = APIRouter(route_class=PageRoute)


@router.get("/login")
def show_login(
    request: Request,
    runtime: RuntimeDep,
    next: str = "",  # noqa: A002  the parameter's name
    token: str = "",
) -> Response:
    # With other keys somebody could send others a link that logs them in as the sender.
    if keys.is_local(token) and runtime.settings.auth == "keys":
        return _let_in(request, runtime, token, next)
    return page(request, None, "login.html", next=next, refusal=None)


@router.post("/login", dependencies=[Depends(from_this_host)])
def log_in(
    request: Request,
    runtime: RuntimeDep,
    key: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "",  # noqa: A002
) -> Response:
    return _let_in(request, runtime, key.strip(), next)


@router.post("/logout")
def log_out(request: Request, runtime: RuntimeDep, visitor: Leaving) -> Response:
    visitors.log_out(runtime, request, visitor)
    response = see("/admin/login")
    response.delete_cookie(COOKIE, path="/admin")
    return response


def _let_in(request: Request, runtime: Runtime, key: str, wanted: str) -> Response:
    """The page that they wanted, and a cookie for it."""
    try:
        cookie = visitors.log_in(runtime, request, key)
    except (AccessError, ResourceError) as error:
        status = 429 if isinstance(error, ResourceError) else 403
        return page(request, None, "login.html", status, next=wanted, refusal=error.message)
    response = see(_inside(wanted))
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=int(LIFETIME.total_seconds()),
        path="/admin",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
    return response


def _inside(path: str) -> str:
    """Where they wanted to go, if it is a page of ours."""
    return path if path.startswith(("/admin/", "/admin?")) and "\\" not in path else "/admin"
