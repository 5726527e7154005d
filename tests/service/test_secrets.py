"""Nothing secret is in a dump of PostgreSQL, in the store, in the logs or in what callers are answered."""

from __future__ import annotations

import json
import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from tests.programs import Find
from tests.servers import fresh_database
from tests.service.conftest import open_runtime
from tests.service.support import SECRET, serving, tiny_calibration, tiny_onnx, work_on
from zenserve.service import log
from zenserve.service.access import keys
from zenserve.service.access.principal import SCOPES
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.base import LOCAL_TENANT

INPUT = [SECRET, 0.2, 0.3, 0.4]
MASTER = "the operator's own secret"
_WEIGHTS = np.random.default_rng(7).normal(size=(5, 4)).astype(np.float32)


@pytest.fixture
def dumped(postgres_url: str, tmp_path: Path) -> Iterator[tuple[Runtime, str]]:
    """A service on PostgreSQL that asks for keys, and the URL to dump."""
    url = fresh_database(postgres_url)
    given = {"database_url": url, "broker_url": "redis://127.0.0.1:1/0", "secret_key": MASTER, "auth": "keys"}
    runtime = open_runtime(tmp_path / "data", **given)
    yield runtime, url
    runtime.close()


def test_what_a_thief_of_the_database_the_store_and_the_logs_does_not_find(
    dumped: tuple[Runtime, str], program: Find, caplog: pytest.LogCaptureFixture
) -> None:
    runtime, url = dumped
    caplog.set_level(logging.DEBUG, "zenserve")
    row, key = keys.make_key(LOCAL_TENANT, "all", list(SCOPES))
    with runtime.database.write() as session:
        session.add(row)
    with serving(runtime) as address, httpx.Client(base_url=address, timeout=60) as http:
        http.headers["Authorization"] = f"Bearer {key}"
        files = {"model": tiny_onnx(), "calibration": tiny_calibration()}
        made = http.post("/v1/models", files=files, data={"weight_privacy": "committed"}).json()
        work_on(runtime, made["id"])
        proof = {"model_id": made["id"], "input": INPUT}
        done, kept = (http.post("/v1/proofs", json=proof).json() for _ in range(2))
        work_on(runtime, done["id"])
        committed = http.post(
            "/v1/commitments", json={"model_id": made["id"], "kind": "input", "values": INPUT}
        ).json()
        opening = http.get(f"/v1/commitments/{committed['id']}/opening").json()["parts"][0]["opening"]
        webhook = http.post("/v1/webhooks", json={"url": "https://example.com/hook"}).json()
        login = httpx.post(f"{address}/admin/login", data={"key": key}, headers={"Origin": address})
        answers = [
            http.get(f"/v1/proofs/{kept['id']}").text,
            http.post("/v1/proofs", json={**proof, "input": [*INPUT, 1.0]}).text,
            http.post("/v1/proofs", json={**proof, "input": [SECRET * 1e9, 0, 0, 0]}).text,
            http.post("/v1/proofs", content=json.dumps(proof)[:-1]).text,
            http.get("/v1/proofs", headers={"Authorization": f"Bearer {key}x"}).text,
            http.get("/v1/audit").text,
            http.get("/metrics").text,
        ]
    dump = subprocess.run([program("pg_dump"), url], capture_output=True, check=True).stdout
    assert done["id"].encode() in dump
    places = {
        "dump": dump,
        "answers": "".join(answers).encode(),
        "logs": "\n".join(log._JsonFormatter().format(record) for record in caplog.records).encode(),
        "store": b"".join(
            path.read_bytes() for path in runtime.settings.data_dir.rglob("*") if path.is_file()
        ),
    }
    secrets = {
        "input": str(SECRET),
        "input, larger": str(SECRET * 1e9),
        "input as doubles": np.array(INPUT[:2]).tobytes(),
        "weights": _WEIGHTS[0].tobytes(),
        "opening": opening["blinding"],
        "opening as bytes": bytes.fromhex(opening["blinding"]),
        "key": key.split("_", 2)[2],  # which may have a "_" in it
        "webhook's secret": webhook["secret"].removeprefix("whsec_"),
        "cookie": login.cookies["zenserve_login"],
        "operator's secret": MASTER,
    }
    for name, secret in secrets.items():
        wanted = secret if isinstance(secret, bytes) else secret.encode()
        for place, content in places.items():
            assert wanted not in content, f"{name} in {place}"
            # pg_dump writes bytes in hex.
            assert place != "dump" or wanted.hex().encode() not in content, f"{name} in {place}"
