"""Public inputs that verifiers read as one number: they stay the same, and no witness gets around it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.circuits.quantised import networks
from tests.prover.verifiers import verify
from tests.refusals import refuses
from tests.vectors.world import World
from zenserve.circuits import Inference, compile_inference
from zenserve.circuits.quantised import QuantGraph
from zenserve.circuits.r1cs.folding import fold_public_inputs
from zenserve.circuits.schemes.audit import Verdict, audit, recompile
from zenserve.kernels import FrArray, fr
from zenserve.prover import groth16
from zenserve.prover.groth16 import CommitmentKey, VerifyingKey
from zenserve.verifier.groth16.proof import Proof
from zenserve.verifier.groth16.transcript import fold

STATEMENT = 77


@pytest.fixture(scope="module")
def graph() -> QuantGraph:
    found: QuantGraph = World().graph
    return found


def folded(graph: QuantGraph, *, segments: bool = True) -> Inference:
    return compile_inference(
        graph,
        input_privacy="public",
        weight_privacy="committed" if segments else "public",
        reveal="logits",
        fold_inputs=True,
    )


def witness(circuit: Inference) -> FrArray:
    return circuit.witness(networks.inputs(circuit.qgraph, 1, 3)[0], statement=STATEMENT)


def proven(circuit: Inference) -> tuple[VerifyingKey, list[int], Proof, list[bytes]]:
    z, system = witness(circuit), circuit.constraint_system
    basis = CommitmentKey.generate(64)
    key = groth16.setup(system, basis=basis if circuit.commitments else None)
    openings = [
        basis.commit(z[part.start : part.stop - 1])
        for part, segment in zip(system.segment_ranges, system.segments, strict=True)
        if segment.linked
    ]
    proof = groth16.prove(key, system, z, openings=openings, post_challenge=circuit.program.post_challenge)
    inputs = [*fr.to_ints(z[1 : 1 + system.public]), *fr.to_ints(z[system.folded_inputs])]
    return key.verifying_key, inputs, proof, [opening.commitment for opening in openings]


@pytest.mark.parametrize("segments", [True, False])
def test_a_key_has_one_point_for_all_inputs_and_binds_each(graph: QuantGraph, segments: bool) -> None:
    circuit = folded(graph, segments=segments)
    key, inputs, proof, commitments = proven(circuit)
    system = circuit.constraint_system
    assert (system.public, key.public) == (1, 1 + system.folded) == (1, len(inputs))
    assert len(key.ic) == 2 + system.challenges
    assert inputs[0] == STATEMENT
    assert verify(key, inputs, proof, commitments)
    for index in range(len(inputs)):
        others = [value + (place == index) for place, value in enumerate(inputs)]
        assert verify(key, others, proof, commitments).reason == "pairing_mismatch"
    assert verify(key, [inputs[0], *inputs[:0:-1]], proof, commitments).reason == "pairing_mismatch"


def test_it_shows_the_inputs_that_it_shows_otherwise(graph: QuantGraph) -> None:
    circuit = folded(graph)
    plain = compile_inference(graph, input_privacy="public", weight_privacy="committed", reveal="logits")
    system, before = circuit.constraint_system, plain.constraint_system
    z, old = witness(circuit), witness(plain)
    inputs = [*fr.to_ints(z[1 : 1 + system.public]), *fr.to_ints(z[system.folded_inputs])]
    assert inputs == fr.to_ints(old[1 : 1 + before.public])
    # A row for each input that joins the sum of Horner's rule.
    assert system.constraints == before.constraints + system.folded - 1
    assert circuit.program.degree == plain.program.degree + system.folded - 1
    assert circuit.public_layout == plain.public_layout


def test_no_other_inputs_have_the_fold_and_no_sum_can_be_wrong(graph: QuantGraph) -> None:
    """Rows alone, with challenges that a verifier would draw: whatever is changed, one of them fails."""
    circuit = folded(graph)
    system, z = circuit.constraint_system, witness(circuit)
    circuit.program.check(z)
    first, last = 1 + system.public, system.instance - 1
    (c,) = fr.to_ints(z[first : first + 1])
    values = fr.to_ints(z[system.folded_inputs])
    assert fr.to_ints(z[last : last + 1]) == [fold(values, c)]
    sums = np.arange(system.variables - (system.folded - 2), system.variables)
    for variable in [last, *range(*system.folded_inputs.indices(system.variables)), *sums]:
        changed = z.copy()
        changed[variable] = fr.add(z[variable], fr.from_ints([1])[0])
        with refuses("statement.unsatisfied"):
            system.check(changed)


def test_an_audit_compiles_it_again(graph: QuantGraph) -> None:
    circuit = folded(graph)
    description = circuit.describe()
    again = recompile(graph, description)
    assert again.constraint_system.digest == circuit.constraint_system.digest
    key = groth16.setup(circuit.constraint_system, basis=CommitmentKey.generate(64)).verifying_key
    assert {each.verdict for each in audit(again, description, key)} == {Verdict.SAME}
    found = audit(again, description, groth16.setup(compile_inference(graph).constraint_system).verifying_key)
    assert Verdict.OTHER in [each.verdict for each in found if each.claim == "key.folded"]


def test_few_inputs_stay_as_they_are(graph: QuantGraph) -> None:
    program = compile_inference(graph, reveal="label").program
    assert program.constraint_system.public == 2
    assert fold_public_inputs(program) is program
