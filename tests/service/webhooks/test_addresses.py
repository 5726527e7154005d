"""Where messages may go."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.patience import until
from tests.refusals import refuses
from tests.service.webhooks.receiver import LOOPBACK, attempts, courier, deliveries, end, hook, receiver
from zenserve.errors import RequestError
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler import outbound
from zenserve.service.scheduler.outbound import Outbound, RefusedError, check_url, is_allowed
from zenserve.service.storage.database import now

PRIVATE = [
    "0.0.0.0",  # noqa: S104
    "10.1.2.3",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.192",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_no_private_address_is_told_anything(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    with refuses("request.url"):
        check_url(f"https://{host}/", [])
    assert sent_to(monkeypatch, ["93.184.216.34", address]) == outbound.NOT_PUBLIC


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"])
def test_public_addresses_are(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    check_url(f"https://{host}:8443/path?query", [])
    assert is_allowed(ipaddress.ip_address(address), [])
    assert not is_allowed(ipaddress.ip_address(address), LOOPBACK, plain=True)


def test_a_name_without_an_address_is_not_told_from_a_private_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else deliveries would tell which names the operator's own network has."""

    def unknown(*_: object, **__: object) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    private = sent_to(monkeypatch, ["10.0.0.1"])
    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    async def post() -> None:
        async with Outbound([]) as out:
            await out.post("https://hook.example/", b"{}", {})

    with pytest.raises(RefusedError) as refused:
        asyncio.run(post())
    assert outbound.reason_of(refused.value) == private == outbound.NOT_PUBLIC


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "localhost", "localhost."])
def test_other_ways_to_write_this_host_lead_nowhere(host: str) -> None:
    async def post() -> None:
        async with Outbound([]) as out:
            await out.post(f"https://{host}/", b"", {})

    with pytest.raises(RefusedError):
        asyncio.run(post())


def sent_to(monkeypatch: pytest.MonkeyPatch, addresses: list[str]) -> str | int:
    """What comes of a message to a name that has these addresses."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", (a, 443)) for a in addresses])

    async def post() -> str | int:
        async with Outbound([]) as out:
            try:
                return await out.post("https://hook.example/", b"{}", {})
            except Exception as error:
                return outbound.reason_of(error)

    return asyncio.run(post())


def test_a_name_that_leads_elsewhere_the_second_time_is_looked_up_once(
    open_networks: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: first an address that is allowed, then one that is not."""
    asked: list[str] = []

    def rebinding(host: str, port: int, **_: object) -> list[Any]:
        asked.append(host)
        return [(0, 0, 0, "", ("127.0.0.1" if len(asked) == 1 else "169.254.169.254", port))]

    with receiver() as endpoint:
        port = endpoint.url.split(":")[2]
        hook(open_networks, f"http://rebinding.example:{port}")
        end(open_networks)
        monkeypatch.setattr(socket, "getaddrinfo", rebinding)
        with courier(open_networks):
            until(lambda: deliveries(open_networks)[0].state == "delivered")
    assert asked == ["rebinding.example"]
    assert endpoint.came[0][0]["host"] == f"rebinding.example:{port.split('/')[0]}"


def test_proxies_of_the_environment_are_not_asked(
    open_networks: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver() as endpoint, receiver() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        hook(open_networks, endpoint.url)
        end(open_networks)
        with courier(open_networks):
            until(lambda: deliveries(open_networks)[0].state == "delivered")
    assert proxy.came == []


@pytest.mark.parametrize("name", ["hook.example", "other.example"])
def test_a_certificate_has_to_be_for_the_name(
    open_networks: Runtime, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    certificate, key = self_signed(tmp_path, "hook.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setattr(socket, "getaddrinfo", lambda _, port, **__: [(0, 0, 0, "", ("127.0.0.1", port))])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with receiver(tls=context) as endpoint:
        hook(open_networks, endpoint.url.replace("http://127.0.0.1", f"https://{name}"))
        end(open_networks)
        with courier(open_networks):
            until(lambda: deliveries(open_networks)[0].attempts)
    expected = 204 if name == "hook.example" else "the certificate is not valid for the host"
    assert attempts(open_networks) == [[expected]]


def self_signed(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for a name, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now() - timedelta(days=1))
        .not_valid_after(now() + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return files


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hook",
        "ftp://example.com/",
        "http://example.com/",
        "https://",
        "https:///path",
        "https://user:password@example.com/",
        "https://user@example.com/",
        "https://exa mple.com/",
        "https://example.com:0/",
        "https://example.com:99999/",
        "https://example.com:port/",
        "https://-example.com/",
        "https://[::1",
        "https://2130706433/",
        "https://127.1/",
        f"https://{'a' * 300}.com/",
        "https://example.com/\n",
    ],
)
def test_a_url_that_cannot_be_told_anything_is_refused_at_the_door(url: str) -> None:
    with refuses("request.url", "url"):
        check_url(url, [])


def test_operators_can_allow_private_networks() -> None:
    check_url("http://127.0.0.1:8080/", LOOPBACK)
    check_url("http://receiver:8080/", LOOPBACK)
    with pytest.raises(RequestError):
        check_url("http://10.0.0.1/", LOOPBACK)
