"""examples/onchain, end to end: a model is registered, and its score pays once, to whom the proof names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import zenserve
from tests.onchain.evm import Step, in_evm
from tests.web.conftest import Node, node
from zenserve.verifier.fields import canonical
from zenserve.verifier.onchain.calldata import Arguments, arguments, calls
from zenserve.verifier.onchain.described import contract

__all__ = ["node"]

EXAMPLES: Final = Path(__file__).parents[2] / "examples" / "onchain"
PAYEE, THIEF, OWNER = ("a1" * 20, "b2" * 20, "c3" * 20)
# register(bytes32,address,bytes32), claim(bytes,bytes,uint256[])
REGISTER, CLAIM = "17ac8902", "2f8ff82a"
PRIZE: Final = 1000


def network() -> bytes:
    """A score of three numbers, 0.5 x_0 - 0.25 x_1 + 0.125 x_2."""
    weights = numpy_helper.from_array(np.array([[0.5], [-0.25], [0.125]], np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["score"])],
        "score",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, [1, 1])],
        [weights],
    )
    return bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())


def proof_of(values: Sequence[float], **options: Any) -> zenserve.Proof:
    return zenserve.prove(
        network(),
        np.array([values], np.float32),
        calibration=np.random.default_rng(1).uniform(-1, 1, (64, 3)).astype(np.float32),
        reveal="threshold",
        at_least=0.3,
        challenge=f"0x{PAYEE}",
        **options,
    )


@pytest.fixture(scope="module")
def proof() -> zenserve.Proof:
    return proof_of([1, 0, 1])


def word(value: int | str) -> str:
    return f"{int(value, 16) if isinstance(value, str) else value:064x}"


def claim(statement: bytes, given: Arguments) -> str:
    """claim(statement, proof, inputs) in Solidity's ABI."""
    parts = []
    for data in (statement, given.proof):
        parts.append(word(len(data)) + data.ljust(-(-len(data) // 32) * 32, b"\0").hex())
    places = [96, 96 + len(parts[0]) // 2, 96 + (len(parts[0]) + len(parts[1])) // 2]
    inputs = word(len(given.inputs)) + "".join(map(word, given.inputs))
    return CLAIM + "".join(map(word, places)) + "".join(parts) + inputs


def commitment_of(node: Node, proof: zenserve.Proof, given: Arguments) -> str:
    """What the verifier's own ``commitment(bytes,uint256)`` says."""
    padded = given.proof.ljust(-(-len(given.proof) // 32) * 32, b"\0").hex()
    asked = f"60a27c12{word(64)}{word(0)}{word(len(given.proof))}{padded}"
    steps = [Step("verifier.sol:ZenServeVerifier"), Step(0, asked)]
    return in_evm(node, {"verifier.sol": contract(proof.key)}, steps)[1].returned


def test_a_score_pays_out_once_to_whom_the_proof_names(node: Node, proof: zenserve.Proof) -> None:
    (given,) = arguments(proof.document, proof.key)
    statement = canonical(proof.statement)
    commitment = commitment_of(node, proof, given)
    sources = {name: (EXAMPLES / name).read_text() for name in ("ModelRegistry.sol", "ScorePayout.sol")}
    sources["verifier.sol"] = contract(proof.key)
    terms = [word(OWNER), commitment, word(given.inputs[1]), proof.key.key["digest"]]
    good = claim(statement, given)
    other_input = given._replace(inputs=[given.inputs[0], given.inputs[1] + 1, 1])
    listed = [
        Step("verifier.sol:ZenServeVerifier"),
        Step("ModelRegistry.sol:ModelRegistry"),
        Step("ScorePayout.sol:ScorePayout", f"{'0' * 24}{{1}}" + "".join(terms), OWNER, PRIZE),
        Step(1, f"{REGISTER}{commitment}{'0' * 24}{{0}}{word(7)}", OWNER),
        Step(1, f"{REGISTER}{commitment}{'0' * 24}{{0}}{word(7)}", OWNER),
        Step("ScorePayout.sol:ScorePayout", f"{'0' * 24}{{1}}" + "".join(terms), OWNER, PRIZE),
        Step(5, good, THIEF),
        Step(5, claim(statement, other_input), PAYEE),
        Step(5, claim(statement + b" ", given), PAYEE),
        Step(5, good, PAYEE),
        Step(5, good, PAYEE),
        Step(
            "ScorePayout.sol:ScorePayout", f"{'0' * 24}{{1}}" + "".join([*terms[:3], word(1)]), OWNER, PRIZE
        ),
    ]
    answers = in_evm(node, sources, listed)
    assert [answer.error for answer in answers] == [
        None,
        None,
        "NotRegistered",
        None,
        "AlreadyRegistered",
        None,
        "NotForCaller",
        "NotValid",
        "OtherStatement",
        None,
        "AlreadyPaid",
        "OtherKey",
    ]
    assert answers[9].gained == PRIZE
    assert sum(answer.gained for answer in answers[6:9]) == 0


@pytest.mark.large
def test_a_key_that_shows_more_than_the_score_pays_nothing(node: Node) -> None:
    """Under it the claimant chooses what stands in the threshold's place, and the one behind it."""
    kind = proof_of([0, 0, 0]).key.circuit["quantisation"]["input"]
    wanted = 40
    chosen = [kind["scale"] * (value - kind["zero_point"]) for value in (wanted, 1, 0)]
    proof = proof_of(chosen, input_privacy="public")
    (given,) = arguments(proof.document, proof.key)
    assert given.inputs[1:3] == [wanted, 1]
    assert given.inputs[-1] == 0  # the score is too low
    commitment = commitment_of(node, proof, given)
    sources = {name: (EXAMPLES / name).read_text() for name in ("ModelRegistry.sol", "ScorePayout.sol")}
    sources["verifier.sol"] = contract(proof.key)
    terms = [word(OWNER), commitment, word(wanted), proof.key.key["digest"]]
    steps = [
        Step("verifier.sol:ZenServeVerifier"),
        Step("ModelRegistry.sol:ModelRegistry"),
        Step(1, f"{REGISTER}{commitment}{'0' * 24}{{0}}{word(7)}", OWNER),
        Step("ScorePayout.sol:ScorePayout", f"{'0' * 24}{{1}}" + "".join(terms), OWNER, PRIZE),
        Step(3, claim(canonical(proof.statement), given), PAYEE),
    ]
    *made, answer = in_evm(node, sources, steps)
    assert [each.error for each in made] == [None] * 4
    assert (answer.error, answer.gained) == ("OtherInputs", 0)


def test_typescript_makes_the_same_calls(node: Node, proof: zenserve.Proof, tmp_path: Path) -> None:
    files = {"proof": tmp_path / "proof.json", "key": tmp_path / "key.json"}
    files["proof"].write_text(proof.document.model_dump_json())
    files["key"].write_text(proof.key.model_dump_json())
    done = node("tests/onchain.ts", *map(str, files.values()))
    (made,) = json.loads(done.stdout)
    (call,) = calls(proof.document, proof.key)
    assert made == {name: getattr(call, name) for name in made}
    changed = proof.document.model_dump()
    changed["statement"]["claim"] = "Anything."
    files["proof"].write_text(json.dumps(changed))
    assert "'statement.contract'" in node("tests/onchain.ts", *map(str, files.values())).stderr
