"""``zenserve compile``, as a user meets it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.circuits.test_several import model as several
from tests.circuits.test_several import samples
from tests.service.support import tiny_calibration, tiny_onnx
from zenserve import circuits
from zenserve.circuits import compile_inference, load_onnx, tune
from zenserve.prover import groth16
from zenserve.prover.groth16 import cost
from zenserve.service import engine, intake
from zenserve.service.cli import compile as compile_cli

ROOT = Path(__file__).parents[2]
COMPILER = ["numpy", "onnx", "zenserve.kernels", "zenserve.prover.constraint_system"]
SPEED = cost.Speed(2, 1e-8)


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZENSERVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cost, "speed", lambda threads: SPEED)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    path.write_bytes(tiny_onnx())
    return path


@pytest.fixture
def calibration(tmp_path: Path) -> Path:
    path = tmp_path / "c.npy"
    path.write_bytes(tiny_calibration())
    return path


@pytest.fixture
def run(run: Any) -> Any:
    """Of ``zenserve compile``."""
    return partial(run, "compile")


@pytest.fixture
def report(run: Any) -> Any:
    """Run ``zenserve compile --json``: the document."""

    def command(*arguments: object) -> Any:
        code, out, err = run(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    return command


@pytest.mark.parametrize("weights", ["public", "private"])
def test_the_report_says_what_the_circuit_has(
    report: Any, network: Path, calibration: Path, tmp_path: Path, weights: Any
) -> None:
    document = report(network, "--calibration", calibration, "--weight-privacy", weights, "--level", 2)
    tuned = tune(load_onnx(tiny_onnx()), np.load(calibration), weight_privacy=weights)
    circuit = compile_inference(tuned.qgraph, weight_privacy=weights, level=2)
    assert document["tuning"] == tuned.to_json()
    assert document["digest"] == circuit.constraint_system.digest.hex()
    assert document["constraints"] == circuit.constraint_system.constraints
    assert document["variables"] == circuit.constraint_system.variables
    assert document["public_inputs"] == circuit.constraint_system.public == 2
    assert document["segments"] == []
    for name in ("constraints", "nonzeros"):
        assert sum(layer[name] for layer in document["layers"]) == document[name]
        assert sum(gadget[name] for gadget in document["gadgets"]) == document[name]
    assert sum(layer["variables"] for layer in document["layers"]) == document["variables"] - 1
    key = groth16.setup(circuit.constraint_system)
    key.save(tmp_path / "key")
    assert document["key"]["proving"] == (tmp_path / "key").stat().st_size
    assert document["key"]["verifying"] == len(key.verifying_key.to_bytes())
    assert document["calibration"] == "file"
    assert document["compiled"]["peak_memory"] > 1 << 20


def test_what_quantisation_costs_is_told_and_drawn(
    run: Any, report: Any, network: Path, calibration: Path, tmp_path: Path
) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("label\n" + "0\n1\n2\n1\n" * 8)
    drawn = tmp_path / "report.html"
    given = (network, "--calibration", calibration, "--labels", labels, "--report", drawn)
    found = report(*given)["report"]
    assert (found["images"], found["tensors"][0]["bits"]) == (32, 8)
    assert abs(found["drop"]) <= 0.1
    assert "<svg" in drawn.read_text()
    drawn.unlink()
    code, out, _ = run(*given)  # from the cache
    assert (code, drawn.exists()) == (0, True)
    assert "in floats" in out
    assert "SNR" in out
    assert report(network)["report"] is None
    code, _, err = run(network, "--report", drawn)
    assert (code, "give --calibration" in err) == (2, True)


def test_a_second_time_nothing_is_compiled(
    report: Any, network: Path, calibration: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = report(network, "--calibration", calibration)
    copy = tmp_path / "copy.onnx"
    copy.write_bytes(network.read_bytes())
    monkeypatch.setattr(compile_cli, "_compile", None)
    assert report(network, "--calibration", calibration) == first
    # What counts is the content, not the name.
    assert report(copy, "--calibration", calibration) == first | {"network": str(copy)}
    for option in (
        ("--bits", 7),
        ("--level", 1),
        ("--weight-privacy", "private"),
        ("--input-privacy", "public"),
    ):
        with pytest.raises(TypeError):
            report(network, "--calibration", calibration, *option)
    copy.write_bytes(tiny_onnx(hidden=6))
    with pytest.raises(TypeError):
        report(copy, "--calibration", calibration)
    with pytest.raises(TypeError):
        report(network)


def test_a_damaged_entry_is_worked_out_again(report: Any, network: Path, tmp_path: Path) -> None:
    first = report(network)
    for entry in (tmp_path / "cache").iterdir():
        entry.write_bytes(entry.read_bytes()[:-1])
    second = report(network)
    assert {**first, "compiled": None} == {**second, "compiled": None}


def test_random_inputs_calibrate_a_network_that_comes_without_any_and_the_report_says_so(
    run: Any, report: Any, network: Path
) -> None:
    assert report(network)["calibration"] == "random"
    code, out, _ = run(network)
    assert code == 0
    assert "random inputs" in out
    for word in ("constraints", "non-zeros", "proving key", "setup", "proving", "compiled"):
        assert word in out


def test_the_cache_holds_no_weights(report: Any, network: Path, tmp_path: Path) -> None:
    report(network, "--weight-privacy", "private")
    entries = list((tmp_path / "cache").iterdir())
    assert entries
    weights = circuits.load_onnx(tiny_onnx()).nodes[0].weight.tolist()  # type: ignore[attr-defined]
    text = "".join(entry.read_text() for entry in entries)
    assert not any(repr(value) in text for row in weights for value in row if value)


def test_levels_and_privacy_show(report: Any, network: Path) -> None:
    rows = [report(network, "--level", level)["constraints"] for level in range(6)]
    assert rows == sorted(rows, reverse=True)
    assert rows[0] > rows[1] > rows[2]
    committed = report(network)
    assert (committed["level"], committed["privacy"]["weights"], committed["constraints"]) == (
        5,
        "committed",
        rows[5],
    )
    assert [segment["name"] for segment in committed["segments"]] == ["model", "auxiliary"]
    tables = report(network, "--weight-privacy", "public")
    assert [segment["name"] for segment in tables["segments"]] == ["auxiliary"]
    assert tables["key"]["proving"] > 0
    public = report(network, "--input-privacy", "public")
    assert public["public_inputs"] == 2 + int(np.prod(circuits.load_onnx(tiny_onnx()).input.shape))


def test_a_certificate_costs_more_and_takes_all_levels(run: Any, report: Any, network: Path) -> None:
    plain, certified = report(network), report(network, "--scheme", "robustness")
    assert certified["scheme"] == "robustness"
    assert certified["constraints"] > 2 * plain["constraints"]
    code, _, err = run(network, "--scheme", "robustness", "--level", 4)
    assert code != 0
    assert "level 5" in err


def test_the_choice_for_each_layer_is_explained(run: Any, report: Any, network: Path) -> None:
    document = report(network, "--weight-privacy", "committed")
    assert [segment["name"] for segment in document["segments"] if segment["linked"]] == ["model"]
    for node in document["ways"]:
        rows = [way["constraints"] for way in node["ways"]]
        assert rows[0] == document["constraints"]
        assert rows == sorted(rows)
    code, out, _ = run(network, "--weight-privacy", "committed", "--explain")
    assert code == 0
    assert "chosen" in out
    assert "for each" in " ".join(out.split())


def test_inputs_of_integers_have_the_range_that_is_said(report: Any, run: Any, tmp_path: Path) -> None:
    path = tmp_path / "several.onnx"
    path.write_bytes(several())
    narrow, wide = report(path), report(path, "--range", "token::ids=0:1000")
    assert wide["ranges"] == {"token::ids": [0, 1000]}
    assert wide["constraints"] > narrow["constraints"]
    code, _, err = run(path, "--range", "image=0:3")
    assert (code, "there are token::ids" in err) == (2, True)


def test_labels_say_what_users_will_get(run: Any, tmp_path: Path) -> None:
    classes, values, given = tmp_path / "classes.onnx", tmp_path / "values.onnx", tmp_path / "given.npz"
    classes.write_bytes(several(scores="scores"))
    values.write_bytes(several(shifted="shifted"))
    np.savez(given, allow_pickle=False, **samples())
    np.save(tmp_path / "classes.npy", np.arange(16) % 3)
    np.save(tmp_path / "targets.npy", samples()["token::ids"] + 1.0)
    labelled = ("--calibration", given, "--labels")
    assert "in integers" in run(classes, *labelled, tmp_path / "classes.npy")[1]
    assert "integers beside the targets" in run(values, *labelled, tmp_path / "targets.npy")[1]
    code, _, err = run(classes, *labelled, tmp_path / "targets.npy")
    assert (code, "3 values" in err, "--labels" in err) == (2, True, True)


def test_privacy_is_of_each_input(report: Any, run: Any, tmp_path: Path) -> None:
    path = tmp_path / "several.onnx"
    path.write_bytes(several())
    privacy = ("--input-privacy", "mask=public,image=committed")
    found = report(path, *privacy)
    assert found["privacy"]["input"] == {"mask": "public", "image": "committed"}
    assert [each["name"] for each in found["segments"] if each["linked"]] == ["model", "input/image"]
    assert report(path)["public_inputs"] == found["public_inputs"] - 4
    assert "mask public, image committed" in run(path, *privacy)[1]
    for wrong in ("mask=shown", "other=public", "image=", "shown"):
        code, _, err = run(path, "--input-privacy", wrong)
        assert (code, "--input-privacy" in err) == (2, True)


def test_errors_are_one_line_with_a_code(run: Any, tmp_path: Path, network: Path) -> None:
    def complaint(*arguments: object) -> str:
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert "Traceback" not in err
        return " ".join(err.split())

    assert "[model.unknown]" in complaint("nowhere.onnx")
    (tmp_path / "text.onnx").write_text("hello")
    assert "[model.not_onnx]" in complaint(tmp_path / "text.onnx")
    (tmp_path / "c.json").write_text('["a"]')
    assert "[input.not_numeric]" in complaint(network, "--calibration", tmp_path / "c.json")
    assert "from 1 to 16" in complaint(network, "--bits", "17")
    assert "or equal to 5" in complaint(network, "--level", "6")
    assert "[statement.privacy]" in complaint(network, "--level", "4", "--weight-privacy", "committed")
    assert "--shape: give it as NAME=SIZE" in complaint(network, "--shape", "tokens")
    assert "--calibration" in complaint(network, "--calibration", tmp_path / "missing.npy")


def test_a_name_of_the_zoo_stands_for_its_network(report: Any) -> None:
    document = report("shallownet")
    assert document["calibration"] == "zoo"
    assert [layer["operator"] for layer in document["layers"]].count("Dense") == 2


def test_what_the_cache_holds_is_shown_without_the_compiler(network: Path) -> None:
    """Which takes a second to load."""
    program = (
        "import atexit, sys; from zenserve.service.cli import main;"
        f"atexit.register(lambda: print([name for name in {COMPILER} if name in sys.modules]));"
        "main()"
    )
    command = [sys.executable, "-c", program, "compile", str(network), "--json"]
    first, second = (
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        for _ in range(2)
    )
    assert first[:-1] == second[:-1]
    assert (first[-1], second[-1]) == (str(COMPILER), "[]")


def test_a_process_compiles_a_model_once_for_all_its_images() -> None:
    quantised = intake.quantise(tiny_onnx(), tiny_calibration())
    circuit = engine.compile_circuit(quantised, "inference", weight_privacy="public")
    again = engine.compile_circuit(bytes(bytearray(quantised)), "inference", weight_privacy="public")
    assert again is circuit
    assert engine.compile_circuit(quantised, "inference", weight_privacy="committed") is not circuit


def test_the_page_on_the_compiler_shows_what_the_command_prints(run: Any) -> None:
    page = (ROOT / "docs" / "compiler.md").read_text()
    (shown,) = re.findall(r"^```\n(┏.*?)^```$", page, re.MULTILINE | re.DOTALL)
    code, out, _ = run("lenet-medium", "--weight-privacy", "committed")
    assert code == 0
    assert set(shown.splitlines()) <= set(out.splitlines())
