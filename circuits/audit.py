"""Whether a verifying key is for the circuit that its description tells of.

Keys are points on a curve, which nobody can read. But compiling is deterministic: whoever has the network, or
its architecture where the weights are committed, compiles the circuit again and compares.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from circuits.accuracy import compile_accuracy
from circuits.circuit import Circuit
from circuits.inference import compile_inference
from circuits.quantised import QuantGraph
from circuits.recognition import compile_recognition
from circuits.registration import compile_registration
from zenerrors import FileFormatError, StatementError


def audit(qgraph: QuantGraph, description: Mapping[str, Any], statement_digest: bytes) -> Circuit:
    """The circuit of ``description`` (``Circuit.describe``, from anywhere), compiled again of ``qgraph``.

    ``statement_digest``: the verifying key's. Raises ``StatementError`` (``statement.audit``, what differs as
    the field) where it is another circuit's, and ``FileFormatError`` (``file.json``) for no description.
    """
    try:
        circuit = recompile(qgraph, description)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise FileFormatError("file.json", "this is no description of a circuit", field="circuit") from None
    # Through JSON, where tuples are lists.
    own = json.loads(json.dumps(circuit.describe()))
    for field in sorted({*own, *description}):
        if own.get(field) != description.get(field):
            raise StatementError("statement.audit", f"the network's circuit has another {field}", field=field)
    if circuit.statement.digest != statement_digest:
        raise StatementError(
            "statement.audit",
            "the key was made for other constraints than those that the compiler makes of this network",
            field="statement_digest",
        )
    return circuit


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
