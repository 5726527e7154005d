"""Spartan as a proof system, on this machine's kernels."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import numpy as np

from zenserve.base.progress import Progress
from zenserve.base.randomness import Secrets
from zenserve.errors import FileFormatError, StatementError
from zenserve.kernels import FrArray, fr
from zenserve.prover.blocks import Csr, SparseBlock
from zenserve.prover.constraint_file import load_description, load_statement, save_statement
from zenserve.prover.constraint_system import ConstraintSystem, Segment
from zenserve.prover.size import Size
from zenserve.prover.spartan import cost
from zenserve.prover.spartan.commitment import HELD_BYTES, Committed, Linked, commit, keep, linked_to
from zenserve.prover.spartan.field import KERNEL_FR
from zenserve.prover.spartan.layout import SystemMatrices, best_code, most_values, rows_for, sizes_of
from zenserve.prover.spartan.proving import prove
from zenserve.prover.spartan.renewal import renew
from zenserve.prover.system import Committing, Estimate, ProofSystem
from zenserve.prover.witness import Witness, duplicate
from zenserve.verifier.spartan import chain
from zenserve.verifier.spartan import circuit as circuits
from zenserve.verifier.spartan.admission import Commitment, shape_of
from zenserve.verifier.spartan.chain import Link
from zenserve.verifier.spartan.commitment import SEED_BYTES, Revealed, Rows
from zenserve.verifier.spartan.key import SpartanKey
from zenserve.verifier.spartan.ledger import MOST_LINKS
from zenserve.verifier.spartan.merkle import DIGEST_BYTES
from zenserve.verifier.spartan.proof import MalformedError
from zenserve.verifier.spartan.system import RowsOverFr, SpartanVerifier

_FIRST: Final = np.zeros(1, np.uint32)
_PLAIN: Final = DIGEST_BYTES + SEED_BYTES
"""Of an opening of a root that nothing took the place of."""


class Renewed(NamedTuple):
    """A commitment that took the place of another, with the same values."""

    link: Link
    seed: bytes


@dataclass(frozen=True)
class Opening:
    """A root, the seed that its tails and salts follow from, and what took its place, the last one last."""

    commitment: bytes
    seed: bytes = field(repr=False)
    renewals: tuple[Renewed, ...] = field(default=(), repr=False)

    @property
    def current(self) -> tuple[bytes, bytes]:
        """The root that the next proof opens, and its seed."""
        last = self.renewals[-1:]
        return (last[0].link.root, last[0].seed) if last else (self.commitment, self.seed)

    @property
    def root(self) -> bytes:
        return self.current[0]

    @property
    def chain(self) -> bytes:
        """The renewals as a proof contains them."""
        return chain.to_bytes([each.link for each in self.renewals])

    @property
    def blinding_bytes(self) -> bytes:
        renewed = self.chain + b"".join(each.seed for each in self.renewals) if self.renewals else b""
        return self.seed + renewed

    def to_bytes(self) -> bytes:
        return self.commitment + self.blinding_bytes

    @classmethod
    def from_bytes(cls, data: bytes) -> Opening:
        """The inverse of ``to_bytes``. Raises ``StatementError`` (``statement.openings``)."""
        root, seed, more = data[:DIGEST_BYTES], data[DIGEST_BYTES:_PLAIN], data[_PLAIN:]
        links, seeds = list[Link](), b""
        try:
            if more:
                (links,), seeds = chain.split(more, 1)
        except MalformedError as error:
            raise _no_opening() from error
        if len(data) < _PLAIN or len(seeds) != SEED_BYTES * len(links) or bool(more) != bool(links):
            raise _no_opening()
        each = (seeds[start : start + SEED_BYTES] for start in range(0, len(seeds), SEED_BYTES))
        return cls(root, seed, tuple(Renewed(link, own) for link, own in zip(links, each, strict=True)))


def _no_opening() -> StatementError:
    return StatementError("statement.openings", "an opening is a root, renewals and seeds", field="openings")


@dataclass(frozen=True)
class ProvingKey:
    """Proving takes no more than verifying: its file is the circuit's, with the key for a description."""

    verifying_key: SpartanKey


