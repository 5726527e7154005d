"""The command line, as a user meets it."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prover
from client import Client, Model
from prover import iden3
from service import cli
from service.runtime import Runtime
from tests.service.support import tiny_calibration, tiny_onnx, work_on


@pytest.fixture
def run(url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command: its exit code, standard output and standard error."""
    monkeypatch.setenv("ZENSERVE_URL", url)

    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["zenserve", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        captured = capsys.readouterr()
        return int(exit_.value.code or 0), captured.out, captured.err

    return command


@pytest.fixture
def files(tmp_path: Path, api: Client, with_model: Runtime, model: Model) -> tuple[Path, Path]:
    """A proof document and its key, as files."""
    proof = api.create_proof(model.id, [0.1, 0.2, 0.3, 0.4])
    work_on(with_model, proof.id)
    document = api.get_proof_document(proof.id)
    key = api.get_verification_key(document["verification_key"]["id"])
    for name, content in (("proof.json", document), ("key.json", key)):
        (tmp_path / name).write_text(json.dumps(content))
    return tmp_path / "proof.json", tmp_path / "key.json"


def test_help_names_every_command(run: Any) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert all(word in out for word in ("serve", "models", "prove", "proof", "key", "verify", "cancel"))


def test_models(run: Any, tmp_path: Path, model: Model) -> None:
    (tmp_path / "m.onnx").write_bytes(tiny_onnx())
    (tmp_path / "c.npy").write_bytes(tiny_calibration())
    code, out, _ = run("models", "add", tmp_path / "m.onnx", "--calibration", tmp_path / "c.npy", "--no-wait")
    assert code == 0
    assert "mdl_" in out
    assert "queued" in out
    code, out, _ = run("models", "show", model.id)
    assert code == 0
    assert "succeeded" in out
    assert "single party" in out
    code, out, _ = run("models", "show", model.id, "--json")
    assert json.loads(out)["id"] == model.id


def test_a_proof_goes_to_snarkjs(run: Any, tmp_path: Path, files: tuple[Path, Path]) -> None:
    proof, key = files
    folder = tmp_path / "for" / "snarkjs"
    code, out, _ = run("proof", "export", proof, "--key", key, "-o", folder)
    assert code == 0
    assert "snarkjs groth16 verify verification_key.json public.json proof.json" in " ".join(out.split())
    verdict = prover.verify(
        iden3.import_verifying_key((folder / "verification_key.json").read_text()),
        iden3.import_public_inputs((folder / "public.json").read_text()),
        iden3.import_proof((folder / "proof.json").read_text()),
    )
    assert verdict.reason == "ok"


@pytest.mark.parametrize("kind", ["json", "npy"])
def test_prove_and_cancel(run: Any, tmp_path: Path, model: Model, kind: str) -> None:
    file = tmp_path / f"input.{kind}"
    if kind == "json":
        file.write_text("[0.1, 0.2, 0.3, 0.4]")
    else:
        np.save(file, np.array([0.1, 0.2, 0.3, 0.4]))
    code, out, _ = run("prove", model.id, file, "--no-wait")
    assert code == 0
    proof_id = next(word for word in out.split() if word.startswith("prf_"))
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
    assert code == 0
    assert out.startswith("valid")
    assert "development setup" in out
    document = json.loads(proof.read_text())
    document["public_inputs"] = ["2" if document["public_inputs"] != ["2"] else "1"]
    proof.write_text(json.dumps(document))
    code, out, _ = run("verify", proof, "--key", key)
    assert code == 1
    assert out.startswith("NOT valid")
    code, out, _ = run("verify", proof, "--key", key, "--json")
    assert code == 1
    assert json.loads(out)["reason"] == "pairing_mismatch"


def test_verify_shows_what_a_proof_with_changed_words_really_says(run: Any, files: tuple[Path, Path]) -> None:
    proof, key = files
    document = json.loads(proof.read_text())
    document["statement"]["claim"] = "All is well."
    proof.write_text(json.dumps(document))
    code, out, _ = run("verify", proof, "--key", key)
    assert code == 1
    assert out.startswith("NOT valid")
    assert f"The label is {document['public_inputs'][0]}." in out


def test_verify_without_a_key_or_with_rubbish_is_trouble_and_no_verdict(
    run: Any, files: tuple[Path, Path]
) -> None:
    proof, key = files
    assert run("verify", proof)[0] == 2
    proof.write_text("{}")
    code, out, err = run("verify", proof, "--key", key)
    assert (code, out) == (2, "")
    assert "proof.json" in err


def test_verify_refuses_a_key_file_under_another_name(run: Any, files: tuple[Path, Path]) -> None:
    proof, key = files
    key.write_text(json.dumps(json.loads(key.read_text()) | {"id": "0" * 64}))
    code, out, err = run("verify", proof, "--key", key)
    assert (code, out) == (2, "")
    assert "[file.hash]" in err


def test_control_codes_from_elsewhere_do_nothing_to_the_terminal(run: Any, files: tuple[Path, Path]) -> None:
    proof, key = files
    document = json.loads(key.read_text())
    document["circuit"]["meaning"] = "\x1b]0;owned\x07 [red]and[/red]"
    key.write_text(json.dumps(document))
    _, out, _ = run("verify", proof, "--key", key)
    assert "owned" in out
    assert "[red]and[/red]" in out
    assert "\x1b" not in out
    assert "\x07" not in out


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
        return str(err)

    key_id = json.loads(files[1].read_text())["id"]
    assert "nowhere" in complaint("key", "get", key_id, "-o", tmp_path / "nowhere" / "key.json")
    assert "directory" in complaint("prove", model.id, tmp_path)
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

    monkeypatch.setattr("service.log.configure", lambda level: None)  # these are this process's, too
    monkeypatch.setattr("signal.signal", lambda *_: None)
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
        assert str(port) in complaint(*data, "--port", port)


def test_serving_beyond_this_host_comes_with_a_warning(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.serve.serve", lambda settings: None)
    assert "asks nobody for a password" in run("serve", "--host", "0.0.0.0")[2]  # noqa: S104
    assert "password" not in run("serve")[2]
