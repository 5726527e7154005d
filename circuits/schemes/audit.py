"""An audit, claim by claim, of whether a verifying key is for the circuit that its description tells of.

Compiling is deterministic: anybody who has the network, or its architecture where the weights are committed,
compiles the circuit again (``recompile``). ``audit`` compares the circuit with the claims that the key makes
about it. Nobody can read the circuit off the key's points: a party that made them alone can put other points
under the same claims. Only a key from a ceremony can be made again, with the powers of tau that the ceremony
started from.

Making it again takes these parts. The start, which powers and circuit determine, has α, β, the points IC and
U_1; γ is one; δ, every σ and k are what the contributions in the transcript make of one and zero
(``zenserve.verifier.keys.opened`` follows them). But all these may be right in a key under which somebody can
forge: an attacker who has an honest party contribute to a start of the attacker's own gets points over δ that
no key may have. Each contribution is bound to the hash of its start, so the transcript's ``origin`` must be
the true start's. With it, the key is sound if one contributor was honest, whatever became of the state, which
only provers need to be right.

A key without a setup has no points: it is numbers, each of which the circuit determines, or admission bounds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Any, Final, NamedTuple

from zenserve.base.progress import Progress
from zenserve.circuits.quantised import QuantGraph
from zenserve.circuits.schemes.accuracy import compile_accuracy
from zenserve.circuits.schemes.circuit import Circuit
from zenserve.circuits.schemes.inference import compile_inference
from zenserve.circuits.schemes.recognition import compile_recognition
from zenserve.circuits.schemes.registration import compile_registration
from zenserve.circuits.schemes.robustness import compile_robustness
from zenserve.errors import CeremonyError, FileFormatError, StatementError
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import VerifyingKey, ceremony
from zenserve.prover.groth16.ceremony import State
from zenserve.prover.groth16.ceremony.initial import required_power
from zenserve.prover.groth16.powers_of_tau import PowersOfTau
from zenserve.prover.spartan.layout import sizes_of
from zenserve.verifier.fields import canonical
from zenserve.verifier.spartan.key import SpartanKey
from zenserve.verifier.system import DEVELOPMENT


class Verdict(StrEnum):
    """Of a claim: it was made again and is the same, or another; or nothing at hand shows it."""

    SAME = "same"
    OTHER = "other"
    NOT_SHOWN = "not shown"


class Finding(NamedTuple):
    """``claim``: the place in the key's file; ``detail``: what differs, or why nothing shows it, else ""."""

    claim: str
    verdict: Verdict
    detail: str = ""


# Half a step is what rounding takes; a machine's floats may differ in the last digits.
_NEAREST: Final = 0.501
_NO_CEREMONY: Final = "nobody can check the points of a key that names no ceremony"
_NO_POWERS: Final = "the ceremony's powers of tau would show it"
_NO_TRANSCRIPT: Final = "the key's file has no transcript; the ceremony's last state would show it"


def recompile(qgraph: QuantGraph, description: Mapping[str, Any]) -> Circuit:
    """The circuit of ``qgraph`` with the settings of ``description`` (``Circuit.describe``, from anywhere).

    Raises as the compilers do, and ``FileFormatError`` (``file.json``) for no description.
    """
    try:
        return _recompiled(qgraph, description)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise FileFormatError("file.json", "this is no description of a circuit", field="circuit") from None


def audit(circuit: Circuit, description: Mapping[str, Any], key: VerifyingKey | SpartanKey) -> list[Finding]:
    """Compare all claims of ``description`` and ``key`` about their circuit, except the points, with
    ``circuit``. Check that tables are of the functions that they name."""
    # Through JSON, where tuples are lists.
    own = json.loads(json.dumps(circuit.describe()))
    described = [
        _compared(f"circuit.{field}", own.get(field, ...), description.get(field, ...))
        for field in sorted({*own, *description})
    ]
    made, said = _numbers_of(circuit.constraint_system, key)
    compared = [_compared(claim, made[claim], said[claim]) for claim in said]
    return [*described, *compared, *_functions(circuit.qgraph)]


def _functions(graph: QuantGraph) -> Iterator[Finding]:
    for node in graph.nodes:
        claim = f"function of {node.name}"
        try:
            table = node.tabulated([graph.types[name] for name in node.inputs])
        except ValueError as error:
            yield Finding(claim, Verdict.OTHER, str(error))
            continue
        if table is None:
            continue
        function, steps = table
        if steps < _NEAREST:
            yield Finding(claim, Verdict.SAME)
        else:
            detail = (
                f"the table of {node.name} is up to {steps:.2f} steps from {function}, which it claims to be"
            )
            yield Finding(claim, Verdict.OTHER, detail)


