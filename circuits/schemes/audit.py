"""Whether a verifying key is for the circuit that its description tells of.

Compiling is deterministic: whoever has the network, or its architecture where the weights are committed,
compiles the circuit again. ``audit`` compares it with what the key *says* of itself: its label, so to speak.
The key's points nobody can read; whoever made them alone can put others under the same label. Only a key
from a ceremony can be made again, and then ``audit_points`` compares those, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from base.progress import Progress
from circuits.quantised import QuantGraph
from circuits.schemes.accuracy import compile_accuracy
from circuits.schemes.circuit import Circuit
from circuits.schemes.inference import compile_inference
from circuits.schemes.recognition import compile_recognition
from circuits.schemes.registration import compile_registration
from prover.constraint_system import ConstraintSystem
from prover.groth16 import VerifyingKey, ceremony
from prover.groth16.powers_of_tau import PowersOfTau
from zenerrors import FileFormatError, StatementError


def audit(qgraph: QuantGraph, description: Mapping[str, Any], key: VerifyingKey) -> Circuit:
    """The circuit of ``description`` (``Circuit.describe``, from anywhere), compiled again of ``qgraph``, for
    which ``key`` claims to be.

    Raises ``StatementError`` (``statement.audit``, what differs as the field) where it is another circuit's,
    and ``FileFormatError`` (``file.json``) for no description.
    """
    try:
        circuit = recompile(qgraph, description)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise FileFormatError("file.json", "this is no description of a circuit", field="circuit") from None
    # Through JSON, where tuples are lists.
    own = json.loads(json.dumps(circuit.describe()))
    for field in sorted({*own, *description}):
        _require(
            field, own.get(field) == description.get(field), f"the network's circuit has another {field}"
        )
    _compare_numbers(circuit.constraint_system, key)
    _require(
        "statement_digest",
        circuit.constraint_system.digest == key.statement_digest,
        "the key says that it was made for other constraints than the compiler makes of this network",
    )
    return circuit


def audit_points(
    circuit: Circuit,
    key: VerifyingKey,
    state: ceremony.State,
    powers: PowersOfTau,
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> None:
    """Whether ``key`` is, point by point, what the ceremony that ended in ``state`` made for ``circuit``.

    The powers are taken as they are; ``read_ptau`` verifies them. Stages and errors: those of
    ``ceremony.verify``; ``StatementError`` (``statement.audit``) for another key.
    """
    ceremony.verify(state, circuit.constraint_system, powers, threads=threads, progress=progress)
    made = ceremony.verifying_key(state) if state.contributions else None
    _require("key", made == key, "the ceremony made another key than this one")


def _compare_numbers(constraint_system: ConstraintSystem, key: VerifyingKey) -> None:
    """A key that cannot be for ``constraint_system`` whatever its points are."""
    numbers = {
        "ic": (1 + constraint_system.public + constraint_system.challenges, len(key.ic)),
        "challenges": (constraint_system.challenges, key.challenges),
        "segments": (
            [(segment.size, segment.linked) for segment in constraint_system.segments],
            [(segment.size, segment.link_g2 is not None) for segment in key.segments],
        ),
    }
    for field, (wanted, found) in numbers.items():
        _require(field, wanted == found, f"the key's {field} do not fit the network's circuit")


def _require(field: str, holds: bool, message: str) -> None:
    if not holds:
        raise StatementError("statement.audit", message, field=field)


def recompile(qgraph: QuantGraph, description: Mapping[str, Any]) -> Circuit:
    """The circuit of ``qgraph`` with the settings of ``description``. Raises as the compilers do."""
    privacy, level = description["privacy"], description["level"]
    match description["scheme"]:
        case "registration":
            return compile_registration(qgraph)
        case "accuracy":
            return compile_accuracy(qgraph, batch=description["batch"], weight_privacy=privacy["weights"])
        case "recognition":
            return compile_recognition(
                qgraph,
                input_privacy=privacy["input"],
                weight_privacy=privacy["weights"],
                reference_privacy=privacy["reference"],
                level=level,
            )
        case "inference":
            return compile_inference(
                qgraph,
                input_privacy=privacy["input"],
                weight_privacy=privacy["weights"],
                reveal=description["reveal"],
                top=description["top"],
                level=level,
            )
        case other:
            raise ValueError(f"no scheme is called {str(other)[:40]!r}")
