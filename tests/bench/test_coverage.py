"""What a suite is, how far its networks come, and that none takes the others with it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper, load, save

from bench import suite
from bench.coverage import Limits, alone, blockers, counts
from bench.coverage import row as row_of
from bench.report import Row, read
from bench.stages import STAGES, outputs
from tests.refusals import refuses

ROOT = Path(__file__).parents[2]
LINEAR = [helper.make_node("MatMul", ["x", "w"], ["y"])]
IMPOSSIBLE = [helper.make_node("Bernoulli", ["x"], ["y"])]


def network(folder: Path, nodes: list[NodeProto], kind: int = TensorProto.FLOAT) -> Path:
    """A network from x[batch, 3] to y."""
    folder.mkdir(parents=True)
    x = helper.make_tensor_value_info("x", kind, ["batch", 3])
    y = helper.make_tensor_value_info("y", kind, None)
    weight = np.arange(6, dtype=np.float32).reshape(3, 2) / 4 - 0.5
    graph = helper.make_graph(nodes, "g", [x], [y], [helper.make_tensor("w", 1, (3, 2), weight.ravel())])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "network.onnx")
    return folder / "network.onnx"


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "bench.coverage", *arguments]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.large
def test_networks_come_as_far_as_they_do(tmp_path: Path) -> None:
    made = tmp_path / "mine"
    network(made / "linear", LINEAR)
    (made / "linear" / "input.json").write_text(json.dumps({"input_data": [[0.5, -1, 2]]}))
    network(made / "other", IMPOSSIBLE)
    (made / "nothing").mkdir()
    ended = command("--suite", str(made), "--json", str(tmp_path / "rows.json"))
    assert ended.returncode == 0, ended.stderr
    linear, other = read(tmp_path / "rows.json")[1]
    assert {linear.topic, linear.more["suite"]} == {"mine"}
    assert [linear.name, linear.more["model"]] == ["linear", "linear"]
    assert [linear.more[stage] for stage in STAGES] == [True] * 4
    assert (linear.more["reason"], linear.more["input"], linear.more["weights"]) == (
        "",
        "input.json",
        "committed",
    )
    assert min(linear.size or 0, linear.median, linear.peak_mb or 0, linear.more["prove_s"]) > 0
    assert [other.more[stage] for stage in STAGES] == [False] * 4
    assert other.more["blockers"] == ["Bernoulli"]
    assert "no circuit for Bernoulli" in other.more["reason"]
    assert "2 networks, 0 constant, 1 loaded, 1 compiled, 1 executed, 1 proven" in ended.stdout
    # What a file has is kept, of this code and up to this stage alone.
    rows = (tmp_path / "rows.json").read_text().replace("no circuit", "still no circuit")
    for most, reason in (("proven", "still no circuit"), ("loaded", "no circuit")):
        (tmp_path / "rows.json").write_text(rows)
        resumed = ("--only", "other", "--most", most, "--json", str(tmp_path / "rows.json"), "--resume")
        assert command("--suite", str(made), *resumed).returncode == 0
        (other,) = read(tmp_path / "rows.json")[1]
        assert other.more["reason"].startswith(reason)


def test_a_listed_network_that_is_missing_ends_with_2(tmp_path: Path) -> None:
    (tmp_path / "ezkl" / "1l_relu").mkdir(parents=True)
    ended = command("--suite", str(tmp_path / "ezkl"))
    assert ended.returncode == 2
    assert "has not: 1l_average, " in ended.stderr


@pytest.mark.parametrize("arguments", [("--only", "none"), ("--suite", "nowhere")])
def test_so_does_what_is_not_there(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    network(tmp_path / "linear", LINEAR)
    assert command("--suite", str(tmp_path), *arguments).returncode == 2


def test_ezkl_s_list_names_each_network_once() -> None:
    lines = (suite.LISTS / "ezkl.txt").read_text().splitlines()
    names = [line for line in lines if not line.startswith("#")]
    assert len(names) == 115
    assert names == sorted(set(names))


def test_inputs_are_the_network_s_own_or_random(tmp_path: Path) -> None:
    file = network(tmp_path / "n", LINEAR)
    folder = file.parent
    given, source = suite.inputs(file)
    assert source == "random"
    assert given["x"].shape == (1, 3)
    assert given["x"].dtype == np.float32
    assert 0.1 <= given["x"].min() < given["x"].max() <= 0.9
    assert np.array_equal(suite.inputs(file)[0]["x"], given["x"])
    np.save(folder / "input.npy", [[1, 2, 3]])
    assert suite.inputs(file)[0]["x"].tolist() == [[1, 2, 3]]
    np.savez(folder / "input.npz", x=[4, 5, 6])
    assert suite.inputs(file)[0]["x"].tolist() == [[4, 5, 6]]
    (folder / "input.json").write_text(json.dumps({"input_data": [[7, 8, 9], [10]]}))
    given, source = suite.inputs(file)
    assert (given["x"].tolist(), source) == ([[7, 8, 9]], "input.json")
    for wrong in ([[1, 2]], []):
        (folder / "input.json").write_text(json.dumps({"input_data": wrong}))
        with refuses("input.shape" if wrong else "input.unreadable"):
            suite.inputs(file)


def test_random_integers_are_bits(tmp_path: Path) -> None:
    file = network(tmp_path / "n", [helper.make_node("Identity", ["x"], ["y"])], TensorProto.INT64)
    assert set(suite.inputs(file)[0]["x"].ravel().tolist()) <= {0, 1}


def test_constant_is_what_no_input_changes(tmp_path: Path) -> None:
    shape = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("ConstantOfShape", ["s"], ["y"])]
    for name, nodes in (("constant", shape), ("linear", LINEAR)):
        model = load(network(tmp_path / name, nodes))
        assert suite.is_constant(model) == (name == "constant")


def busy() -> Iterator[dict[str, object]]:
    yield {"loaded": True}
    for _ in count():
        pass


def greedy() -> Iterator[dict[str, object]]:
    yield {"loaded": True}
    bytearray(1 << 40)


def broken() -> Iterator[dict[str, object]]:
    yield {"loaded": True}
    raise RuntimeError("it broke")


@pytest.mark.parametrize(
    ("work", "reason", "blocker"),
    [
        (busy, "it takes more than 1 processor seconds", "time"),
        (greedy, "it takes more than 24,576 MB", "memory"),
        (broken, "RuntimeError: it broke", "an accident"),
    ],
)
def test_what_ends_before_its_time_says_of_what(work: object, reason: str, blocker: str) -> None:
    assert callable(work)
    found = alone(work, limits=Limits(seconds=1 if work is busy else 60))
    assert (found["loaded"], found["reason"], found["blockers"]) == (True, reason, [blocker])
    assert found["peak_mb"] > 0


def test_outputs_that_no_bits_tell_apart_are_refused(tmp_path: Path) -> None:
    file = network(tmp_path / "flat", [helper.make_node("Sigmoid", ["x"], ["y"])])
    (file.parent / "input.json").write_text(json.dumps({"input_data": [[14, 14, 14]]}))
    found = row_of("mine", file, {"most": "executed"}, Limits())
    assert [found.more[stage] for stage in STAGES] == [True, False, False, False]
    assert found.more["blockers"] == ["model.precision"]


def test_what_onnxruntime_refuses_is_held_to_onnx_s_reference(tmp_path: Path) -> None:
    for opset, whose in ((17, "onnxruntime"), (6, "onnx.reference")):
        nodes = [
            helper.make_node("Equal", ["x", "x"], ["same"]),
            helper.make_node("Cast", ["same"], ["y"], to=1),
        ]
        file = network(tmp_path / whose, nodes)
        model = load(file)
        model.opset_import[0].version = opset
        save(model, file)
        found, said = outputs(file, [{"x": np.array([[1, 2, 3]], np.float32)}], ["y"])
        assert (found["y"].tolist(), said) == ([[1, 1, 1]], whose)


def test_a_pointer_to_a_file_is_no_network(tmp_path: Path) -> None:
    file = tmp_path / "network.onnx"
    file.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:2f88\nsize 82095882\n")
    assert row_of("mine", file, {"most": "loaded"}, Limits()).more["blockers"] == ["model.not_onnx"]


def test_what_blocks_is_counted() -> None:
    def some(name: str, blockers: list[str], **said: object) -> Row:
        more = dict.fromkeys(STAGES, False) | {"blockers": blockers, "reason": "why"} | said
        return Row(name, None, 0.0, more=more)

    rows = [
        some("a", ["And", "Or"]),
        some("b", ["Or"]),
        some("c", [], loaded=True),
        some("d", [], constant=True),
    ]
    found = [(each.name, each.size, each.more["alone"], each.more["example"]) for each in blockers(rows)]
    assert found == [("Or", 2, 1, "a: why"), ("And", 1, 0, "a: why")]
    assert list(counts(rows).values()) == [4, 1, 1, 0, 0, 0]