def require_same(findings: list[Finding]) -> None:
    """Raises ``StatementError`` (``statement.audit``), the first claim that is another as the field."""
    for claim, verdict, detail in findings:
        if verdict is Verdict.OTHER:
            raise StatementError("statement.audit", detail, field=claim)


def audit_points(
    circuit: Circuit,
    key: VerifyingKey,
    transcript: Mapping[str, Any] | None,
    powers: PowersOfTau | None = None,
    state: State | None = None,
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> list[Finding]:
    """Check that the points of ``key`` are those that a ceremony that started from ``powers`` made for
    ``circuit``.

    ``transcript``: of the key's file, found to lead to the key (``zenserve.verifier.keys.opened``).
    ``powers`` are taken as they are; ``read_ptau`` verifies them. ``state``: the last state of the ceremony,
    as it was read. With it the start is not computed again, and the points that provers have are checked,
    too. Stages: those of ``ceremony.verify`` and ``ceremony.start``. Raises ``FileFormatError``
    (``file.point_*``) for a state of bad points, ``CeremonyError`` (``ceremony.powers_too_small``).
    """
    said = _points(key) | ({} if transcript is None else {"transcript.origin": transcript["origin"]})
    made = {} if transcript is None else _secrets(key) | {"key.gamma_g2": key.gamma_g2}
    findings: list[Finding] = []
    if powers is not None:
        system = circuit.constraint_system
        powers = powers.first(required_power(system))
        if state is None:
            made |= _of_start(ceremony.start(system, powers, threads=threads, progress=progress))
        else:
            try:
                state.examine(threads=threads)
                finished = ceremony.finish(
                    state, system, powers, development=True, threads=threads, progress=progress
                )
                made |= _points(finished.verifying_key) | {"transcript.origin": state.origin.hex()}
                findings.append(Finding("state", Verdict.SAME))
            except CeremonyError as error:
                findings.append(Finding("state", Verdict.OTHER, error.message))
    return [*findings, *_points_compared(said, made, key)]


def does_not_show(circuit: Circuit, key: VerifyingKey | SpartanKey, points: Sequence[Finding]) -> list[str]:
    """Return sentences about the facts that an audit of that circuit and key, and of these points, does not
    show."""
    about = () if isinstance(key, SpartanKey) else _about_points(key, points)
    return [*about, *_about_circuit(circuit)]


def _about_points(key: VerifyingKey, points: Sequence[Finding]) -> Iterator[str]:
    shown = {finding.claim for finding in points if finding.verdict is Verdict.SAME}
    if not key.contributions:
        yield (
            "Anything about the key's points: one party made them alone, and nobody can tell them from those "
            "of another circuit, nor whether that party kept what forges proofs. Take such a key from whom "
            "you trust."
        )
        return
    if "key.ic" not in shown:
        yield (
            "That the key's points are of this circuit, and of the ceremony that it names: without the "
            "powers of tau nobody can tell them from points that one party made up."
        )
    if key.setup == DEVELOPMENT:
        yield (
            "Anything against whoever made the powers of tau: nobody contributed to them, and who kept their "
            "secrets can forge proofs."
        )
    yield (
        "That one contributor to the powers of tau, and one to the key, erased their shares. Compare the "
        "hashes of contributions with those that people you trust have published."
    )
    yield "Who the contributors are: names are their own word, and one person may bear many."
    yield "If a beacon closed the ceremony, that its value was not known before the last contribution."
    if "state" not in shown:
        yield (
            "Whether the key that provers have is right. That is their concern: nobody forges a proof with "
            "a wrong one."
        )


def _about_circuit(circuit: Circuit) -> Iterator[str]:
    yield {
        "public": "Whether the network is one that you know: compare its hash.",
        "private": "What the weights are. They may differ from one proof to the next.",
        "committed": (
            "What the committed weights are. That they are of their types, the proof of the model's "
            "registration shows."
        ),
    }[circuit.typed.weight_privacy]
    yield "That the constraints say what the words say: one program made both."


def _numbers_of(
    system: ConstraintSystem, key: VerifyingKey | SpartanKey
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the numbers in a key that describe its circuit, by claim: computed from ``system``, and read
    from ``key``."""
    if isinstance(key, SpartanKey):
        made = asdict(sizes_of(system)) | {"circuit": system.digest.hex()}
        said = asdict(key.sizes) | {"circuit": key.circuit.hex()}
        return _in_key(made), _in_key(said)
    made = {
        "key.statement_digest": system.digest.hex(),
        "key.challenges": system.challenges,
        "key.folded": system.folded,
        "key.ic.count": system.instance,
        "key.segments.size": [segment.size for segment in system.segments],
        "key.segments.linked": [segment.linked for segment in system.segments],
    }
    said = {
        "key.statement_digest": key.statement_digest.hex(),
        "key.challenges": key.challenges,
        "key.folded": key.folded,
        "key.ic.count": len(key.ic),
        "key.segments.size": [segment.size for segment in key.segments],
        "key.segments.linked": [segment.link_g2 is not None for segment in key.segments],
    }
    return made, said


def _in_key(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {f"key.{name}": value for name, value in fields.items()}


def _points(key: VerifyingKey) -> dict[str, Any]:
    """By their claims, with the key's word on who made them."""
    fixed = ("alpha_g1", "beta_g2", "gamma_g2", "ic", *(["basis"] if key.basis else []))
    return {"setup": key.setup} | {f"key.{name}": getattr(key, name) for name in fixed} | _secrets(key)


def _secrets(key: VerifyingKey) -> dict[str, Any]:
    """Return the items of ``_points`` that contributions determine, and the contributions' hashes: a
    transcript shows them."""
    secrets = {
        "key.delta_g2": key.delta_g2,
        "key.segments.knowledge_g2": [segment.knowledge_g2 for segment in key.segments],
        "key.segments.link_g2": [segment.link_g2 for segment in key.segments if segment.link_g2],
        "key.contributions": key.contributions,
    }
    return {claim: value for claim, value in secrets.items() if value}


def _of_start(state: State) -> dict[str, Any]:
    """Return the items that no contribution changes."""
    fields = ceremony.fixed_fields(state)
    points = {f"key.{name}": fields[name] for name in ("alpha_g1", "beta_g2", "gamma_g2", "ic", "basis")}
    return {"setup": fields["setup"], **points, "transcript.origin": state.origin.hex()}


def _points_compared(
    said: Mapping[str, Any], made: Mapping[str, Any], key: VerifyingKey
) -> Iterator[Finding]:
    for claim, value in said.items():
        if claim in made:
            yield _compared(claim, made[claim], value, "what its ceremony made for this circuit")
        elif not key.contributions:
            yield Finding(claim, Verdict.NOT_SHOWN, _NO_CEREMONY)
        else:
            yield Finding(claim, Verdict.NOT_SHOWN, _NO_TRANSCRIPT if claim in _secrets(key) else _NO_POWERS)


def _compared(claim: str, made: Any, said: Any, what: str = "what the network's circuit has") -> Finding:
    """``made`` here, and ``said`` by the key's file."""
    place = _first_difference(made, said)
    if place is None:
        return Finding(claim, Verdict.SAME)
    return Finding(claim, Verdict.OTHER, f"{claim}{place} is not {what}")


def _first_difference(made: Any, said: Any) -> str | None:
    """Return the path to the first difference of two values, or None if they are equal. ``...`` stands for a
    missing value."""
    if isinstance(made, dict) and isinstance(said, dict):
        names = sorted({*made, *said})
        parts = [(f".{name}", made.get(name, ...), said.get(name, ...)) for name in names]
    elif isinstance(made, list | tuple) and isinstance(said, list | tuple):
        if len(made) != len(said):
            return ""
        parts = [(f"[{index}]", *pair) for index, pair in enumerate(zip(made, said, strict=True))]
    else:
        return None if _text(made) == _text(said) else ""
    inner = ((name, _first_difference(*pair)) for name, *pair in parts)
    return next((name + place for name, place in inner if place is not None), None)


def _text(value: Any) -> bytes:
    """Canonical, so that true is not 1."""
    return value if isinstance(value, bytes) else b"" if value is ... else canonical(value)


def _recompiled(qgraph: QuantGraph, description: Mapping[str, Any]) -> Circuit:
    privacy, level = description["privacy"], description["level"]
    match description["scheme"]:
        case "registration":
            return compile_registration(qgraph)
        case "accuracy":
            return compile_accuracy(
                qgraph,
                batch=description["batch"],
                weight_privacy=privacy["weights"],
                measure=description.get("measure", "accuracy"),
                top=description.get("top", 1),
                output=description.get("output"),
                norm=description.get("norm", "inf"),
            )
        case "recognition":
            return compile_recognition(
                qgraph,
                input_privacy=privacy["input"],
                weight_privacy=privacy["weights"],
                reference_privacy=privacy["reference"],
                level=level,
            )
        case "robustness":
            return compile_robustness(
                qgraph,
                input_privacy=privacy["input"],
                weight_privacy=privacy["weights"],
                norm=description.get("norm", "inf"),
            )
        case "inference":
            several = {name.partition("/")[2]: each for name, each in privacy.items() if "/" in name}
            return compile_inference(
                qgraph,
                input_privacy=several or privacy["input"],
                weight_privacy=privacy["weights"],
                reveal=description["reveal"],
                top=description["top"],
                bounds=description.get("bounds", 1),
                batch=description.get("batch", 1),
                level=level,
                fold_inputs=description.get("fold_inputs", False),
            )
        case other:
            raise ValueError(f"no scheme is called {str(other)[:40]!r}")
