"""``zenserve streams``: from a bank to the file of a stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.service.streaming import add_bank_over, frame, judged, profile
from tests.service.support import serving, working
from zenserve.client import Client
from zenserve.service.runtime import Runtime


@pytest.fixture
def url(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Of a service with a worker, which commands ask."""
    with serving(runtime) as url, working(runtime):
        monkeypatch.setenv("ZENSERVE_URL", url)
        yield url


def test_a_stream_from_its_bank_to_its_file(run: Any, url: str, tmp_path: Path) -> None:
    given, labels = profile(), [0, 1, 0]
    profiled, frames, file = (tmp_path / name for name in ("profile.npz", "frames.npy", "stream.json"))
    np.savez(profiled, x=given["samples"], labels=given["labels"])
    np.save(frames, [frame(label) for label in labels])
    with Client(url) as client:
        models = add_bank_over(client)
        asked = "--backlog", 2, "--batch", 2, "--batch-seconds", 60, "--challenge", "me"
        code, said, _ = run("streams", "open", *models, "--profile", profiled, *asked, "--json")
        stream = json.loads(said)
        assert (code, stream["stage"], stream["backlog"], stream["challenge"]) == (0, "frames", 2, "me")
        code, said, _ = run("streams", "add", stream["id"], frames, "--end", "--field", "frames")
        assert (code, said) == (0, "3\n")
        list(client.follow_frames(stream["id"]))
        _, said, _ = run("streams", "frames", stream["id"], "--field", "label")
        assert said.split() == ["0", "1", "0"]
        assert run("streams", "file", stream["id"], "-o", file)[0] == 0
        verdict = judged(json.loads(file.read_text()), client.get_verification_key)
        assert (verdict.valid, verdict.labels, verdict.proofs) == (True, labels, [0, 0, 2])
    _, said, _ = run("streams", "list")
    assert stream["id"] in said
    _, said, _ = run("streams", "show", stream["id"])
    assert "3, of which 3 are over, and 2 may wait" in said
    assert "of 2 frames, which wait 60 s at most" in said
    code, _, complaint = run("streams", "open", *models, "--profile", frames)
    assert (code, "no labels" in complaint) == (2, True)
    assert run("streams", "delete", stream["id"])[0] == 0
