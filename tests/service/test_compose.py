"""What docker-compose.yml says, as processes of this host: its commands, environments and order, on Debian's
PostgreSQL, Redis and nginx, and a stand-in for the store; and a proof that is asked for through the proxy.
"""

from __future__ import annotations

import json
import os
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
import yaml

from tests.patience import PATIENCE_SECONDS, until
from tests.programs import Find
from tests.servers import Nginx, Postgres, free_port
from tests.service.support import tiny_calibration, tiny_onnx
from tests.service.test_deployment import COMPOSE, FILLED_IN, ROOT, SERVICES, substituted
from zenserve.client import Client

ZENSERVE = (sys.executable, "-c", "from zenserve.service.cli import main; main()")
"""The image's entry point."""
RUN = ("proxy", "worker-cpu", "beat")
"""And what they depend on."""
CALLER, LIE = "127.0.0.9", "203.0.113.7"


class Deployment:
    """The services, each started once those are up that it depends on."""

    def __init__(self, folder: Path, program: Find) -> None:
        self.folder, self.program = folder, program
        self._servers = ExitStack()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._started: dict[str, subprocess.Popen[bytes] | None] = {"objects": None}
        few = {"ZENSERVE_BASIS_POINTS": "256", "ZENSERVE_THREADS": "1", "ZENSERVE_PROCESSES": "1"}
        self._given = FILLED_IN | few
        self._given |= {name: os.environ[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
        self._here = {
            "objects:8333": urlsplit(os.environ["AWS_ENDPOINT_URL"]).netloc,
            "0.0.0.0": "127.0.0.1",  # noqa: S104
            SERVICES["proxy"]["networks"]["front"]["ipv4_address"]: "127.0.0.1",
        }
        for place in ("redis:6379", "api:8000"):
            self._here[place] = f"127.0.0.1:{free_port()}"

    def start(self, name: str) -> None:
        about = SERVICES[name]
        for other, how in about.get("depends_on", {}).items():
            if other not in self._started:
                self.start(other)
            if (process := self._started[other]) and "completed" in how["condition"]:
                assert process.wait() == 0, (self.folder / "log").read_text()
        own = {"postgres": self._postgres, "redis": self._redis, "proxy": self._proxy}
        self._started[name] = own[name]() if name in own else self._ours(name)

    def execute(self, name: str, *command: str) -> str:
        """As `docker compose exec` does; what was printed."""
        done = subprocess.run(
            [*ZENSERVE, *command], env=self._environment(name), check=True, stdout=subprocess.PIPE
        )
        return done.stdout.decode().strip()

    def stop(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(PATIENCE_SECONDS)
        self._servers.close()

    def _local(self, value: object) -> str:
        """As Compose substitutes it, with places on this host."""
        places = "|".join(map(re.escape, self._here))
        return re.sub(places, lambda found: self._here[found[0]], substituted(value, self._given))

    def _environment(self, name: str) -> dict[str, str]:
        """The service's own, and of this host's what it takes to run a program at all."""
        handed_on = {
            variable: self._given.get(variable) if value is None else self._local(value)
            for variable, value in SERVICES[name]["environment"].items()
        }
        image = {"PATH": os.environ["PATH"], "ZENSERVE_DATA_DIR": str(self.folder / name)}
        image["ZENSERVE_PORT"] = self._here["api:8000"].partition(":")[2]
        return image | {variable: value for variable, value in handed_on.items() if value is not None}

    def _run(self, *command: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("a") as log:
            process = subprocess.Popen(
                [self.program("setpriv"), "--pdeathsig", "TERM", *command],
                env=env, cwd=self.folder, stdout=log, stderr=log,
            )  # fmt: skip
        self._processes.append(process)
        return process

    def _ours(self, name: str) -> subprocess.Popen[bytes]:
        process = self._run(*ZENSERVE, *SERVICES[name]["command"], env=self._environment(name))
        if name == "api":
            until(self._listens, "the API to listen")  # to ask by a command takes a processor for a while
            until(self._is_healthy, "the API")
        return process

    def _listens(self) -> bool:
        host, _, port = self._here["api:8000"].partition(":")
        with socket.socket() as probe:
            return probe.connect_ex((host, int(port))) == 0

    def _is_healthy(self) -> bool:
        """As the image finds it out."""
        check = re.search(r"HEALTHCHECK .*\\\n +CMD (\[.+\])", (ROOT / "Dockerfile").read_text())
        assert check is not None
        command = json.loads(check[1].replace("127.0.0.1:8000", self._here["api:8000"]))
        return subprocess.run([sys.executable, *command[1:]], stderr=subprocess.DEVNULL).returncode == 0

    def _postgres(self) -> None:
        server = Postgres(self.program)
        self._servers.callback(server.close)
        asked = {name: self._local(value) for name, value in SERVICES["postgres"]["environment"].items()}
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {asked['POSTGRES_DB']}".encode())
            connection.execute(
                f"ALTER USER {asked['POSTGRES_USER']} PASSWORD '{asked['POSTGRES_PASSWORD']}'".encode()
            )
        self._here["postgres:5432"] = f"127.0.0.1:{server.port}"

    def _redis(self) -> subprocess.Popen[bytes]:
        name, *options = map(self._local, SERVICES["redis"]["command"])
        host, _, port = self._here["redis:6379"].partition(":")
        return self._run(self.program(name), *options, "--bind", host, "--port", port)

    def _proxy(self) -> None:
        about = SERVICES["proxy"]
        assert about["secrets"] == ["tls_certificate", "tls_key"]
        assert yaml.safe_load(COMPOSE)["secrets"].keys() >= set(about["secrets"])
        (mounted,) = about["volumes"]
        self.proxy = Nginx(self.program, self._here["api:8000"], ROOT / mounted.partition(":")[0])
        self._servers.callback(self.proxy.close)


@pytest.fixture(scope="module")
def deployment(program: Find, tmp_path_factory: pytest.TempPathFactory, s3: str) -> Iterator[Deployment]:
    for name in ("nginx", "openssl"):
        program(name)
    deployment = Deployment(tmp_path_factory.mktemp("compose"), program)
    try:
        for name in RUN:
            deployment.start(name)
        yield deployment
    finally:
        deployment.stop()


@pytest.fixture(scope="module")
def key(deployment: Deployment) -> str:
    """Of an operator, as docs/operations.md makes it."""
    tenant = deployment.execute("api", "tenants", "add", "Example")
    scopes = ("read", "prove", "register", "admin")
    return deployment.execute("api", "keys", "add", tenant, *scopes, "--name", "ci", "--days", "90")


@pytest.fixture
def caller(deployment: Deployment, key: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """Somebody outside, who trusts the proxy's certificate, and calls from an address of its own."""
    context = ssl.create_default_context(cafile=deployment.proxy.certificate)
    with Client(deployment.proxy.url, api_key=key) as client:
        client._http._transport = httpx.HTTPTransport(verify=context, local_address=CALLER)
        client._http.headers["X-Forwarded-For"] = LIE
        yield client


def test_a_proof_through_the_proxy(caller: Client) -> None:
    assert caller.is_ready()
    model = caller.wait(caller.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="committed"))
    seen: list[Any] = []
    proof = caller.wait(caller.create_proof(model.id, [0.1, 0.2, 0.3, 0.4]), on_progress=seen.append)
    assert proof.state == "succeeded"
    assert seen, "events came through"
    assert caller.verify(caller.get_proof_document(proof.id)).valid


def test_the_api_knows_the_caller_from_the_proxy_and_from_nobody_else(caller: Client) -> None:
    addresses = {entry["address"] for entry in caller._http.get("/v1/audit").json()["items"]}
    assert CALLER in addresses
    assert LIE not in addresses


def test_metrics_and_what_is_too_large_stay_outside(caller: Client) -> None:
    answers = {
        404: caller._http.get("/metrics"),
        413: caller._http.put("/v1/uploads/x", content=bytes(65 << 20)),
        431: caller._http.get("/healthz", headers={"X-Long": "x" * 10_000}),
        414: caller._http.get("/" + "x" * 10_000),
    }
    for status, answer in answers.items():
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == status
    assert answers[413].json()["code"] == "request.too_large"


@pytest.mark.large
def test_the_proxy_says_that_the_api_is_away(program: Find) -> None:
    """As while it is started again: callers who may send a request again do so, and no sooner."""
    proxy = Nginx(program, f"127.0.0.1:{free_port()}")
    context = ssl.create_default_context(cafile=proxy.certificate)
    try:
        answer = httpx.get(f"{proxy.url}/v1/proofs", verify=context)
    finally:
        proxy.close()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert (answer.json()["status"], answer.json()["code"]) == (503, "resource.busy")
