"""The TypeScript client: its types are those of the API, and it does its work with a real service."""

from __future__ import annotations

import json
from pathlib import Path

from scripts.openapi import description
from tests.service.accounts import add_key
from tests.service.conftest import open_runtime
from tests.service.support import serving, tiny_calibration, tiny_onnx, working
from tests.web.conftest import WEB, Node
from zenserve.service.access.principal import SCOPES
from zenserve.verifier.documents import KeyFile, ProofDocument, checked
from zenserve.verifier.judging import judge


def test_its_types_are_the_api(node: Node) -> None:
    written = node("schema.ts", given=json.dumps(description()))
    assert written.returncode == 0, written.stderr
    assert (WEB / "client" / "schema.ts").read_text() == written.stdout, "run: make web"


def test_a_session_with_a_service(node: Node, tmp_path: Path) -> None:
    """From a network's file to a verdict."""
    runtime = open_runtime(tmp_path / "data", auth="keys")
    (tmp_path / "network.onnx").write_bytes(tiny_onnx())
    (tmp_path / "calibration.npy").write_bytes(tiny_calibration())
    with serving(runtime) as url, working(runtime):
        environment = {"ZENSERVE_URL": url, "ZENSERVE_API_KEY": add_key(runtime, *SCOPES)}
        told = node("tests/session.ts", str(tmp_path), environment=environment)
    runtime.close()
    assert told.returncode == 0, told.stderr
    seen = json.loads(told.stdout)
    assert seen.pop("constraints") > 0
    assert seen.pop("states")[-1] == "succeeded"
    assert len(set(seen.pop("ids"))) == 1
    assert seen.pop("stopped") in ("canceled", "conflict.finished")
    assert seen == {
        "model": ["tiny", "succeeded", {"run": "17"}],
        "once": True,
        "verdict": [True, "ok", "lunch"],
        "own": [True, "ok"],
        "same": True,
        "other": [False, "challenge_mismatch"],
        "commitments": 3,
        "uploaded": True,
        "refusal": [422, "input.shape", "input"],
        "ready": True,
        "caller": len(SCOPES),
    }
    document = checked(ProofDocument, json.loads((tmp_path / "proof.json").read_text()))
    assert judge(document, checked(KeyFile, json.loads((tmp_path / "key.json").read_text()))).valid
