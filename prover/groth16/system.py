"""Groth16 as a proof system, on this machine's kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from zenserve.base.progress import Progress
from zenserve.kernels import FrArray
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import cost, memory
from zenserve.prover.groth16.commitment import CommitmentKey, Opening
from zenserve.prover.groth16.native import NATIVE
from zenserve.prover.groth16.proving import prove
from zenserve.prover.groth16.proving_key import ProvingKey
from zenserve.prover.groth16.trusted_setup import setup
from zenserve.prover.size import Size
from zenserve.prover.system import Committing, Estimate, ProofSystem
from zenserve.prover.witness import Witness
from zenserve.verifier.groth16.system import Groth16Verifier, PedersenOverPowersOfTau
from zenserve.verifier.groth16.verifying_key import VerifyingKey


class TauCommitments(PedersenOverPowersOfTau, Committing):
    def make_key(self, file: Path, values: int, threads: int, progress: Progress | None) -> None:
        CommitmentKey.generate(values, threads=threads, progress=progress).save(file)

    def load_key(self, file: Path) -> CommitmentKey:
        return CommitmentKey.load(file)

    def read_opening(self, data: bytes) -> Opening:
        return Opening.from_bytes(data)

    def open_sum(self, key: Any, openings: Sequence[Opening], values: Sequence[Sequence[int]]) -> bytes:
        opening: bytes = key.open_sum(openings, values)
        return opening


class Groth16(Groth16Verifier, ProofSystem):
    """Verification, too, is on the kernels."""

    commitments = TauCommitments()
    takes_devices = True

    def __init__(self) -> None:
        super().__init__(NATIVE)

    def setup(
        self,
        constraint_system: ConstraintSystem,
        file: Path,
        *,
        basis: CommitmentKey | None,
        threads: int,
        progress: Progress,
    ) -> VerifyingKey:
        key = setup(constraint_system, basis=basis, threads=threads, progress=progress)
        key.save(file)
        return key.verifying_key

    def load_key(self, file: Path) -> ProvingKey:
        return _load_key(file)

    def prove(
        self,
        key: ProvingKey,
        constraint_system: ConstraintSystem,
        witness: Witness,
        *,
        openings: Sequence[Opening],
        post_challenge: Callable[[Any, FrArray], None],
        threads: int,
        progress: Progress,
    ) -> bytes:
        return prove(
            key,
            constraint_system,
            witness,
            openings=openings,
            post_challenge=post_challenge,
            threads=threads,
            progress=progress,
        ).to_bytes()

    def estimate(self, size: Size, threads: int) -> Estimate:
        speed = _speed(threads)
        return Estimate(
            proving_key_bytes=cost.proving_key_bytes(size),
            verifying_key_bytes=cost.verifying_key_bytes(size),
            proof_bytes=cost.proof_bytes(size),
            setup_memory=memory.setup(size, threads),
            proof_memory=memory.proving(size, threads),
            setup_seconds=cost.setup_stages(size, speed),
            proof_seconds=cost.proving_stages(size, speed),
        )


_load_key = lru_cache(maxsize=256)(ProvingKey.load)
"""Keys of the store, whose files are never written again: mapped, so that they cost no memory that others
need. A bank of models has 128 at the most, with those of batches. A GPU keeps those that are kept here, as
long as there is room."""
_speed = lru_cache(maxsize=1)(cost.speed)
"""Of this machine's kernels, measured when it is first asked for."""
