"""Keys and proofs of a circuit, by any proof system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from zenserve.base.memory import free_memory, make_room
from zenserve.base.progress import Progress
from zenserve.base.randomness import Secrets
from zenserve.circuits.r1cs.program import LEAST_SOUNDNESS_BITS
from zenserve.circuits.schemes.circuit import Circuit
from zenserve.errors import ModelError, StatementError
from zenserve.kernels import FrArray
from zenserve.prover import backends
from zenserve.prover.backends import Backend
from zenserve.prover.backends.cpu import CPU
from zenserve.prover.size import Size
from zenserve.prover.system import CommitmentKey, Opening, ProofSystem
from zenserve.prover.witness import Witness
from zenserve.verifier.documents import KeyFile
from zenserve.verifier.keys import key_file


def require_memory(system: ProofSystem, circuit: Circuit, threads: int) -> None:
    """``ModelError`` (``model.memory``) where keys or proofs would take more memory than is free."""
    needed, free = _needed(system, circuit, threads), free_memory()
    if needed > free:
        raise ModelError(
            "model.memory",
            f"{circuit.constraint_system.constraints:,} constraints take about {needed / 1e9:.1f} GB of"
            f" memory, and {free / 1e9:.1f} GB are free: `zenserve compile` says what a smaller network,"
            " fewer bits or public weights would take; of a dataset, what a smaller shard_size",
        )
    make_room(needed)


def _needed(system: ProofSystem, circuit: Circuit, threads: int) -> int:
    return system.estimate(Size.of(circuit.constraint_system), threads).memory


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
    needed = {
        "challenges": circuit.constraint_system.challenges > 0,
        "links": len(circuit.commitments) > 0,
        "folded inputs": circuit.constraint_system.folded > 0,
    }
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


def where(system: ProofSystem) -> Backend:
    """Return the backend on which the proof system's witnesses are made."""
    return backends.chosen() if system.takes_devices else CPU


def prove(
    system: ProofSystem,
    circuit: Circuit,
    key: Path,
    witness: Callable[..., Witness],
    openings: Callable[[Witness], Mapping[str, Opening]],
    threads: int,
    progress: Progress,
) -> bytes:
    """A proof, linked to the commitments that the circuit names: to what opens them, told the witness.

    ``witness``: of the circuit, given ``threads`` and the backend that is chosen, where it is made.
    """
    progress("load key", 0.0)
    make_room(_needed(system, circuit, threads))
    proving_key = system.load_key(key)
    progress("witness", 0.0)
    with Secrets() as secret:
        z: Witness = secret(witness(threads=threads, on=where(system)))
        linked = openings(z)
        return system.prove(
            proving_key,
            circuit.constraint_system,
            z,
            openings=[linked[name] for name in circuit.commitments],
            post_challenge=partial(circuit.program.post_challenge, threads=threads),
            threads=threads,
            progress=progress,
        )


def committed_values(circuit: Circuit, witness: Witness, name: str) -> FrArray:
    """Return the values of a witness in the segment that is linked to the commitment of this name."""
    system, index = circuit.constraint_system, list(circuit.commitments).index(name)
    parts = zip(system.segments, system.segment_ranges, strict=True)
    linked = [part for segment, part in parts if segment.linked]
    return witness[linked[index].start : linked[index].stop - 1]
