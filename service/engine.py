"""Circuits, keys and proofs: all calls into ``circuits`` and ``prover`` of jobs and dry runs.

What callers hand in is read in ``service.intake``, commitments are made in ``service.basis``, and ceremonies
run in the command line alone (``service.cli.ceremony``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

import circuits
from base.progress import Progress
from circuits import Circuit, Inference, QuantGraph, Recognition
from circuits.r1cs.program import LEAST_SOUNDNESS_BITS
from kernels import FrArray
from prover.size import Size
from prover.system import CommitmentKey, Estimate, Opening, ProofSystem
from service.encryption import Secret
from verifier.documents import KeyFile, Values, canonical
from verifier.keys import key_file
from verifier.registry import FIRST
from verifier.schemes import Privacy
from zenerrors import ModelError, StatementError

# What a circuit may hold to make its proofs faster (docs/performance.md, "Caching and sharing").
_KEPT_BYTES: Final = 256 << 20
# What it holds for an entry of a matrix, its row's share included.
_ENTRY_BYTES: Final = 16

# Of a proof, on one processor: coarse, to choose a queue by. What proofs took is kept with their circuit.
_SECONDS_PER_ROW: Final = 20e-6

_COMPILERS: Final[Mapping[str, str]] = {
    scheme: f"compile_{scheme}" for scheme in ("registration", "inference", "recognition", "accuracy")
}


@lru_cache(maxsize=2)
def compile_circuit(quantised: bytes, scheme: str, **options: Any) -> Circuit:
    """The circuit of a quantised network. Those used last are at hand: all images of a model share its."""
    circuit: Circuit = getattr(circuits, _COMPILERS[scheme])(QuantGraph.from_bytes(quantised), **options)
    circuit.keep_matrices(_KEPT_BYTES)
    return circuit


@dataclass(frozen=True)
class Task:
    """A circuit with its input: what a proof shows, and its witness for a statement's hash."""

    circuit: Inference | Recognition
    values: Values
    witness: Callable[[int], FrArray]


def task(
    quantised: bytes,
    scheme: str,
    weight_privacy: Privacy,
    asked: Mapping[str, Any],
    secrets: Mapping[str, Secret],
) -> Task:
    """What a proof about one input takes. ``asked``: what its request says (``submissions.orders``)."""
    q = secrets["input"].values
    options = {"weight_privacy": weight_privacy, "input_privacy": asked["input_privacy"]}
    if scheme == "inference":
        options |= {"reveal": asked["reveal"], "top": asked["top"]}
        circuit = compile_circuit(quantised, "inference", **options)
        assert isinstance(circuit, Inference)  # noqa: S101  narrows the type
        inference = circuit
        return Task(inference, inference.values(q), lambda hash_: inference.witness(q, statement=hash_))
    reference, threshold = secrets["reference"].values, asked["threshold"]
    options |= {"reference_privacy": asked["reference_privacy"]}
    circuit = compile_circuit(quantised, "recognition", **options)
    assert isinstance(circuit, Recognition)  # noqa: S101  narrows the type
    recognition = circuit
    return Task(
        recognition,
        recognition.values(q, reference, threshold),
        lambda hash_: recognition.witness(q, reference, threshold, statement=hash_),
    )


def circuit_digest(system: ProofSystem, circuit: Circuit, basis: CommitmentKey | None) -> str:
    """What keys are kept by: SHA-256, in hex, of the proof system, the constraints, what they mean, and the
    basis they link to, if they link to any.
    """
    return digest_of(system.id, circuit.constraint_system.digest, circuit.describe(), basis)


def digest_of(
    system: str, statement: bytes, description: Mapping[str, Any], basis: CommitmentKey | None
) -> str:
    """``circuit_digest`` of the circuit of this description, whose constraints have the digest ``statement``.
    Keys from before there were other systems are found by what they were kept by.
    """
    parts = {
        "statement": statement.hex(),
        "circuit": description,
        "basis": basis.identity.hex() if basis else None,
        **({} if system == FIRST else {"system": system}),
    }
    return hashlib.sha256(canonical(parts)).hexdigest()


def require_memory(system: ProofSystem, circuit: Circuit, threads: int) -> None:
    """``ModelError`` (``model.memory``) where keys or proofs would take more memory than is free."""
    needed, free = _memory(system.estimate(Size.of(circuit.constraint_system), threads)), free_memory()
    if needed > free:
        raise ModelError(
            "model.memory",
            f"{circuit.constraint_system.constraints:,} constraints take about {needed / 1e9:.1f} GB of"
            f" memory, and {free / 1e9:.1f} GB are free: `zenserve compile` says what a smaller network,"
            " fewer bits or public weights would take; of a dataset, what a smaller shard_size",
        )


