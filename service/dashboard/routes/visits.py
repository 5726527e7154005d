"""Logging in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Form, Request, Response
from starlette.concurrency import run_in_threadpool

from zenserve.codes import status_of
from zenserve.errors import AccessError, NotFoundError, ResourceError
from zenserve.service.access import keys
from zenserve.service.api.routes.dependencies import RuntimeDep
from zenserve.service.dashboard import sign_in, visitors
from zenserve.service.dashboard.pages import PageRoute, page, see
from zenserve.service.dashboard.sign_in import SignIn
from zenserve.service.dashboard.visitors import COOKIE, LIFETIME, Leaving, from_this_host
from zenserve.service.runtime import Runtime

if TYPE_CHECKING:
    from zenserve.service.access.issuer import Issuer

router = APIRouter(route_class=PageRoute)
_SIGN_IN = "/admin/login/issuer"


@router.get("/login")
def show_login(
    request: Request,
    runtime: RuntimeDep,
    next: str = "",  # noqa: A002  the parameter's name
    token: str = "",
) -> Response:
    # With other keys somebody could send others a link that logs them in as the sender.
    if keys.is_local(token) and runtime.settings.auth == "keys":
        return _log_in(request, runtime, token, next)
    return _login_page(request, next)


@router.post("/login", dependencies=[Depends(from_this_host)])
def log_in(
    request: Request,
    runtime: RuntimeDep,
    key: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "",  # noqa: A002
) -> Response:
    return _log_in(request, runtime, key.strip(), next)


@router.get("/login/issuer")
async def send_to_issuer(
    request: Request,
    runtime: RuntimeDep,
    next: str = "",  # noqa: A002
) -> Response:
    """Have the browser sign in at the OpenID provider."""
    issuer, begun = _issuer(request), SignIn.begin(next)
    try:
        place = await issuer.sign_in_url(_callback(request), begun.state, begun.nonce, begun.verifier)
    except ResourceError as error:
        return _login_page(request, next, error)
    response = see(place)
    _set_cookie(request, response, sign_in.COOKIE, begun.seal(runtime), sign_in.SECONDS, _SIGN_IN)
    return response


@router.get("/login/issuer/callback")
async def return_from_issuer(
    request: Request, runtime: RuntimeDep, state: str = "", code: str = "", iss: str | None = None
) -> Response:
    """Let the browser in that comes back from the OpenID provider, with a code for who its user is."""
    issuer, begun = _issuer(request), None
    try:
        begun = SignIn.open(runtime, request.cookies.get(sign_in.COOKIE, ""), state)
        visitors.count_attempt(request)
        is_answer = code and iss in (None, issuer.url)
        identity = (
            await issuer.redeem(code, _callback(request), begun.nonce, begun.verifier) if is_answer else None
        )
        cookie = await run_in_threadpool(visitors.log_in_as, runtime, request, issuer, identity)
    except (AccessError, ResourceError) as error:
        response = _login_page(request, begun.next if begun else "", error)
    else:
        response = _enter(request, cookie, begun.next)
    response.delete_cookie(sign_in.COOKIE, path=_SIGN_IN)
    return response


@router.post("/logout")
def log_out(request: Request, runtime: RuntimeDep, visitor: Leaving) -> Response:
    visitors.log_out(runtime, request, visitor)
    response = see("/admin/login")
    response.delete_cookie(COOKIE, path="/admin")
    return response


def _log_in(request: Request, runtime: Runtime, key: str, wanted: str) -> Response:
    try:
        cookie = visitors.log_in(runtime, request, key)
    except (AccessError, ResourceError) as error:
        return _login_page(request, wanted, error)
    return _enter(request, cookie, wanted)


def _login_page(
    request: Request, wanted: str, refusal: AccessError | ResourceError | None = None
) -> Response:
    issuer: Issuer | None = request.app.state.issuer
    return page(
        request,
        None,
        "login.html",
        403 if isinstance(refusal, AccessError) else status_of(refusal.code) if refusal else 200,
        next=wanted,
        refusal=refusal and refusal.message,
        sign_in=_SIGN_IN if issuer and issuer.signs_in else None,
        issuer=urlsplit(issuer.url).netloc if issuer else None,
    )


def _enter(request: Request, cookie: str, wanted: str) -> Response:
    """The page that they wanted, and a cookie for it."""
    response = see(_inside(wanted))
    _set_cookie(request, response, COOKIE, cookie, int(LIFETIME.total_seconds()), "/admin")
    return response


def _set_cookie(request: Request, response: Response, name: str, value: str, seconds: int, path: str) -> None:
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, max_age=seconds, path=path, secure=secure, httponly=True, samesite="lax")


def _issuer(request: Request) -> Issuer:
    issuer: Issuer | None = request.app.state.issuer
    if issuer is None or not issuer.signs_in:
        raise NotFoundError("not_found", "this service has no OpenID provider to sign in at")
    return issuer


def _callback(request: Request) -> str:
    """The address that the provider has to know, and where it sends browsers back to."""
    return f"{request.base_url}{_SIGN_IN.lstrip('/')}/callback"


def _inside(path: str) -> str:
    """Return the path that the visitor asked for if it is a page of the dashboard, else ``/admin``."""
    return path if path.startswith(("/admin/", "/admin?")) and "\\" not in path else "/admin"
