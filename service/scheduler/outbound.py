"""Requests to addresses that callers name, which must not become requests to the operator's own network.

The name is looked up once, every address it has must be allowed, and the connection goes to one of these:
a name that answers differently a moment later changes nothing. Certificates are checked for the name.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import ssl
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Self

import httpx

from zenserve.errors import RequestError

LONGEST_SECONDS = 10.0
CONNECT_SECONDS = 3.0
READ_BYTES = 1024
MOST_ADDRESSES = 4

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAME = re.compile(
    r"(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)*[a-z]([a-z0-9-]{0,61}[a-z0-9])?\.?"
)
NOT_PUBLIC = "the host has no address, or one that is not public"
"""One reason for both: callers must not learn which names the operator's own network has."""
_GLOBAL_V6 = ipaddress.ip_network("2000::/3")
# Python calls some of these global.
_NOT_GLOBAL: tuple[Network, ...] = (
    ipaddress.ip_network("168.63.129.16/32"),  # the metadata service of a cloud
    ipaddress.ip_network("192.0.0.0/24"),  # for protocols, and the metadata service of another cloud
    ipaddress.ip_network("192.88.99.0/24"),  # relays to IPv6
    ipaddress.ip_network("2001::/23"),  # for protocols; Teredo has an IPv4 address inside
    ipaddress.ip_network("2002::/16"),  # 6to4, likewise
    ipaddress.ip_network("3fff::/20"),  # for documentation
)


class RefusedError(Exception):
    """Not sent: the reason is fit to be shown to whoever named the address."""


def check_url(url: str, networks: Sequence[Network]) -> None:
    """Check that this URL could be sent to at all.

    No name is looked up: it may lead anywhere by the time of sending, which checks again. Raises
    ``RequestError`` (``request.url``).
    """
    try:
        parsed = httpx.URL(url)
        port = parsed.port
    except (httpx.InvalidURL, ValueError):
        raise _bad("this is no URL; give https://HOST/PATH") from None
    if parsed.scheme != "https" and not (parsed.scheme == "http" and networks):
        raise _bad("give a URL that begins with https://")
    if parsed.userinfo:
        raise _bad("a URL with credentials in it would be kept and shown in the clear; leave them out")
    if port is not None and not 0 < port < 65536:
        raise _bad("the port is not one between 1 and 65535")
    host = parsed.raw_host.decode("ascii").lower()
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        if not _NAME.fullmatch(host):
            raise _bad("the host is neither a name nor an address") from None
        return
    if not is_allowed(address, networks, plain=parsed.scheme == "http"):
        raise _bad("the address is not a public one, or http:// is not allowed there")


def is_allowed(address: Address, networks: Sequence[Network], *, plain: bool = False) -> bool:
    """Return whether the address is public, or in a network that the operator allows.

    Only in such a network is sending without TLS (``plain``) allowed. An IPv6 address with an IPv4 address
    inside is not public: the network decides where it leads.
    """
    if any(address in network for network in networks):
        return True
    return not plain and _is_global(address)


def _is_global(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_V6:
        return False
    return (
        address.is_global
        and not address.is_multicast
        and not any(address in network for network in _NOT_GLOBAL)
    )


def _bad(reason: str) -> RequestError:
    return RequestError("request.url", f"url: {reason}", field="url")


class Outbound:
    """A client for such requests. One for each event loop."""

    def __init__(self, networks: Sequence[Network]) -> None:
        self._networks = networks
        # Kept connections would be shared between names with one address, unseen by the certificate's check.
        self._client = httpx.AsyncClient(
            verify=httpx.create_ssl_context(),
            trust_env=False,
            follow_redirects=False,
            timeout=httpx.Timeout(LONGEST_SECONDS, connect=CONNECT_SECONDS, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        )
        # Apart from the loop's own threads: look-ups that hang must not hold up the database. They go on when
        # nobody waits for them any more, so there are more than all webhooks of a tenant can keep.
        self._resolvers = ThreadPoolExecutor(256, "resolver")

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """The status of the answer. Raises ``RefusedError``, ``TimeoutError`` after ten seconds all in all,
        however busy the other side keeps the connection, and ``httpx.TransportError``.
        """
        async with asyncio.timeout(LONGEST_SECONDS):
            parsed = httpx.URL(url)
            addresses = await self._resolve(parsed)
            for address in addresses[:-1]:
                try:
                    return await self._post(parsed, address, body, headers)
                except (httpx.ConnectError, httpx.ConnectTimeout):  # nothing was sent
                    continue
            return await self._post(parsed, addresses[-1], body, headers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._resolvers.shutdown(wait=False, cancel_futures=True)
        await self._client.aclose()

    async def _resolve(self, url: httpx.URL) -> list[Address]:
        """The addresses of the host, all of them allowed."""
        host = url.raw_host.decode("ascii")
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            found = await asyncio.get_running_loop().run_in_executor(
                self._resolvers, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            )
        except (OSError, UnicodeError):
            raise RefusedError(NOT_PUBLIC) from None
        addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
        plain = url.scheme == "http"
        if not all(is_allowed(address, self._networks, plain=plain) for address in addresses):
            raise RefusedError(NOT_PUBLIC)
        return list(dict.fromkeys(addresses))[:MOST_ADDRESSES]

    async def _post(self, url: httpx.URL, address: Address, body: bytes, headers: Mapping[str, str]) -> int:
        request = self._client.stream(
            "POST",
            url.copy_with(host=str(address)),
            content=body,
            headers={**headers, "Host": url.netloc.decode("ascii")},
            extensions={"sni_hostname": url.raw_host.decode("ascii").rstrip(".")},
        )
        async with request as response:
            # Read a little, so that a short answer is not cut off; what it says does not matter.
            size = 0
            async for chunk in response.aiter_raw(READ_BYTES):
                size += len(chunk)
                if size >= READ_BYTES:
                    break
            return response.status_code


def reason_of(error: Exception) -> str:
    """Return the reason to tell the owner of the address.

    The exception's message is never told: it quotes addresses.
    """
    if isinstance(error, RefusedError):
        return str(error)
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return "no answer in time"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return "the certificate is not valid for the host"
        cause = cause.__cause__ or cause.__context__
    return "the connection failed"
