"""Circuits, keys and proofs: every call that jobs make into ``circuits`` and ``prover`` for them.

What callers hand in is read in ``service.intake``, commitments are made in ``service.basis``, and ceremonies
run in the command line alone (``service.cli.ceremony``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

import circuits
import prover
from circuits import Circuit, QuantGraph
from circuits.typed import Privacy
from client.documents import KeyFile, canonical, key_id
from kernels import FrArray
from prover import CommitmentBasis, Opening, Progress, Proof, ProvingKey, Statement, memory
from prover.cost import Size
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


def circuit_digest(circuit: Circuit, basis: CommitmentBasis | None) -> str:
    """What keys are kept by: SHA-256, in hex, of the constraints, what they mean, and the basis they link to,
    if they link to any.
    """
    parts = {
        "statement": circuit.statement.digest.hex(),
        "circuit": circuit.describe(),
        "basis": basis.identity.hex() if basis else None,
    }
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
    """What a proof takes: ``constraints``, bytes of ``memory``, and seconds on one processor as ``cost``."""
    size = Size.of(circuit.statement)
    return {
        "constraints": circuit.statement.constraints,
        "memory": _memory(size, threads),
        "cost": round(_SECONDS_PER_ROW * size.rows, 3),
    }


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
    circuit: Circuit, basis: CommitmentBasis | None, file: Path, threads: int, progress: Progress
) -> KeyFile:
    """Make the keys, linked to ``basis`` where commitments are; the proving key goes to ``file``."""
    proving_key = prover.setup(circuit.statement, basis=basis, threads=threads, progress=progress)
    proving_key.save(file)
    key, described = proving_key.verifying_key, circuit.describe()
    return KeyFile(id=key_id(key.digest, described), setup=key.setup, key=key.to_json(), circuit=described)


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
    proof: Proof = prover.prove(
        proving_key,
        circuit.statement,
        witness(),
        openings=[openings[name] for name in circuit.commitments],
        answer=partial(circuit.program.answer, threads=threads),
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


def _drawn_out(one: Statement, two: Statement, batch: int) -> Size:
    """The size of a batch: every sample adds what the second one added."""

    def drawn_out(first: int, second: int) -> int:
        return first + (batch - 1) * (second - first)

    sizes = Size.of(one), Size.of(two)
    names = ("variables", "private", "in_a", "in_b", "nonzeros", "absent", "largest", "committed", "linked")
    grown = {name: drawn_out(*(getattr(size, name) for size in sizes)) for name in names}
    rows = drawn_out(*(statement.constraints + len(statement.anchored) for statement in (one, two)))
    return replace(sizes[0], **grown, rows=1 << (rows - 1).bit_length())
