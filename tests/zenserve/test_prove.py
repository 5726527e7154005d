"""``zenserve.prove``: from a file or a module to documents that ``zenserve-verify`` takes."""

from __future__ import annotations

import re
import sys
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import zenserve
from tests.refusals import refuses
from zenserve.base.progress import silent
from zenserve.circuits.comparison.differences import TOLERANCES
from zenserve.circuits.r1cs.program import Program
from zenserve.onecall.proving import Party
from zenserve.prover import registry
from zenserve.prover.spartan.layout import rows_for
from zenserve.verifier import command
from zenserve.verifier.registry import FIRST, SYSTEMS
from zenserve.verifier.schemes import PublicOrPrivate
from zenserve.verifier.spartan.system import SpartanVerifier

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples" / "digits"
WEIGHT = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
X = np.array([0.5, -0.25, 1.0, 0.75])


def network(shape: list[str | int], *, weights: bool = True) -> onnx.ModelProto:
    """X W by rows, or the sigmoid of X."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"])
        if weights
        else helper.make_node("Sigmoid", ["x"], ["y"])
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(WEIGHT, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def test_a_file_becomes_documents_that_the_verifiers_command_takes(tmp_path: Path) -> None:
    calibration, x = np.load(DIGITS / "calibration.npy"), np.load(DIGITS / "held_out.npz")["images"][0]
    stages: list[str] = []
    proof = zenserve.prove(
        str(DIGITS / "digits.onnx"),
        x,
        calibration=calibration,
        challenge="for Ada",
        progress=lambda stage, _: stages.append(stage),
    )
    assert proof.shown == {"label": 1}
    assert set(proof.statement.commitments) == {"model"}
    assert list(dict.fromkeys(stages))[:4] == ["read", "tune", "compile", "basis"]
    assert stages[-1] == "verify"
    proof.save(tmp_path / "made" / "here")
    files = {file.stem: str(file) for file in (tmp_path / "made" / "here").iterdir()}
    options = [files["proof"], "--key", files["key"], "--challenge", "for Ada"]
    registration = ["--registration", files["registration"], "--registration-key", files["registration_key"]]
    assert command.main([*options, *registration]) == 0
    assert zenserve.verify(tmp_path / "made" / "here") == zenserve.verify(proof)
    assert zenserve.verify(proof, challenge="for Bob").reason == "challenge_mismatch"
    assert zenserve.verify(proof, key="0" * 64).reason == "key_mismatch"


def test_a_proof_without_a_setup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its key names a circuit, which whoever verifies has to have."""
    proof = zenserve.prove(network([1, 4]), X, reveal="values", system="spartan-bls12-381")
    assert proof.key.setup == "transparent"
    assert not any("forge" in said for said in zenserve.verify(proof).not_verified)
    proof.save(tmp_path)
    assert zenserve.verify(tmp_path) == zenserve.verify(proof)
    files = {file.stem: str(file) for file in tmp_path.iterdir()}
    about = [files["proof"], "--key", files["key"]]
    registered = ["--registration", files["registration"], "--registration-key", files["registration_key"]]
    circuits = ["--circuit", files["circuit"], "--registration-circuit", files["registration_circuit"]]
    fresh = SpartanVerifier()

    def answer(*options: str) -> tuple[int, str]:
        SYSTEMS[fresh.id] = SpartanVerifier()  # of a process that has seen no circuit
        return command.main([*about, *options]), capsys.readouterr().out

    known = SYSTEMS[fresh.id]
    try:
        assert answer(*registered, *circuits)[0] == 0
        code, said = answer(*registered, *circuits[2:])
        assert (code, "[circuit_unknown]" in said) == (1, True)
        code, said = answer("--circuit", files["registration_circuit"])
        assert (code, "[circuit_unknown]" in said) == (1, True)
        assert answer(*circuits) == (2, "")
        assert answer("--circuit", files["key"]) == (2, "")
        spoilt = bytearray(Path(files["circuit"]).read_bytes())
        spoilt[-1] ^= 1
        (tmp_path / "spoilt").write_bytes(spoilt)
        assert answer("--circuit", str(tmp_path / "spoilt")) == (2, "")
    finally:
        SYSTEMS[fresh.id] = known


