"""The image that `make image` built: what is in it, and that it serves. `make image-test` runs this."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.patience import until
from tests.programs import find
from tests.servers import free_port
from tests.service.support import tiny_calibration, tiny_onnx
from zenserve.client import Client

MOST_MEGABYTES = 500
SERVE = "zenserve serve & read -r _; kill $!; wait"


def buildah(*command: str) -> str:
    done = subprocess.run([find("buildah"), *command], check=True, stdout=subprocess.PIPE)
    return done.stdout.decode().strip()


@pytest.fixture(scope="module")
def container() -> Iterator[str]:
    name = buildah("from", "localhost/zenserve")
    yield name
    buildah("rm", name)


def run(container: str, *command: str, options: tuple[str, ...] = ()) -> str:
    return buildah("run", "--isolation", "chroot", *options, container, "--", *command)


@pytest.fixture
def service(container: str) -> Iterator[Client]:
    """`zenserve serve` in the container, until its standard input ends."""
    port = free_port()
    settings = ("--env", f"ZENSERVE_PORT={port}", "--env", "ZENSERVE_BASIS_POINTS=256")
    process = subprocess.Popen(
        [find("buildah"), "run", "--isolation", "chroot", *settings, container, "--", "sh", "-c", SERVE],
        stdin=subprocess.PIPE,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        with Client(url) as client:
            until(client.is_ready, "the service in the image")
        key = run(container, "zenserve", "token", options=("--env", f"ZENSERVE_URL={url}"))
        with Client(url, api_key=key) as client:
            yield client
    finally:
        process.communicate()


def test_it_is_small_and_has_no_tools_to_build_with(container: str) -> None:
    folder = buildah("mount", container)
    size = subprocess.run([find("du"), "-sxm", folder], check=True, stdout=subprocess.PIPE).stdout
    assert int(size.split()[0]) < MOST_MEGABYTES
    for tool in ("/usr/bin/g++", "/opt/zenserve/bin/pip", "/source"):
        assert not os.path.exists(folder + tool)


def test_it_runs_as_nobody_in_particular(container: str) -> None:
    assert run(container, "id", "-u") == "10001"
    config = json.loads(buildah("inspect", container))["Docker"]["config"]
    assert (config["User"], config["Entrypoint"], config["Cmd"]) == ("10001", ["zenserve"], ["api"])


def test_it_makes_a_proof(service: Client) -> None:
    model = service.wait(service.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="committed"))
    proof = service.wait(service.create_proof(model.id, [0.1, 0.2, 0.3, 0.4]))
    assert service.verify(service.get_proof_document(proof.id)).valid
