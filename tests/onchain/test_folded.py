"""Many public inputs in a contract, for little more than their calldata."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import zenserve
from tests.onchain.evm import Step, in_evm
from tests.refusals import refuses
from tests.vectors import plain_verifier
from tests.vectors.cases import FOLDER
from tests.web.conftest import WEB, Node, node
from zenserve.kernels import FrArray, fr
from zenserve.prover import groth16
from zenserve.prover.blocks import SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem, Segment
from zenserve.prover.folding import horner
from zenserve.verifier import words
from zenserve.verifier.documents import KeyFile, ProofDocument, Statement, checked
from zenserve.verifier.groth16.transcript import TAG
from zenserve.verifier.groth16.verifying_key import VerifyingKey
from zenserve.verifier.judging import judge
from zenserve.verifier.keys import opened
from zenserve.verifier.onchain.calldata import Arguments, arguments, calls
from zenserve.verifier.onchain.contract import solidity
from zenserve.verifier.onchain.described import contract
from zenserve.verifier.onchain.gas import estimated_gas, gas_of_transaction
from zenserve.verifier.onchain.layout import encode_proof

__all__ = ["node"]

VECTORS = WEB.parent / "tests" / "prover" / "vectors"
INPUTS = 40
MOST_GAS_AN_INPUT = 250
"""Of execution, where a point in the key takes 7,000."""


def network(outputs: int) -> bytes:
    """As many different sums of three numbers."""
    weights = np.random.default_rng(5).uniform(-1, 1, (3, outputs)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["values"])],
        "values",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])],
        [helper.make_tensor_value_info("values", TensorProto.FLOAT, [1, outputs])],
        [numpy_helper.from_array(weights, "w")],
    )
    return bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())


def proof_of(outputs: int, *, fold_inputs: bool = True) -> zenserve.Proof:
    return zenserve.prove(
        network(outputs),
        np.array([[1, 0, 1]], np.float32),
        calibration=np.random.default_rng(1).uniform(-1, 1, (64, 3)).astype(np.float32),
        reveal="values",
        fold_inputs=fold_inputs,
    )


def test_an_input_takes_hundreds_of_gas_and_changes_the_verdict(node: Node) -> None:
    spent = []
    for outputs in (INPUTS, 2 * INPUTS):
        proof = proof_of(outputs)
        (given,) = arguments(proof.document, proof.key)
        assert len(given.inputs) == 1 + outputs
        others = [value + (place == outputs // 2) for place, value in enumerate(given.inputs)]
        steps = [
            Step("verifier.sol:ZenServeVerifier"),
            Step(0, given.encode().hex(), measured=True),
            *(Step(0, given._replace(inputs=some).encode().hex()) for some in (others, given.inputs[::-1])),
        ]
        _, *answers = in_evm(node, {"verifier.sol": contract(proof.key)}, steps)
        assert [answer.outcome for answer in answers] == ["true", "false", "false"]
        spent.append(answers[0].gas)
    assert spent[1] - spent[0] <= MOST_GAS_AN_INPUT * INPUTS


def folding(inputs: int, value: int) -> tuple[VerifyingKey, Arguments]:
    """A key of a statement that folds so many inputs, and a proof for inputs that are all ``value``."""
    c, y, first = 2, 3, 4
    places, sums = np.arange(first, first + inputs), first + inputs + 1
    rows = horner(places, np.arange(sums, sums + inputs - 2), c, y)
    segments = (Segment("inputs", inputs),)
    system = ConstraintSystem(1, inputs - 2, (SparseBlock("fold", *rows),), 2, segments, folded=inputs)

    def complete(z: FrArray, challenges: FrArray) -> None:
        at, total, found = fr.to_ints(challenges)[0], value, []
        for _ in range(inputs - 2):
            total = (total * at + value) % fr.modulus
            found.append(total)
        z[sums:] = fr.from_ints(found)

    key = groth16.setup(system)
    z = fr.from_ints([1, 77, 0, 0, *[value] * inputs, *[0] * (inputs - 1)])
    proof = groth16.prove(key, system, z, post_challenge=complete)
    return key.verifying_key, Arguments(encode_proof(proof, []), [77, *[value] * inputs])


def test_a_transcript_of_any_length_has_the_gas_that_it_takes() -> None:
    """60, and 12 for each word of the tag, the digest, the counts, the inputs and the segment."""
    vectors = json.loads((VECTORS / "folded.json").read_text())
    key = VerifyingKey.from_json(vectors["verifying_key"])
    many = replace(key, folded=8400, segments=(replace(key.segments[0], size=8400),))
    for each in (key, many):
        words = -(-(len(TAG) + 32 + 4 + 32 * each.public + 8 + 128 + 5) // 32)
        assert f"precompile(2, {60 + 12 * words}, " in solidity(each)


@pytest.mark.large
def test_thousands_of_inputs_are_verified_and_their_gas_is_foretold(node: Node) -> None:
    """SHA-256 of 8,400 inputs takes more than 100,000 gas. Of long numbers calldata is the dearest part."""
    for count, value in ((2000, fr.modulus - 1), (8400, 5)):
        key, given = folding(count, value)
        call = given.encode()
        steps = [Step("verifier.sol:ZenServeVerifier"), Step(0, call.hex(), gas=100_000_000, measured=True)]
        _, answer = in_evm(node, {"verifier.sol": solidity(key)}, steps)
        assert answer.outcome == "true"
        assert estimated_gas(key, call) == pytest.approx(gas_of_transaction(call, answer.gas), rel=0.02)


def test_documents_with_folded_inputs_are_judged_alike_everywhere(node: Node, tmp_path: Path) -> None:
    proof = proof_of(4)
    document, key = proof.document.model_dump(), proof.key.model_dump()
    assert key["key"]["folded"] == 4
    edited = json.loads(json.dumps(document))
    edited["statement"]["values"]["values"][0] += 1
    # The same lie with its words and its hash: nothing but the equations tell it.
    lying = json.loads(json.dumps(edited))
    lying["statement"]["claim"] = words.claim(opened(proof.key).circuit, lying["statement"]["values"])
    lying["statement_sha256"] = checked(Statement, lying["statement"]).sha256.hex()
    (tmp_path / "key.json").write_text(json.dumps(key))
    for content, reason in ((document, "ok"), (edited, "statement_edited"), (lying, "pairing_mismatch")):
        file = tmp_path / "document.json"
        file.write_text(json.dumps(content))
        assert judge(checked(ProofDocument, content), proof.key).reason == reason
        case = {"document": str(file), "key": str(tmp_path / "key.json"), "told": {}}
        answered = node("tests/judge.ts", given=f"{json.dumps(case)}\n")
        assert json.loads(answered.stdout)["reason"] == reason, answered
        refused = {"ok": None, "statement_edited": "statement", "pairing_mismatch": "does not prove"}[reason]
        with nullcontext() if refused is None else pytest.raises(plain_verifier.Refused, match=refused):
            plain_verifier.verify(file.read_bytes(), (tmp_path / "key.json").read_bytes())


def test_typescript_has_no_calls_for_keys_of_version_2(node: Node) -> None:
    files = [FOLDER / "version2" / name for name in ("inference.json", "inference-key.json")]
    document, key = checked(ProofDocument, json.loads(files[0].read_text())), json.loads(files[1].read_text())
    assert (key["key"]["version"], key["key"]["challenges"] > 0) == (2, True)
    with refuses("statement.contract", "key"):
        calls(document, checked(KeyFile, key))
    assert "draws its challenges by SHA-512" in node("tests/onchain.ts", *map(str, files)).stderr


@pytest.mark.large
def test_typescript_makes_calls_for_as_many_inputs_as_python(node: Node, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("proof.json", "key.json")]
    for outputs, has_contract in ((135, True), (136, False)):
        proof = proof_of(outputs, fold_inputs=False)
        for file, content in zip(files, (proof.document, proof.key), strict=True):
            file.write_text(content.model_dump_json())
        with nullcontext() if has_contract else refuses("statement.contract", "key"):
            calls(proof.document, proof.key)
        answered = node("tests/onchain.ts", *map(str, files))
        assert ("fold the public inputs" in answered.stderr) is not has_contract, answered