def estimate(system: ProofSystem, size: Size, constraints: int, threads: int) -> dict[str, Any]:
    """What a proof about a circuit of this size takes: ``constraints``, bytes of ``memory``, and seconds on
    one processor as ``cost``; by this machine's speed the ``setup_seconds`` of its keys and, the witness once
    there, its ``proof_seconds``; ``key_bytes`` of the proving key and ``proof_bytes``.
    """
    found = system.estimate(size, threads)
    return {
        "constraints": constraints,
        "memory": _memory(found),
        "cost": round(_SECONDS_PER_ROW * size.rows, 3),
        "setup_seconds": sum(found.setup_seconds.values()),
        "proof_seconds": sum(found.proof_seconds.values()),
        "key_bytes": found.proving_key_bytes,
        "proof_bytes": found.proof_bytes,
    }


def largest_batch(
    system: ProofSystem, quantised: bytes, weight_privacy: Privacy, most: int, threads: int
) -> int:
    """How many samples, up to ``most``, one proof of accuracy takes in the memory that is free.

    By estimate: what circuits of one and of two samples take, drawn out in a straight line. Raises
    ``ModelError`` (``model.memory``) where a single sample is too much.
    """
    graph = QuantGraph.from_bytes(quantised)
    one, two = (
        circuits.compile_accuracy(graph, batch=batch, weight_privacy=weight_privacy).constraint_system
        for batch in (1, 2)
    )
    free = free_memory()
    low, high = 0, most
    while low < high:
        batch = (low + high + 1) // 2
        size = Size.drawn_out(one, two, batch)
        if _memory(system.estimate(size, threads)) + min(_KEPT_BYTES, _ENTRY_BYTES * size.nonzeros) <= free:
            low = batch
        else:
            high = batch - 1
    if low == 0:
        raise ModelError(
            "model.memory",
            f"a proof about a single sample takes more than the {free / 1e9:.1f} GB of memory that are free:"
            " register a smaller network, or one with fewer bits",
        )
    return low


def free_memory() -> int:
    """Bytes that new work can have without swapping."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))) << 10


def setup(
    system: ProofSystem,
    circuit: Circuit,
    basis: CommitmentKey | None,
    file: Path,
    threads: int,
    progress: Progress,
) -> KeyFile:
    """Make the keys, linked to ``basis`` where commitments are; the proving key goes to ``file``. Raises
    ``StatementError``: ``statement.system`` where the proof system cannot prove such a circuit,
    ``statement.soundness`` where a proof would convince too easily.
    """
    needed = {"challenges": circuit.constraint_system.challenges > 0, "links": len(circuit.commitments) > 0}
    if lacking := [name for name, asked in needed.items() if asked and name not in system.capabilities]:
        raise StatementError(
            "statement.system",
            f"{system.id} has no {' and no '.join(lacking)}, which this circuit takes: register the model"
            " with another system",
            field="system",
        )
    bits = system.soundness_bits(circuit.constraint_system.constraints, circuit.program.degree)
    if bits < LEAST_SOUNDNESS_BITS:
        raise StatementError(
            "statement.soundness",
            f"proofs of {system.id} for this circuit have {bits:.0f} bits of soundness, and"
            f" {LEAST_SOUNDNESS_BITS} are the least: register a smaller network",
        )
    key = system.setup(circuit.constraint_system, file, basis=basis, threads=threads, progress=progress)
    return key_file(system, key, circuit.describe())


def prove(
    system: ProofSystem,
    circuit: Circuit,
    key: Path,
    witness: Callable[[], FrArray],
    openings: Mapping[str, Opening],
    threads: int,
    progress: Progress,
) -> bytes:
    """A proof, linked to the commitments that the circuit names."""
    progress("load key", 0.0)
    proving_key = system.load_key(key)
    progress("witness", 0.0)
    return system.prove(
        proving_key,
        circuit.constraint_system,
        witness(),
        openings=[openings[name] for name in circuit.commitments],
        post_challenge=partial(circuit.program.post_challenge, threads=threads),
        threads=threads,
        progress=progress,
    )


def _memory(found: Estimate) -> int:
    # The formulas hold within a fifth.
    return max(found.setup_memory, found.proof_memory) * 6 // 5
