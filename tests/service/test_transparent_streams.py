"""Streams over banks whose models need no setup, or are of several proof systems."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, select

from tests.patience import PATIENCE_SECONDS
from tests.service.streaming import RESTLESS, add_bank, add_frame, open_stream
from tests.service.support import serving, work_on
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.openings import Root
from zenserve.verifier import command

LABELS = [0, 1, 0, 2, 3, 2]


@pytest.mark.parametrize(
    "systems",
    [
        ("spartan-bls12-381", "spartan-bls12-381"),
        pytest.param(("spartan-bls12-381", "groth16-bls12-381"), marks=pytest.mark.large),
    ],
)
def test_commitments_are_renewed_from_frame_to_frame(
    runtime: Runtime, tmp_path: Path, capsys: pytest.CaptureFixture[str], systems: tuple[str, str]
) -> None:
    """Whatever systems the models of a bank are of, one file has all frames, and strangers judge it."""
    with serving(runtime) as url, httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as http:
        models = add_bank(runtime, http, *systems, weight_privacy="committed")
        stream_id = open_stream(runtime, http, models, rules=RESTLESS, backlog=len(LABELS))
        used = []
        for number, label in enumerate(LABELS):
            proof_id = add_frame(http, stream_id, number, label).json()["proof_id"]
            work_on(runtime, proof_id)
            used.append(http.get(f"/v1/proofs/{proof_id}").json()["model_id"])
        file = http.get(f"/v1/streams/{stream_id}/file").json()
        for key in {model["verification_key"] for model in file["head"]["bank"]["models"]}:
            document = http.get(f"/v1/verification-keys/{key}")
            (tmp_path / f"{key}.json").write_bytes(document.content)
            if document.json()["setup"] == "transparent":
                circuit = http.get(f"/v1/verification-keys/{key}/circuit").content
                (tmp_path / f"{key}.zen").write_bytes(circuit)
    assert sum(a != b for a, b in pairwise(used)) >= 2
    with runtime.database.read() as session:
        renewed = session.scalar(select(func.count()).where(Root.depth > 0))
    assert renewed
    told = tmp_path / "stream.zs"
    told.write_text(json.dumps(file))
    assert command.main([str(told), "--keys", str(tmp_path)]) == 0
    assert f"There are {len(LABELS)} frames in this order, 0 of them" in capsys.readouterr().out
