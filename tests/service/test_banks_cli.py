"""``zenserve banks``: from one network to proven accuracies of all that were made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.service.support import serving, working
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.onnx.write import to_onnx
from zenserve.client import Client
from zenserve.service.runtime import Runtime
from zenserve.verifier.claims import ClaimsFile, judge_claims
from zenserve.verifier.datasets import by_class, load
from zenserve.verifier.documents import KeyFile, checked
from zenserve.verifier.keys import opened

CLASSES, PIXELS = 2, 6


@pytest.fixture
def url(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> Any:
    with serving(runtime) as url, working(runtime):
        monkeypatch.setenv("ZENSERVE_URL", url)
        yield url


def network(folder: Path) -> tuple[Path, Path]:
    """One that tells which half of its input is larger, by way of layers that it hardly needs."""
    rng = np.random.default_rng(0)
    halves = np.repeat(np.eye(CLASSES), PIXELS // CLASSES, axis=1)
    mixed = rng.normal(size=(40, CLASSES))
    graph = tensor("x", PIXELS).dense(mixed @ halves).relu().dense(np.linalg.pinv(mixed)).graph()
    labels = np.arange(64) % CLASSES
    x = rng.random((64, PIXELS)) + 0.5 * halves[labels]
    onnx, data = folder / "network.onnx", folder / "data.npz"
    onnx.write_bytes(to_onnx(graph))
    np.savez(data, samples=x, labels=labels)
    return onnx, data


def test_a_bank_from_its_network_to_its_claims(run: Any, url: str, tmp_path: Path) -> None:
    onnx, data = network(tmp_path)
    folder, keys, claims = tmp_path / "bank", tmp_path / "bank/keys", tmp_path / "bank/claims.json"
    code, said, _ = run("banks", "make", onnx, folder, "--data", data, "--json")
    made = json.loads(said)
    assert code == 0
    assert [each["name"] for each in made["models"]][:2] == ["full", "small-1"]
    code, said, _ = run("banks", "register", folder, "--json")
    models = json.loads(said)["models"]
    assert (code, len(models)) == (0, len(made["models"]))
    stream = _filmed(run, url, models, folder)
    file = checked(ClaimsFile, json.loads(claims.read_text()))
    held = [opened(checked(KeyFile, json.loads(each.read_text()))) for each in keys.glob("*.json")]
    known = {key.reference.id: key for key in held}
    classes = by_class(load(folder / "profile.npz"))
    verdict = judge_claims(file, known, classes)
    assert verdict.valid
    correct = [sum(model.correct) / sum(verdict.sizes) for model in verdict.models]
    assert [round(each, 4) for each in correct] == [each["accuracy"] for each in made["models"]]
    code, said, _ = run("verify", claims, "--keys", keys, "--dataset", folder / "profile.npz")
    assert (code, "over the given samples" in said) == (0, True)
    assert run("verify", claims, "--keys", keys, "--dataset", data)[0] == 1  # others of these classes
    _refuses_others(file, known, classes)
    code, said, _ = run("verify", stream, "--keys", keys, "--claims", claims)
    assert (code, "rightly" in said, "give it with --claims" in said) == (0, True, False)
    others = file.model_copy(update={"models": file.models[::-1]})
    claims.write_text(others.model_dump_json())
    code, said, _ = run("verify", stream, "--keys", keys, "--claims", claims)
    assert (code, "model_mismatch" in said) == (1, True)


def _filmed(run: Any, url: str, models: list[str], folder: Path) -> Path:
    """The file of a stream of one frame; its keys go to the others."""
    frames, file = folder / "frames.npy", folder / "stream.json"
    np.save(frames, load(folder / "profile.npz").samples[:1])
    code, said, _ = run("streams", "open", *models, "--profile", folder / "profile.npz", "--field", "id")
    assert code == 0
    assert run("streams", "add", said.strip(), frames, "--end")[0] == 0
    with Client(url) as client:
        list(client.follow_frames(said.strip()))
        for model in client.get_stream_file(said.strip())["head"]["bank"]["models"]:
            key = client.get_verification_key(model["verification_key"])
            (folder / "keys" / f"{key['id']}.json").write_text(json.dumps(key))
    assert run("streams", "file", said.strip(), "-o", file)[0] == 0
    return file


def _refuses_others(file: ClaimsFile, known: Any, classes: Any) -> None:
    first, second, *_ = file.models
    turned = first.model_copy(update={"accuracies": first.accuracies[::-1]})
    praised = second.model_copy(update={"accuracies": first.accuracies})
    renamed = second.model_copy(update={"commitment": first.commitment})
    edited = first.accuracies[0].model_copy(update={"proofs": first.accuracies[1].proofs})
    broken = first.model_copy(update={"accuracies": [edited, *first.accuracies[1:]]})
    for models, given, reason in (
        ([first, praised], known, "model_mismatch"),
        ([first, renamed], known, "model_mismatch"),
        (
            [first, second.model_copy(update={"accuracies": second.accuracies[::-1]})],
            known,
            "dataset_mismatch",
        ),
        ([turned], known, "dataset_mismatch"),
        ([broken], known, "dataset_mismatch"),  # another shard's proof
        ([first], {}, "no_key"),
    ):
        verdict = judge_claims(file.model_copy(update={"models": models}), given, classes)
        assert (verdict.valid, verdict.reason) == (False, reason)


def test_what_stands_in_the_way_is_named(run: Any, tmp_path: Path) -> None:
    onnx, _ = network(tmp_path)
    np.save(tmp_path / "x.npy", np.zeros((8, PIXELS)))
    code, _, complaint = run("banks", "make", onnx, tmp_path / "bank", "--data", tmp_path / "x.npy")
    assert (code, "--labels" in complaint) == (2, True)
    (tmp_path / "empty").mkdir()
    code, _, complaint = run("banks", "register", tmp_path / "empty")
    assert (code, "bank.json" in complaint) == (2, True)
