"""Many public inputs in a contract, for little more than their calldata."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import zenserve
from tests.onchain.evm import Step, in_evm
from tests.vectors import plain_verifier
from tests.web.conftest import Node, node
from verifier.onchain.calldata import arguments
from verifier.onchain.described import contract

__all__ = ["node"]

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


def proof_of(outputs: int) -> zenserve.Proof:
    return zenserve.prove(
        network(outputs),
        np.array([[1, 0, 1]], np.float32),
        calibration=np.random.default_rng(1).uniform(-1, 1, (64, 3)).astype(np.float32),
        reveal="values",
        fold_inputs=True,
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


def test_documents_with_folded_inputs_are_judged_alike_everywhere(node: Node, tmp_path: Path) -> None:
    proof = proof_of(4)
    document, key = proof.document.model_dump(), proof.key.model_dump()
    assert key["key"]["folded"] == 4
    changed = json.loads(json.dumps(document))
    changed["statement"]["values"]["values"][0] += 1
    files = {name: tmp_path / f"{name}.json" for name in ("key", "good", "changed")}
    for name, content in zip(files, (key, document, changed), strict=True):
        files[name].write_text(json.dumps(content))
    for name, valid in (("good", True), ("changed", False)):
        case = {"document": str(files[name]), "key": str(files["key"]), "told": {}}
        answered = node("tests/judge.ts", given=f"{json.dumps(case)}\n")
        assert json.loads(answered.stdout)["valid"] is valid, answered
        try:
            plain_verifier.verify(files[name].read_bytes(), files["key"].read_bytes())
            accepted = True
        except plain_verifier.Refused:
            accepted = False
        assert accepted is valid
