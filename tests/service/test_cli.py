"""The command line, as a user meets it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save
from PIL import Image

from tests.service.support import labelled, npy, tiny_calibration, tiny_onnx, work_on, work_on_all
from zenserve.client import Client, Model, Proof
from zenserve.service.runtime import Runtime


@pytest.fixture
def run(run: Any, url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("ZENSERVE_URL", url)
    monkeypatch.setattr("zenserve.service.cli.shared.PATIENCE_SECONDS", 0.0)
    return run


@pytest.fixture
def files(tmp_path: Path, api: Client, with_model: Runtime, model: Model) -> tuple[Path, Path]:
    """A proof document and its key, as files."""
    proof = api.create_proof(model.id, [0.1, 0.2, 0.3, 0.4])
    work_on(with_model, proof.id)
    document = api.get_proof_document(proof.id)
    key = api.get_verification_key(document["statement"]["verification_key"]["id"])
    for name, content in (("proof.json", document), ("key.json", key)):
        (tmp_path / name).write_text(json.dumps(content))
    return tmp_path / "proof.json", tmp_path / "key.json"


def test_help_names_every_command(run: Any) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert all(
        word in out
        for word in ("serve", "models", "datasets", "commit", "prove", "proof", "key", "verify", "cancel")
    )


def test_models(run: Any, tmp_path: Path, model: Model) -> None:
    (tmp_path / "m.onnx").write_bytes(tiny_onnx())
    (tmp_path / "c.npy").write_bytes(tiny_calibration())
    code, out, _ = run("models", "add", tmp_path / "m.onnx", "--calibration", tmp_path / "c.npy", "--no-wait")
    assert code == 0
    assert "mdl_" in out
    assert "queued" in out
    assert " in 8 bits" in out  # how far the calibration reached, and the integers do
    (tmp_path / "l.npy").write_bytes(npy(np.zeros(32, int)))
    given = (tmp_path / "m.onnx", "--calibration", tmp_path / "c.npy", "--labels", tmp_path / "l.npy")
    assert "of 32 samples" in run("models", "add", *given, "--no-wait")[1]
    (tmp_path / "l.npy").write_bytes(npy(np.full(32, 9)))
    code, out, err = run("models", "add", *given, "--no-wait")
    assert (code, out, f"{tmp_path / 'l.npy'} (--labels): " in err) == (2, "", True)
    code, out, _ = run("models", "show", model.id)
    assert code == 0
    assert "succeeded" in out
    assert "single party" in out
    code, out, _ = run("models", "show", model.id, "--json")
    assert json.loads(out)["id"] == model.id


def test_pictures_and_columns_become_arrays_before_they_are_sent(
    run: Any, tmp_path: Path, model: Model
) -> None:
    image = Image.fromarray(np.array([[0, 255], [51, 102]], np.uint8))
    for place in ("0", "2"):
        (tmp_path / "pictures" / place).mkdir(parents=True)
        image.save(tmp_path / "pictures" / place / "it.png")
    nodes = [helper.make_node("Flatten", ["x"], ["flat"]), helper.make_node("Gemm", ["flat", "w"], ["y"])]
    entry = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2, 2])
    classes = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])
    weights = numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(4, 3), "w")
    graph = helper.make_graph(nodes, "square", [entry], [classes], [weights])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    given = ("models", "add", tmp_path / "m.onnx", "--no-wait", "--json", "--calibration")
    code, out, err = run(*given, tmp_path / "pictures", "--mean", "0.5", "--std", "0.5")
    assert code == 0, err
    report = json.loads(out)["report"]
    assert (report["images"], report["tensors"][0]["low"], report["tensors"][0]["high"]) == (2, -1, 1)
    assert report["accuracy"] is not None
    (tmp_path / "c.csv").write_text("a,b,c,d,kind\n0,1,0.5,0.25,1\n1,0,0,0,2\n")
    made = json.loads(run(*given, tmp_path / "c.csv", "--label-column", "kind")[1])
    assert made["report"]["accuracy"] is not None
    code, _, err = run(*given, tmp_path / "c.csv", "--label-column", "class")
    assert (code, "c.csv (--calibration): " in err, "'kind'" in err) == (2, True, True)
    assert "--mean: " in run(*given, tmp_path / "pictures", "--mean", "half")[2]
    (tmp_path / "input.csv").write_text("0.1,0.2,0.3,0.4")
    assert run("prove", model.id, tmp_path / "input.csv", "--no-wait")[0] == 0
    dataset = ("datasets", "add", model.id, tmp_path / "d.csv", "--privacy", "public", "--no-wait", "--json")
    (tmp_path / "d.csv").write_text("a,b,c,d,label\n0.1,0.9,0.5,0.25,1\n0.2,0.3,0.4,0.5,2\n")
    assert json.loads(run(*dataset)[1])["size"] == 2


def test_labels(run: Any, tmp_path: Path, model: Model) -> None:
    for name, content in zip(("m.onnx", "c.npy"), (tiny_onnx(), tiny_calibration()), strict=True):
        (tmp_path / name).write_bytes(content)
    for name, content in zip(("samples", "labels"), labelled(), strict=True):
        (tmp_path / f"{name}.npy").write_bytes(content)
    (tmp_path / "input.json").write_text("[0.1, 0.2, 0.3, 0.4]")
    wanted = ("--label", "run=17", "--label", "team=a=b")
    classes = (tmp_path / "samples.npy", tmp_path / "labels.npy", "--privacy", "public")
    for kind, command in (
        ("models", ("models", "add", tmp_path / "m.onnx", "--calibration", tmp_path / "c.npy")),
        ("datasets", ("datasets", "add", model.id, *classes)),
        ("proofs", ("prove", model.id, tmp_path / "input.json")),
    ):
        made = json.loads(run(*command, *wanted, "--no-wait", "--json")[1])
        assert made["labels"] == {"run": "17", "team": "a=b"}
        assert "run=17, team=a=b" in run(kind, "show", made["id"])[1]
        assert run(kind, "list", *wanted, "--field", "id")[1].split() == [made["id"]]
        assert run(kind, "list", "--label", "run=18", "--field", "id")[1] == ""
    code, _, err = run("prove", model.id, tmp_path / "input.json", "--label", "run")
    assert (code, "--label: " in err, "name=value" in err) == (2, True, True)


def test_a_model_s_papers(run: Any, tmp_path: Path, model: Model) -> None:
    assert run("models", "receipt", model.id, "-o", tmp_path / "receipt.json")[0] == 0
    assert run("models", "registration", model.id, "-o", tmp_path / "registration.json")[0] == 0
    assert run("key", "get", model.registration_key_id, "-o", tmp_path / "key.json")[0] == 0
    assert run("verify", tmp_path / "receipt.json")[0] == 0
    assert run("models", "architecture", model.id, "-o", tmp_path / "architecture.bin")[0] == 0
    code, out, _ = run("audit", tmp_path / "key.json", tmp_path / "architecture.bin")
    assert code == 0
    assert str(model.network) in out
    assert run("verify", tmp_path / "registration.json", "--key", tmp_path / "key.json")[0] == 0


def test_an_input_is_committed_and_proven(
    run: Any, tmp_path: Path, model: Model, api: Client, with_model: Runtime
) -> None:
    (tmp_path / "input.json").write_text("[0.1, 0.2, 0.3, 0.4]")
    opening = tmp_path / "opening.json"
    code, out, _ = run("commit", model.id, "input", tmp_path / "input.json", "--opening", opening)
    assert code == 0
    commitment = api.get_commitment(next(word for word in out.split() if word.startswith("cmt_")))
    assert json.loads(opening.read_text())["parts"][0]["commitment"] == commitment.commitment
    code, out, _ = run(
        "prove", model.id, "--input", commitment.id, "--reveal", "top", "--top", 2, "--no-wait"
    )
    assert code == 0
    proof_id = next(word for word in out.split() if word.startswith("prf_"))
    work_on(with_model, proof_id)
    code, out, _ = run("proof", "show", proof_id)
    assert ", ".join(map(str, api.get_proof(proof_id).values["top"])) in out  # type: ignore[index]
    assert run("proof", "get", proof_id, "-o", tmp_path / "proof.json")[0] == 0
    assert run("proofs", "key", proof_id, "-o", tmp_path / "key.json")[0] == 0
    files = (tmp_path / "proof.json", "--key", tmp_path / "key.json")
    code, out, _ = run(
        "verify", *files, "--input", tmp_path / "input.json", "--opening", tmp_path / "opening.json"
    )
    assert (code, out.split(":")[0]) == (0, "valid")


def test_accuracy_from_a_dataset_to_a_proof(
    run: Any, tmp_path: Path, model: Model, with_model: Runtime
) -> None:
    for name, content in zip(("samples", "labels"), labelled(), strict=True):
        (tmp_path / f"{name}.npy").write_bytes(content)
    files = (tmp_path / "samples.npy", tmp_path / "labels.npy")
    code, out, _ = run(
        "datasets", "add", model.id, *files, "--privacy", "public", "--shard-size", 4, "--no-wait"
    )
    assert code == 0
    dataset_id = next(word for word in out.split() if word.startswith("dst_"))
    work_on(with_model, dataset_id)
    code, out, _ = run("datasets", "show", dataset_id)
    assert "2 of up to 4" in out
    assert json.loads(run("datasets", "show", dataset_id, "--json")[1])["size"] == 7
    assert run("datasets", "show", dataset_id, "--opening", tmp_path / "opening.json")[0] == 0
    assert len(json.loads((tmp_path / "opening.json").read_text())["parts"]) == 2
    code, out, _ = run("prove", model.id, "--scheme", "accuracy", "--dataset", dataset_id, "--no-wait")
    proof_id = next(word for word in out.split() if word.startswith("prf_"))
    work_on_all(with_model, proof_id)
    assert "correct" in run("proof", "show", proof_id)[1]


def test_a_proof_and_its_key_are_written_together(
    run: Any, tmp_path: Path, model: Model, with_model: Runtime, api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "input.json").write_text("[0.1, 0.2, 0.3, 0.4]")

    def follow(_client: Client, job: Proof) -> Iterator[Proof]:
        work_on(with_model, job.id)
        yield api.get_proof(job.id)

    monkeypatch.setattr("zenserve.client.api.Client.follow", follow)
    proof, key = tmp_path / "proof.json", tmp_path / "key.json"
    given = ("prove", model.id, tmp_path / "input.json", "-o", proof, "--key-out", key)
    code, out, err = run(*given, "--field", "id")
    assert (code, api.get_proof(out.strip()).state) == (0, "succeeded")
    assert "succeeded" in err
    assert run("verify", proof, "--key", key)[0] == 0
    assert json.loads(run(*given, "--reveal", "top", "--top", 2, "--json")[1])["values"].keys() == {"top"}
    code, out, err = run(*given, "--no-wait")
    assert (code, out, "zenserve proofs get" in err) == (2, "", True)


def test_a_key_of_another_form_is_refused_with_both_ids_and_the_command(
    run: Any, files: tuple[Path, Path], model: Model
) -> None:
    proof, key = files
    right = json.loads(key.read_text())["id"]
    assert run("key", "get", model.registration_key_id, "-o", key)[0] == 0
    code, out, _ = run("verify", proof, "--key", key)
    assert code == 1
    assert f"zenserve key get {right} -o" in out
    assert str(model.registration_key_id) in out


@pytest.mark.parametrize("kind", ["json", "npy"])
def test_prove_and_cancel(run: Any, tmp_path: Path, model: Model, kind: str) -> None:
    file = tmp_path / f"input.{kind}"
    if kind == "json":
        file.write_text("[0.1, 0.2, 0.3, 0.4]")
    else:
        np.save(file, np.array([0.1, 0.2, 0.3, 0.4]))
    code, out, _ = run("prove", model.id, file, "--no-wait", "--field", "id")
    assert code == 0
    proof_id = out.removesuffix("\n")
    assert "queued" in run("proofs", "key", proof_id)[2]
    assert "canceled" in run("cancel", proof_id)[1]
    assert "canceled" in run("proof", "show", proof_id)[1]
    code, _, err = run("proof", "get", proof_id)
    assert code == 2
    assert "conflict.proof_not_ready" in err


def test_verify_needs_no_service_and_tells_by_its_exit_code(
    run: Any, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    proof, key = files
    monkeypatch.setenv("ZENSERVE_URL", "http://127.0.0.1:1")
    code, out, _ = run("verify", proof, "--key", key)
    assert (code, out.split(":")[0]) == (0, "valid")
    assert "development setup" in out
    document = json.loads(proof.read_text())
    document["statement"]["made_at"] = "2020-01-01T00:00:00Z"
    proof.write_text(json.dumps(document))
    code, out, _ = run("verify", proof, "--key", key)
    assert (code, out.split(":")[0]) == (1, "NOT valid")
    assert "statement_edited" in out
    assert run("verify", proof)[0] == 2


def test_errors_are_one_line_with_a_code(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = run("models", "show", "mdl_nope")
    assert (code, out) == (2, "")
    assert "[not_found]" in err
    assert "Traceback" not in err
    monkeypatch.setenv("ZENSERVE_URL", "http://127.0.0.1:1")
    code, _, err = run("models", "show", "mdl_nope")
    assert code == 2
    assert "no service answers" in err


def test_files_and_addresses_that_are_none(
    run: Any, tmp_path: Path, files: tuple[Path, Path], model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def complaint(*arguments: object) -> str:
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert "Traceback" not in err
        return "".join(line.strip("│ ") for line in err.splitlines())  # a path may be broken anywhere

    key_id = json.loads(files[1].read_text())["id"]
    assert "nowhere" in complaint("key", "get", key_id, "-o", tmp_path / "nowhere" / "key.json")
    assert "directory" in complaint("prove", model.id, tmp_path)
    np.save(tmp_path / "nan.npy", [0.1, np.nan, 0.2, 0.4])
    assert "input[1] is nan" in complaint("prove", model.id, tmp_path / "nan.npy")
    asked = ("prove", model.id, "--scheme", "accuracy")
    assert "--dataset" in complaint(*asked)
    assert "nowhere" in complaint(*asked, "--dataset", "dst_1", "-o", tmp_path / "nowhere" / "proof.json")
    monkeypatch.setenv("ZENSERVE_URL", "nonsense")
    assert "cannot be reached" in complaint("models", "show", model.id)


def test_serve_refuses_settings_in_one_line(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def complaint(*arguments: object) -> str:
        code, out, err = run("serve", *arguments)
        assert (code, out) == (2, "")
        assert "Traceback" not in err
        return str(err)

    monkeypatch.setattr("zenserve.service.log.configure", lambda *_: None)  # these are this process's, too
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("os.environ", dict(os.environ))
    data = ("--data-dir", tmp_path / "new")
    assert "PORT" in complaint(*data, "--port", "65536")
    for name, value in (("THREADS", "zero"), ("LOG_LEVEL", "loud"), ("MAX_ATTEMPTS", "0")):
        with monkeypatch.context() as patch:
            patch.setenv(f"ZENSERVE_{name}", value)
            assert f"ZENSERVE_{name}" in complaint(*data)
    (tmp_path / "file").touch()
    assert "file" in complaint("--data-dir", tmp_path / "file" / "data")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = complaint(*data, "--port", port)
        assert f"on port {port}" in said
        assert "ZenServe on" not in said


def test_serving_beyond_this_host_takes_keys(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zenserve.service.serve.serve", lambda settings, announce: None)
    assert run("serve", "--host", "0.0.0.0")[0] == 0  # noqa: S104
    monkeypatch.setenv("ZENSERVE_AUTH", "off")
    assert "ZENSERVE_AUTH=keys" in run("serve", "--host", "0.0.0.0")[2]  # noqa: S104
