"""Circuits, keys and proofs: all calls into ``circuits`` and ``prover`` of jobs and dry runs.

What callers hand in is read in ``service.intake``, commitments are made in ``service.basis``, and ceremonies
run in the command line alone (``service.cli.ceremony``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

import circuits
from base.progress import Progress
from circuits import Circuit, Inference, QuantGraph, Recognition
from circuits.quantised.typed import Privacy
from kernels import FrArray
from prover import groth16
from prover.constraint_system import ConstraintSystem
from prover.groth16 import CommitmentKey, Opening, Proof, ProvingKey, cost, memory
from prover.groth16.cost import Size
from service.encryption import Secret
from verifier.documents import KeyFile, Values, canonical
from verifier.keys import key_file
from zenerrors import ModelError

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


def circuit_digest(circuit: Circuit, basis: CommitmentKey | None) -> str:
    """What keys are kept by: SHA-256, in hex, of the constraints, what they mean, and the basis they link to,
    if they link to any.
    """
    return digest_of(identity(circuit), basis)


def identity(circuit: Circuit) -> dict[str, Any]:
    """The constraints and what they mean, JSON-able."""
    return {"statement": circuit.statement.digest.hex(), "circuit": circuit.describe()}


def digest_of(identity: Mapping[str, Any], basis: CommitmentKey | None) -> str:
    """``circuit_digest`` of the circuit of this ``identity``."""
    parts = {**identity, "basis": basis.identity.hex() if basis else None}
    return hashlib.sha256(canonical(parts)).hexdigest()


def require_memory(circuit: Circuit, threads: int) -> None:
    """``ModelError`` (``model.memory``) where keys or proofs would take more memory than is free."""
    needed, free = _memory(Size.of(circuit.statement), threads), free_memory()
    if needed > free:
        raise ModelError(
            "model.memory",
            f"{circuit.statement.constraints:,} constraints take about {needed / 1e9:.1f} GB of memory, and "
            f"{free / 1e9:.1f} GB are free: `zenserve compile` says what a smaller network, fewer bits or "
            "public weights would take; of a dataset, what a smaller shard_size",
        )


def estimate(circuit: Circuit, threads: int) -> dict[str, Any]:
    """What a proof takes: ``constraints``, bytes of ``memory``, and seconds on one processor as ``cost``; by
    this machine's speed the ``setup_seconds`` of its keys and, the witness once there, its ``proof_seconds``;
    ``key_bytes`` of the proving key and ``proof_bytes``.
    """
    size, here = Size.of(circuit.statement), speed(threads)
    return {
        "constraints": circuit.statement.constraints,
        "memory": _memory(size, threads),
        "cost": round(_SECONDS_PER_ROW * size.rows, 3),
        "setup_seconds": cost.setup_seconds(size, here),
        "proof_seconds": cost.proving_seconds(size, here),
        "key_bytes": size.proving_key_bytes,
        "proof_bytes": size.proof_bytes,
    }


def stages(circuit: Circuit, threads: int) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds that the stages of setup and of a proof take on processors of this machine, by estimate."""
    size, here = Size.of(circuit.statement), speed(threads)
    return cost.setup_stages(size, here), cost.proving_stages(size, here)


speed = lru_cache(maxsize=1)(cost.speed)
"""Of this machine's kernels, measured when it is first asked for."""


def largest_batch(quantised: bytes, weight_privacy: Privacy, most: int, threads: int) -> int:
    """How many samples, up to ``most``, one proof of accuracy takes in the memory that is free.

    By estimate: what circuits of one and of two samples take, drawn out in a straight line. Raises
    ``ModelError`` (``model.memory``) where a single sample is too much.
    """
    graph = QuantGraph.from_bytes(quantised)
    one, two = (
        circuits.compile_accuracy(graph, batch=batch, weight_privacy=weight_privacy).statement
        for batch in (1, 2)
    )
    free = free_memory()
    low, high = 0, most
    while low < high:
        batch = (low + high + 1) // 2
        size = _drawn_out(one, two, batch)
        if _memory(size, threads) + min(_KEPT_BYTES, _ENTRY_BYTES * size.nonzeros) <= free:
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
    circuit: Circuit, basis: CommitmentKey | None, file: Path, threads: int, progress: Progress
) -> KeyFile:
    """Make the keys, linked to ``basis`` where commitments are; the proving key goes to ``file``."""
    proving_key = groth16.setup(circuit.statement, basis=basis, threads=threads, progress=progress)
    proving_key.save(file)
    return key_file(proving_key.verifying_key, circuit.describe())


def prove(
    circuit: Circuit,
    key: Path,
    witness: Callable[[], FrArray],
    openings: Mapping[str, Opening],
    threads: int,
    progress: Progress,
) -> bytes:
    """A proof, linked to the commitments that the circuit names."""
    progress("load key", 0.0)
    proving_key = _proving_key(key)
    progress("witness", 0.0)
    proof: Proof = groth16.prove(
        proving_key,
        circuit.statement,
        witness(),
        openings=[openings[name] for name in circuit.commitments],
        post_challenge=partial(circuit.program.post_challenge, threads=threads),
        threads=threads,
        progress=progress,
    )
    return proof.to_bytes()


@lru_cache(maxsize=2)
def _proving_key(file: Path) -> ProvingKey:
    """The key in a file of the store, which is never written again. A GPU keeps those that are kept here."""
    return ProvingKey.load(file)


def _memory(size: Size, threads: int) -> int:
    # The formulas hold within a fifth.
    return max(memory.setup(size, threads), memory.proving(size, threads)) * 6 // 5


def _drawn_out(one: ConstraintSystem, two: ConstraintSystem, batch: int) -> Size:
    """The size of a batch: every sample adds what the second one added."""

    def drawn_out(first: int, second: int) -> int:
        return first + (batch - 1) * (second - first)

    sizes = Size.of(one), Size.of(two)
    names = ("variables", "private", "in_a", "in_b", "nonzeros", "absent", "largest", "committed", "linked")
    grown = {name: drawn_out(*(getattr(size, name) for size in sizes)) for name in names}
    rows = drawn_out(*(statement.constraints + len(statement.anchored) for statement in (one, two)))
    return replace(sizes[0], **grown, rows=1 << (rows - 1).bit_length())
