"""A proof without the proof: the network is executed, its witness held against every constraint, and what
keys and proof would take is estimated.

It takes as long as the caller's network does, so it runs where untrusted files are read
(``submissions.sandbox``).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from zenserve.circuits import Accuracy, Circuit
from zenserve.kernels import FrArray
from zenserve.prover.size import Size
from zenserve.service import engine, intake
from zenserve.service.batches import cut
from zenserve.service.encryption import unpack
from zenserve.verifier.fields import Values, canonical
from zenserve.verifier.schemes import Compared


def dry_run(asked: bytes, quantised: bytes, secrets: bytes) -> bytes:
    """JSON: the ``values`` that the proof would show, the digest of the ``statement``, the description of
    the ``circuit``, its ``commitments``, by how many values the model's basis is chosen (``committed``),
    ``constraints`` and ``size`` (``zenserve.prover.size``), by which a proof system estimates the rest; how
    many ``proofs`` there would be.

    ``asked``: JSON of ``scheme``, ``weight_privacy``, ``request`` as the proof's row has it, and ``batch`` of
    an accuracy; ``secrets``: the input or the dataset, packed. Of a dataset, every sample is executed and the
    witness of the first shard checked.

    Raises ``StatementError``, ``TensorError``.
    """
    task, start = json.loads(asked), time.perf_counter()
    run = _accuracy if task["scheme"] == "accuracy" else _one_input
    circuit, values, witness, proofs = run(task, quantised, secrets)
    prepared = time.perf_counter() - start
    circuit.program.check(witness())
    return canonical(
        {
            "values": values,
            "statement": circuit.constraint_system.digest.hex(),
            "circuit": circuit.describe(),
            "commitments": circuit.commitments,
            "committed": intake.count_of(circuit.qgraph, task["weight_privacy"]),
            "size": asdict(Size.of(circuit.constraint_system)),
            "constraints": circuit.constraint_system.constraints,
            "witness_seconds": prepared,
            "proofs": proofs,
        }
    )


def _one_input(
    task: dict[str, Any], quantised: bytes, secrets: bytes
) -> tuple[Circuit, Values, Callable[[], FrArray], int]:
    made = engine.task(quantised, task["scheme"], task["weight_privacy"], task["request"], unpack(secrets))
    return made.circuit, made.values, made.witness, 1


def _accuracy(
    task: dict[str, Any], quantised: bytes, secrets: bytes
) -> tuple[Circuit, Values, Callable[[], FrArray], int]:
    size, dataset, asked = task["batch"], unpack(secrets), task["request"]
    compared: Compared = "targets" if "targets" in dataset else "labels"
    fills = intake.fillings(quantised, task["weight_privacy"], compared, asked.get("output"))
    batches = cut(dataset, size, fills)
    circuit = engine.compile_circuit(
        quantised,
        "accuracy",
        weight_privacy=task["weight_privacy"],
        batch=size,
        **engine.measuring(asked),
    )
    assert isinstance(circuit, Accuracy)  # noqa: S101  narrows the type
    radius = asked.get("radius")
    counts = [circuit.counts(*batch.parts, radius=radius) for batch in batches]
    values = circuit.totals(counts, sum(batch.size for batch in batches), radius=radius)
    witness = partial(circuit.witness, *batches[0].parts, radius=radius)
    return circuit, values, witness, len(batches)