class CommitmentKey:
    """No key: numbers that everybody knows."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    @property
    def length(self) -> int:
        return most_values(self.rows.code.log_degree)

    @property
    def identity(self) -> bytes:
        return self.rows.identity

    def commit(self, values: FrArray, *, hiding: bool = True, threads: int = 1) -> Opening:
        seed = secrets.token_bytes(SEED_BYTES) if hiding else bytes(SEED_BYTES)
        with Secrets() as secret:
            made = self.committed(values, seed, secret, threads, held_bytes=0)
        return Opening(made.root, seed)

    def reveal(self, opening: Opening, values: FrArray, *, threads: int = 1) -> Revealed:
        with Secrets() as secret:
            self._linked(Linked(opening.commitment, opening.seed), values, secret, threads).open(_FIRST)
        return Revealed(opening.seed)

    @property
    def openings(self) -> int:
        return self.rows.tail // self.rows.code.queries

    @property
    def columns(self) -> int:
        return self.rows.code.queries

    @property
    def renewals(self) -> int:
        return MOST_LINKS

    def renew(self, opening: Opening, values: FrArray, *, threads: int = 1) -> Opening:
        """Raises ``StatementError`` (``statement.openings``) where there are too many renewals already."""
        if len(opening.renewals) == MOST_LINKS:
            raise StatementError(
                "statement.openings",
                f"the commitment was renewed {MOST_LINKS} times, which is the most: commit anew",
                field="openings",
            )
        seed, own = secrets.token_bytes(SEED_BYTES), Secrets()
        with Secrets() as secret, ExitStack() as failing:
            failing.callback(own.erase, threads)
            old = self.opened(opening, values, secret, threads)
            new = self.committed(values, seed, own, threads)
            link = Link(new.root, renew(self.rows, old, new, secret=secret, threads=threads))
            if old.encoded is not None and new.encoded is not None:  # kept for proofs, which ask for it next
                keep(new, Linked(new.root, seed), own)
                failing.pop_all()
        return replace(opening, renewals=(*opening.renewals, Renewed(link, seed)))

    def opened(self, opening: Opening, values: FrArray, secret: Secrets, threads: int) -> Committed:
        """All that the current root is of: whether it is is seen as columns are opened."""
        return self._linked(Linked(*opening.current), values, secret, threads)

    def _linked(self, linked: Linked, values: FrArray, secret: Secrets, threads: int) -> Committed:
        return linked_to(values, self.rows.code, self.rows.tail, linked, secret=secret, threads=threads)

    def committed(
        self,
        values: FrArray,
        seed: bytes,
        secret: Secrets,
        threads: int,
        held_bytes: int = HELD_BYTES,
    ) -> Committed:
        return commit(
            values,
            self.rows.code,
            self.rows.tail,
            seed,
            held_bytes=held_bytes,
            secret=secret,
            threads=threads,
        )


class Roots(RowsOverFr, Committing):
    def make_key(self, file: Path, values: int, threads: int, progress: Progress | None) -> None:
        file.write_bytes(rows_for(values).identity)

    def load_key(self, file: Path) -> CommitmentKey:
        return CommitmentKey(Rows.from_identity(file.read_bytes()))

    def read_opening(self, data: bytes) -> Opening:
        return Opening.from_bytes(data)

    def open_sum(
        self, key: CommitmentKey, openings: Sequence[Opening], values: Sequence[Sequence[int]]
    ) -> bytes:
        totals = [sum(column) for column in zip(*values, strict=True)]
        system = _totals(len(openings), len(totals))
        z = [1, *totals, 0]
        for own in values:
            z += [*own, 0]
        with Secrets() as secret:
            linked = [Linked(*opening.current) for opening in openings]
            sizes = zip(linked, values, strict=True)
            commitments = [Commitment(each.root, len(own), key.rows.tail) for each, own in sizes]
            shape = shape_of(sizes_of(system), key.rows.code, commitments)
            return prove(system, shape, secret(fr.from_ints(z)), linked=linked)


class Spartan(SpartanVerifier, ProofSystem):
    """It judges by the circuits whose keys it has loaded, too."""

    commitments = Roots()
    takes_devices = True
    field = KERNEL_FR

    def take_circuit(self, file: bytes) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "circuit"
            path.write_bytes(file)
            self.keep(SystemMatrices(load_statement(path)))

    def setup(
        self,
        constraint_system: ConstraintSystem,
        file: Path,
        *,
        basis: CommitmentKey | None,
        threads: int,
        progress: Progress,
    ) -> SpartanKey:
        code = best_code(constraint_system) if basis is None else basis.rows.code
        tail = None if basis is None else basis.rows.tail
        key = SpartanKey(constraint_system.digest, sizes_of(constraint_system), code, tail)
        key.shape  # noqa: B018  refuses what cannot be proven
        progress("setup", 0.0)
        save_statement(file, constraint_system, key.to_json())
        return key

    def load_key(self, file: Path) -> ProvingKey:
        key = _read_key(file)
        if self.circuit_bytes(key) is None:
            matrices = SystemMatrices(load_statement(file))
            if (matrices.digest, matrices.sizes) != (key.circuit, key.sizes):
                raise FileFormatError(
                    "file.statement", "the key is of another circuit than it is in a file with"
                )
            self.keep(matrices)
        return ProvingKey(key)

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
        constraint_system.check_shape(witness)
        verifying = key.verifying_key
        with Secrets() as secret:
            z = duplicate(witness, secret, threads)
            chains = b"".join(opening.chain for opening in openings)
            return chains + prove(
                constraint_system,
                verifying.shape,
                z,
                linked=[Linked(*opening.current) for opening in openings],
                post_challenge=post_challenge,
                threads=threads,
                progress=progress,
            )

    def estimate(self, size: Size, threads: int) -> Estimate:
        return Estimate(
            proving_key_bytes=cost.key_bytes(size),
            verifying_key_bytes=cost.KEY_BYTES,
            proof_bytes=cost.proof_bytes(size),
            setup_memory=cost.key_bytes(size),
            proof_memory=cost.memory(size),
            setup_seconds={"setup": cost.setup(size, _speed(threads))},
            proof_seconds=cost.stages(size, _speed(threads)),
        )


def _totals(commitments: int, values: int) -> ConstraintSystem:
    """``zenserve.verifier.spartan.circuit.totals``, to be proven."""
    circuit = circuits.totals(commitments, values)
    matrices = (
        Csr(
            np.array(matrix.offsets, np.int64),
            np.array(matrix.columns, np.uint32),
            np.array(matrix.coefficients, np.uint32),
            tuple(matrix.pool),
        )
        for matrix in circuit.blocks[0]
    )
    segments = tuple(Segment(f"{i}", size, linked) for i, (size, linked) in enumerate(circuit.segments))
    return ConstraintSystem(
        circuit.public, circuit.private, (SparseBlock("totals", *matrices),), circuit.challenges, segments
    )


@lru_cache(maxsize=256)
def _read_key(file: Path) -> SpartanKey:
    return SpartanKey.from_json(load_description(file) or {})


_speed = lru_cache(maxsize=1)(cost.speed)
"""Of this machine's kernels, measured when it is first asked for."""
