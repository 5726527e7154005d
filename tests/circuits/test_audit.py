"""Keys whose circuits are compiled again: right ones pass, and every other field, constraint or point is
found.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.circuits.quantised import networks
from tests.circuits.quantised.networks import embedding
from tests.prover.statements import R, forged_key
from tests.refusals import refuses
from zenserve.base.progress import silent
from zenserve.circuits import (
    Circuit,
    Inference,
    QuantGraph,
    compile_accuracy,
    compile_inference,
    compile_recognition,
    compile_registration,
    quantise,
)
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.operators.activation import Activation, QuantActivation
from zenserve.circuits.schemes.audit import (
    Finding,
    audit,
    audit_points,
    does_not_show,
    recompile,
    require_same,
)
from zenserve.errors import StatementError, ZenError
from zenserve.kernels import fr, g1
from zenserve.prover.groth16 import VerifyingKey, ceremony, powers_of_tau, prove, verify
from zenserve.prover.groth16.ceremony import Beacon, State
from zenserve.prover.groth16.powers_of_tau import PowersOfTau
from zenserve.prover.spartan.layout import rows_for
from zenserve.prover.spartan.system import CommitmentKey, Spartan
from zenserve.verifier.groth16 import setup_transcript
from zenserve.verifier.system import CEREMONY, DEVELOPMENT, IMPORTED

_OF_START = {"setup", "key.alpha_g1", "key.beta_g2", "key.ic", "key.basis", "transcript.origin"}


class Held(NamedTuple):
    """A ceremony of one contributor and a beacon, and the key that it made."""

    circuit: Circuit
    powers: PowersOfTau
    state: State
    key: VerifyingKey
    transcript: Mapping[str, Any]


@pytest.fixture(scope="module")
def network() -> QuantGraph:
    return networks.of_kinds(5, "conv", shape=(1, 3, 3))


@pytest.fixture(scope="module")
def held(network: QuantGraph) -> Held:
    circuit = compile_inference(network, weight_privacy="committed")
    system = circuit.constraint_system
    powers = replace(powers_of_tau.generate(9), contributions=1)
    state = ceremony.contribute(ceremony.start(system, powers), "Ada")
    state = ceremony.add_beacon(state, Beacon(bytes(32), 0))
    return Held(circuit, powers, state, ceremony.verifying_key(state), state.transcript)


def described(circuit: Circuit) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(circuit.describe()))
    return found


def with_verdict(findings: list[Finding], verdict: str) -> set[str]:
    return {finding.claim for finding in findings if finding.verdict == verdict}


def others(findings: list[Finding]) -> set[str]:
    return with_verdict(findings, "other")


def judged(graph: QuantGraph, description: Mapping[str, Any], key: VerifyingKey) -> set[str]:
    """The claims that are wrong, of all but the points."""
    return others(audit(recompile(graph, description), description, key))


def test_every_scheme_passes_with_the_architecture_alone(network: QuantGraph) -> None:
    faces = embedding(1)
    for graph, circuit in (
        (network.architecture, compile_registration(network)),
        (network.architecture, compile_accuracy(network, batch=2, weight_privacy="committed")),
        (network, compile_accuracy(network, batch=3)),
        (network.architecture, compile_inference(network, weight_privacy="committed", reveal="top", top=2)),
        (network, compile_inference(network, input_privacy="public", reveal="logits", level=2)),
        (network, compile_inference(network, batch=2)),
        (network.architecture, compile_inference(network, weight_privacy="committed", reveal="values")),
        (
            faces.architecture,
            compile_recognition(faces, weight_privacy="committed", reference_privacy="committed"),
        ),
    ):
        again = recompile(graph, described(circuit))
        assert again.constraint_system.digest == circuit.constraint_system.digest
        findings = audit(again, described(circuit), forged_key(circuit.constraint_system))
        assert {finding.verdict for finding in findings} == {"same"}
        assert {f"circuit.{field}" for field in circuit.describe()} < {finding.claim for finding in findings}


def test_a_key_without_a_setup_is_its_circuit_s(network: QuantGraph, tmp_path: Path) -> None:
    circuit = compile_registration(network)
    system, basis = circuit.constraint_system, CommitmentKey(rows_for(10))
    key = Spartan().setup(system, tmp_path / "key", basis=basis, threads=1, progress=silent)
    again = recompile(network.architecture, described(circuit))
    findings = audit(again, described(circuit), key)
    assert not others(findings)
    claims = {"key.circuit", "key.public", "key.challenges", "key.segments", "key.private", "key.rows"}
    assert claims < {finding.claim for finding in findings}
    assert not any("points" in sentence for sentence in does_not_show(again, key, []))
    fewer = replace(key.sizes, rows=key.sizes.rows - 1)
    for claim, changed in (
        ("key.circuit", replace(key, circuit=bytes(32))),
        ("key.rows", replace(key, sizes=fewer)),
    ):
        assert others(audit(again, described(circuit), changed)) == {claim}


def test_every_field_that_is_changed_is_found(network: QuantGraph) -> None:
    circuit = compile_accuracy(network, batch=2, weight_privacy="committed")
    honest, key = described(circuit), forged_key(circuit.constraint_system)
    for field in honest:
        values: tuple[Any, ...] = ("x", 1, None, [], {})
        for other in values:
            changed = honest | {field: other}
            if field in {"scheme", "privacy", "level", "batch"}:  # what the circuit is compiled with
                with pytest.raises(ZenError):
                    require_same(audit(recompile(network.architecture, changed), changed, key))
            else:
                assert judged(network.architecture, changed, key) == {f"circuit.{field}"}
    assert judged(network.architecture, honest | {"more": None}, key) == {"circuit.more"}
    assert judged(network.architecture, {**honest, "level": True}, key) == {"circuit.level"}
    assert "circuit.batch" not in judged(network.architecture, {**honest, "batch": 3}, key) != set()
    with refuses("file.json"):
        recompile(network, {})


def test_a_difference_deep_inside_is_named(network: QuantGraph) -> None:
    circuit = compile_inference(network, weight_privacy="committed")
    changed = described(circuit)
    changed["quantisation"]["input"]["scale"] *= 2
    findings = audit(circuit, changed, forged_key(circuit.constraint_system))
    with refuses("statement.audit", "circuit.quantisation", match=r"^circuit\.quantisation\.input\.scale "):
        require_same(findings)


def test_a_key_of_other_numbers_or_another_label_is_found(network: QuantGraph) -> None:
    circuit = compile_accuracy(network, batch=2, weight_privacy="committed")
    key = forged_key(circuit.constraint_system)
    first, *rest = key.segments
    for claims, other in (
        ({"statement_digest"}, replace(key, statement_digest=bytes(32))),
        ({"ic.count"}, replace(key, ic=key.ic[:-1])),
        ({"challenges"}, replace(key, challenges=key.challenges - 1)),
        ({"segments.size"}, replace(key, segments=(replace(first, size=first.size + 1), *rest))),
        ({"segments.linked"}, replace(key, segments=(replace(first, link_g2=None), *rest))),
    ):
        assert judged(network.architecture, described(circuit), other) == {f"key.{claim}" for claim in claims}


def test_without_powers_a_ceremony_s_start_is_not_shown(held: Held) -> None:
    findings = audit_points(held.circuit, held.key, held.transcript)
    assert with_verdict(findings, "not shown") == _OF_START
    assert with_verdict(findings, "same") == {
        "key.gamma_g2",
        "key.delta_g2",
        "key.segments.knowledge_g2",
        "key.segments.link_g2",
        "key.contributions",
    }
    assert not with_verdict(audit_points(held.circuit, held.key, None), "same")


def test_powers_alone_show_every_point(held: Held) -> None:
    assert held.key.setup == CEREMONY
    findings = audit_points(held.circuit, held.key, held.transcript, held.powers)
    assert {finding.verdict for finding in findings} == {"same"}
    assert {finding.claim for finding in findings} > _OF_START
    without = audit_points(held.circuit, held.key, None, held.powers)
    assert with_verdict(without, "same") == _OF_START - {"transcript.origin"} | {"key.gamma_g2"}
    assert not others(without)


def test_with_the_last_state_even_without_a_transcript(held: Held) -> None:
    for transcript in (held.transcript, None):
        findings = audit_points(held.circuit, held.key, transcript, held.powers, held.state)
        assert {finding.verdict for finding in findings} == {"same"}
        assert "state" in {finding.claim for finding in findings}


@pytest.mark.large
def test_another_point_in_a_key_is_found(held: Held, network: QuantGraph) -> None:
    circuit, key = held.circuit, held.key
    one, two, *rest = key.ic
    alien = forged_key(circuit.constraint_system)
    changed = {name: getattr(alien, name) for name in ("alpha_g1", "beta_g2", "basis")}
    for name, value in changed.items():
        assert others(_by_powers(held, replace(key, **{name: value}))) == {f"key.{name}"}
    for ic in ((two, one, *rest), (one, two, *rest[:-1], alien.ic[0])):
        assert others(_by_powers(held, replace(key, ic=ic))) == {"key.ic"}
    assert others(_by_powers(held, replace(key, setup=IMPORTED))) == {"setup"}

    # Of another network of this architecture whose weights are in its constraints, and so in its points.
    public, other = (compile_inference(graph, level=2) for graph in (network, _other_weights(network)))
    keys = []
    for each in (public, other):
        state = ceremony.contribute(ceremony.start(each.constraint_system, held.powers), "Ada")
        keys.append((ceremony.verifying_key(state), state.transcript))
    (mine, transcript), (its, _) = keys
    assert len(mine.ic) == len(its.ic)
    mixed = replace(mine, ic=its.ic)
    assert others(audit_points(public, mixed, transcript, held.powers)) == {"key.ic"}
    assert others(audit_points(public, *keys[1], held.powers)) == {"key.ic", "transcript.origin"}


def test_a_key_of_more_or_fewer_points_is_found(held: Held) -> None:
    fewer = replace(held.key, ic=held.key.ic[:-1], contributions=held.key.contributions[:1])
    findings = audit_points(held.circuit, fewer, None, held.powers, held.state)
    assert {"key.ic", "key.contributions"} <= others(findings)


def _by_powers(held: Held, key: VerifyingKey) -> list[Finding]:
    """Judged by powers alone, and no otherwise with the state."""
    found = audit_points(held.circuit, key, held.transcript, held.powers)
    assert others(audit_points(held.circuit, key, held.transcript, held.powers, held.state)) == others(found)
    return found


def _other_weights(network: QuantGraph) -> QuantGraph:
    other = QuantGraph.from_bytes(network.to_bytes())
    weight: np.ndarray = other.nodes[0].weight  # type: ignore[attr-defined]
    weight[...] = weight[::-1, ::-1].copy()
    weight.flat[0] ^= 1
    return other


def test_other_powers_or_another_state_are_found(held: Held) -> None:
    system, transcript = held.circuit.constraint_system, held.transcript
    powers = replace(powers_of_tau.generate(held.powers.power), contributions=1)
    assert others(audit_points(held.circuit, held.key, transcript, powers)) == _OF_START - {"setup"}
    nobody = replace(held.powers, contributions=0)
    assert others(audit_points(held.circuit, held.key, transcript, nobody)) == {"setup", "transcript.origin"}

    start = ceremony.start(system, held.powers)
    for state in (start, replace(held.state, statement_digest=bytes(32)), ceremony.start(system, powers)):
        findings = audit_points(held.circuit, held.key, transcript, held.powers, state)
        assert others(findings) == {"state"}
        assert with_verdict(findings, "not shown") == _OF_START
    with refuses("ceremony.powers_too_small"):
        audit_points(held.circuit, held.key, transcript, powers.first(7), held.state)
    later = ceremony.contribute(ceremony.contribute(start, "Ada"), "Emmy")
    assert others(audit_points(held.circuit, held.key, None, held.powers, later)) == {
        "key.delta_g2",
        "key.segments.knowledge_g2",
        "key.segments.link_g2",
        "key.contributions",
    }


def test_a_key_that_one_party_made_has_nothing_to_show(held: Held) -> None:
    system = held.circuit.constraint_system
    for key in (forged_key(system), replace(forged_key(system), setup=IMPORTED)):
        findings = audit_points(held.circuit, key, None)
        assert {finding.verdict for finding in findings} == {"not shown"}
        assert "nobody can check" in findings[0].detail
        (about, *_) = does_not_show(held.circuit, key, findings)
        assert "from whom you trust" in about
    named = replace(forged_key(system, CEREMONY), contributions=held.key.contributions)
    assert not others(audit_points(held.circuit, named, None))
    found = others(audit_points(held.circuit, named, None, held.powers, held.state))
    assert found == {claim for claim in _points_of(held) if claim not in {"setup", "key.contributions"}}


def _points_of(held: Held) -> set[str]:
    return {finding.claim for finding in audit_points(held.circuit, held.key, None)}


def test_a_key_of_right_points_whose_ceremony_began_elsewhere(
    network: QuantGraph, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start that Ada is handed has a public input's point among the private ones. It comes back over δ,
    and from one proof makes others, of any public input. All points of the verifying key are right.
    """
    circuit: Inference = compile_inference(network, level=2)
    start = ceremony.start(circuit.constraint_system, held.powers)
    private = np.concatenate([start.private, start.ic[1:2]])
    ada = ceremony.contribute(replace(start, private=private, first_private=private), "Ada")
    key = ceremony.verifying_key(ada)
    setup_transcript.check(ada.transcript, key)

    with monkeypatch.context() as patch:
        patch.setattr(
            import_module("zenserve.prover.groth16.ceremony.finish"), "verify", lambda *_, **__: None
        )
        proving = ceremony.finish(
            replace(ada, private=ada.private[:-1]), circuit.constraint_system, held.powers
        )
    q = networks.inputs(network, 1)[0]
    proof = prove(proving, circuit.constraint_system, circuit.witness(q, statement=5))
    assert verify(key, circuit.public_inputs(q, statement=5), proof)
    difference = g1.mul(ada.private[-1:], fr.from_ints([(5 - 6) % R]))
    forged = replace(proof, c=g1.compress(g1.add(g1.decompress(proof.c), difference[0])))
    assert verify(key, circuit.public_inputs(q, statement=6), forged)

    assert not others(audit_points(circuit, key, ada.transcript))
    assert others(audit_points(circuit, key, ada.transcript, held.powers)) == {"transcript.origin"}
    for state in (ada, replace(ada, private=ada.private[:-1])):
        assert "state" in others(audit_points(circuit, key, ada.transcript, held.powers, state))