def test_public_weights_and_inputs_and_the_outputs_are_shown_as_real_numbers(tmp_path: Path) -> None:
    proof = zenserve.prove(
        network([1, 4]).SerializeToString(),
        X[np.newaxis],
        input_privacy="public",
        weight_privacy="public",
        reveal="logits",
    )
    assert proof.registration is None
    assert np.asarray(proof.shown["input"]) == pytest.approx(X, abs=0.01)
    assert np.asarray(proof.shown["logits"]) == pytest.approx(X @ WEIGHT, abs=0.02)
    proof.save(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["key.json", "proof.json"]


def test_an_output_stays_hidden_but_for_where_it_lies() -> None:
    highest = float(np.max(X @ WEIGHT))
    proof = zenserve.prove(
        network([1, 4]), X, weight_privacy="public", reveal="threshold", at_least=highest - 0.1
    )
    assert np.asarray(proof.shown["reached"]).tolist() == (highest - 0.1 <= X @ WEIGHT).astype(int).tolist()
    assert proof.shown["threshold"] == pytest.approx(highest - 0.1, abs=0.02)
    assert zenserve.verify(proof, at_least=highest - 0.1).reason == "output_mismatch"
    ends = [-1.5, highest + 0.1]
    within = zenserve.prove(network([1, 4]), X, weight_privacy="public", reveal="range", bounds=ends)
    assert np.asarray(within.shown["interval"]).tolist() == [1, 1, 1]
    assert zenserve.verify(within, at_least=-1.5, at_most=highest + 0.1).valid
    with refuses("statement.reveal", "at_least"):
        zenserve.prove(network([1, 4]), X, weight_privacy="public", reveal="threshold")


def test_a_registration_that_is_missing_is_said_to_be() -> None:
    proof = zenserve.prove(network([1, 4]), X)
    bare = zenserve.Proof(proof.document, proof.key)
    assert zenserve.verify(bare).valid
    assert any("registration is valid" in said for said in zenserve.verify(bare).not_verified)
    assert not any("registration is valid" in said for said in zenserve.verify(proof).not_verified)


def test_named_dimensions_are_as_long_as_the_inputs() -> None:
    x = np.stack([X, -X])[np.newaxis]
    proof = zenserve.prove(network(["batch", "tokens", 4]), x, reveal="values")
    assert np.asarray(proof.shown["values"]) == pytest.approx(x[0] @ WEIGHT, abs=0.03)


def test_a_network_without_weights_commits_to_none() -> None:
    proof = zenserve.prove(network([1, 4], weights=False), X, reveal="values")
    assert proof.statement.commitments == {}
    assert np.asarray(proof.shown["values"]) == pytest.approx(1 / (1 + np.exp(-X)), abs=0.01)
    with refuses("statement.no_weights"):
        zenserve.prove(network([1, 4], weights=False), X, weight_privacy="committed")


def test_several_inputs_come_in_order_or_by_name() -> None:
    shape = [1, 4]
    graph = helper.make_graph(
        [helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("MatMul", ["s", "w"], ["y"])],
        "graph",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "ab"],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "sy"],
        [numpy_helper.from_array(WEIGHT, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    privacy: dict[str, PublicOrPrivate] = {"a": "private", "b": "public"}
    proof = zenserve.prove(model, (X, 2 * X), input_privacy=privacy, reveal={"y": "values"})
    assert sorted(proof.shown) == ["input/b", "values/y"]
    assert np.asarray(proof.shown["values/y"]) == pytest.approx(3 * X @ WEIGHT, abs=0.1)
    named = zenserve.prove(model, {"b": 2 * X, "a": X}, reveal="values")
    assert np.asarray(named.shown["values/s"]) == pytest.approx(3 * X, abs=0.05)
    for x in ((X,), X, {"a": X}):
        with refuses("input.names"):
            zenserve.prove(model, x)


def test_labels_make_a_report() -> None:
    calibration = np.random.default_rng(0).uniform(-2, 2, (20, 1, 4))
    labels = (calibration[:, 0] @ WEIGHT).argmax(axis=1)
    proof = zenserve.prove(network([1, 4]), X, calibration=calibration, labels=labels, bits=6)
    assert proof.report is not None
    assert (proof.report.images, proof.report.float_accuracy) == (20, 1.0)
    assert proof.report.tensors[0].bits == 6


def test_bits_that_are_not_said_are_as_few_as_the_loss_allows() -> None:
    eight, few = (zenserve.prove(network([1, 4]), X, bits=bits) for bits in (8, None))
    assert few.shown == eight.shown
    assert _constraints(few) < _constraints(eight)


def _constraints(proof: zenserve.Proof) -> int:
    total: int = proof.key.circuit["constraints"]["total"]
    return total


@pytest.mark.parametrize(
    ("x", "options", "code"),
    [
        (np.ones(5), {}, "input.shape"),
        (np.ones((2, 4)), {}, "input.shape"),
        (["a"] * 4, {}, "input.not_numeric"),
        (np.full(4, np.nan), {}, "input.not_finite"),
        (X, {"calibration": np.ones(4)}, "input.shape"),
        (X, {"calibration": np.full((2, 4), 0.01)}, "input.out_of_range"),
        (X, {"bits": 0}, "model.quantised"),
        (X, {"reveal": "all"}, "statement.reveal"),
        (X, {"system": "none"}, "statement.system"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_code(x: Any, options: dict[str, Any], code: str) -> None:
    with refuses(code):
        zenserve.prove(network([1, 4]), x, **options)


def test_files_that_are_no_networks_are_refused(tmp_path: Path) -> None:
    with refuses("model.not_onnx"):
        zenserve.prove(b"\x00", X)
    (tmp_path / "proof.json").write_text("{}")
    (tmp_path / "key.json").write_text("{}")
    with refuses("file.json", match="statement: Field required"):
        zenserve.verify(tmp_path)


def test_onnx_files_take_no_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "label" in zenserve.prove(network([1, 4]), X).shown
    with refuses("model.export", match="a object is no ONNX file and no model of PyTorch's"):
        zenserve.prove(object(), X)


def test_the_module_of_the_page_is_proven(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch onnxscript")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed: pip install torch onnxscript")
    page = (ROOT / "docs" / "python.md").read_text()
    example, _ = re.findall(r"^```python untyped\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)  # noqa: S102  our own page
    assert "The network's outputs are" in capsys.readouterr().out
    assert len(zenserve.prove(names["network"], X).shown) == 1
    with refuses("model.export", match="no model of PyTorch's"):
        zenserve.prove(object(), X)


def following(weights: int = 2) -> onnx.ModelProto:
    """A network that takes three numbers."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.linspace(-1, 1, 3 * weights, dtype=np.float32).reshape(3, weights), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_output_is_handed_on_by_its_commitment_and_opened(system: str, tmp_path: Path) -> None:
    proof = zenserve.prove(
        network([1, 4]), X, weight_privacy="public", reveal="commitment", most_committed=40, system=system
    )
    committed = proof.committed["output"]
    assert (proof.shown, proof.statement.values) == ({}, {})
    assert proof.statement.commitments == {"output": committed.commitment}
    assert committed.values == pytest.approx(X @ WEIGHT, abs=0.02)
    assert str(committed.values[0]) not in repr(proof)
    proof.save(tmp_path)
    committed.save(tmp_path / "opening.json")
    assert not any("opening shows" in said for said in zenserve.verify(tmp_path).verified)
    verdict = zenserve.verify(tmp_path, opening=tmp_path / "opening.json", output=committed.commitment)
    assert verdict.valid
    assert any(f"opening shows: {committed.values[0]}" in said for said in verdict.verified)

    second = zenserve.prove(following(), committed, reveal="values", system=system)
    assert second.statement.commitments["input"] == committed.commitment
    exact = committed.values @ np.linspace(-1, 1, 6).reshape(3, 2)
    assert np.asarray(second.shown["values"]) == pytest.approx(exact, abs=0.02)
    assert zenserve.verify(second, input=committed.commitment).valid
    assert zenserve.verify(second, opening=committed.opened).reason == "output_mismatch"


def test_an_output_is_not_taken_more_often_than_its_commitment_hides_it(tmp_path: Path) -> None:
    """Where any number of proofs does no harm, nothing is counted."""

    def taken(system: str, times: int) -> None:
        proof = zenserve.prove(
            network([1, 4]), X, weight_privacy="public", reveal="commitment", system=system
        )
        committed = proof.committed["output"]
        for index in range(times):
            # A copy is the same output: it does not begin to count anew.
            same = (replace, copy)[index % 2](committed)
            Party(registry.find(system), tmp_path, silent).take(same)

    most = rows_for(8).tail // rows_for(8).code.queries
    taken("spartan-bls12-381", most - 1)
    with refuses("statement.openings", "x"):
        taken("spartan-bls12-381", most)
    taken(FIRST, most)


def test_what_does_not_take_an_output_is_refused() -> None:
    proof = zenserve.prove(network([1, 4]), X, weight_privacy="public", reveal="commitment")
    committed = proof.committed["output"]
    with refuses("input.shape", "input", match="the output has shape"):
        zenserve.prove(network([1, 4]), committed)
    with refuses("statement.basis_length", "most_committed", match="most_committed="):
        zenserve.prove(following(20), committed)
    with refuses("statement.system", "system"):
        zenserve.prove(following(), committed, system="spartan-bls12-381")


@pytest.mark.parametrize("system", SYSTEMS)
def test_witnesses_are_erased(monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    """Of the registration and of the inference: what is freed stays with a process."""
    made, witness = list[Any](), Program.witness

    def remembered(*asked: Any, **options: Any) -> Any:
        made.append(witness(*asked, **options))
        assert made[-1].any()
        return made[-1]

    monkeypatch.setattr(Program, "witness", remembered)
    zenserve.prove(network([1, 4]), X, reveal="values", system=system)
    assert [each.any() for each in made] == [False, False]


def test_an_answer_that_differs_is_refused_unless_it_is_accepted() -> None:
    model, near = network(["n", 4]).SerializeToString(), np.tile(X, (3, 1)) * [[0.9], [1.0], [1.1]]
    proof = zenserve.prove(model, X, calibration=near, reveal="values")
    assert [each.stage for each in proof.differences] == ["import", "quantisation"]
    assert {each.node for each in proof.differences} == {None}
    with pytest.raises(zenserve.ZenError, match=r"they part at 'dense1' .* accept it") as refusal:
        zenserve.prove(model, X, calibration=near, bits=1, reveal="values")
    assert refusal.value.code == "model.differs"
    accepted = zenserve.prove(model, X, calibration=near, bits=1, reveal="values", accept_difference=True)
    assert accepted.differences[1].error > TOLERANCES["quantisation"].value
    assert zenserve.verify(accepted).valid


def test_values_of_an_argmax_are_its_label() -> None:
    model = network(["n", 4])
    model.graph.node.append(helper.make_node("ArgMax", ["y"], ["label"], axis=1))
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("label", TensorProto.INT64, None))
    proof = zenserve.prove(model, X, reveal="values")
    label = int(np.argmax(X @ WEIGHT))
    assert np.ravel(proof.shown["values"]).tolist() == [label]
    assert zenserve.prove(model, X).shown == {"label": label}