def test_another_network_is_found(network: QuantGraph) -> None:
    circuit = compile_inference(network)
    key = forged_key(circuit.constraint_system)
    found = judged(_other_weights(network), described(circuit), key)
    assert {"circuit.network", "key.statement_digest"} <= found
    with pytest.raises(StatementError):
        require_same(audit(recompile(_other_weights(network), described(circuit)), described(circuit), key))


def test_what_no_audit_shows(held: Held) -> None:
    circuit, key, transcript, powers = held.circuit, held.key, held.transcript, held.powers
    made = audit_points(circuit, key, transcript, powers, held.state)
    with_state = set(does_not_show(circuit, key, made))
    with_powers = set(does_not_show(circuit, key, audit_points(circuit, key, transcript, powers)))
    with_neither = set(does_not_show(circuit, key, audit_points(circuit, key, transcript)))
    assert any("one contributor" in sentence for sentence in with_state)
    assert with_state < with_powers < with_neither
    assert any("without the powers of tau" in sentence for sentence in with_neither - with_powers)
    (more,) = set(does_not_show(circuit, replace(key, setup=DEVELOPMENT), made)) - with_state
    assert "nobody contributed" in more


def test_a_table_of_another_function_than_it_names_is_found() -> None:
    """It is proven all the same, and compiled again: only its name lies."""
    x = tensor("x", 2).then(Activation, "log(x)").dense(np.eye(2))
    graph = quantise(x.graph(), np.linspace(1, 4, 8).reshape(4, 2), 4)
    node, last = graph.nodes
    assert isinstance(node, QuantActivation)
    moved = node.values.copy()
    moved[7] -= 1
    for values, function, verdict in (
        (node.values, "log(x)", "same"),
        (moved, "log(x)", "other"),
        (node.values, "tanh(x)", "other"),
    ):
        told = replace(graph, nodes=(replace(node, values=values, function=function), last))
        circuit = compile_inference(told)
        findings = audit(circuit, described(circuit), forged_key(circuit.constraint_system))
        assert [(each.claim, each.verdict) for each in findings if "function" in each.claim] == [
            ("function of activation1", verdict)
        ]
        assert others(findings) == ({"function of activation1"} if verdict == "other" else set())
    for no_formula in ("(" * 300, "x.real"):
        with refuses("model.quantised"):
            replace(graph, nodes=(replace(node, function=no_formula), last))
