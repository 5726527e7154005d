"""Outputs of which a proof published a commitment alone: what their owner keeps of them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.schemes.outputs import CommittedOutput
from zenserve.errors import StatementError
from zenserve.kernels import fr
from zenserve.prover.system import CommitmentKey, Opening, ProofSystem, Renewable
from zenserve.relations.integers import IntArray
from zenserve.verifier.documents import OpeningFile, OpeningPart, checked, named

_PROOFS: Final[defaultdict[str, Iterator[int]]] = defaultdict(lambda: count(1))
"""The number of proofs that opened each commitment, its own included. Copies of an output share it."""


@dataclass(frozen=True)
class Committed:
    """Another proof takes it as an input (``prove``); whoever is shown ``opened`` sees what it is. As secret
    as its values.
    """

    output: CommittedOutput
    vector: IntArray = field(repr=False)
    """The values that the commitment is to: the type's digest, and the integers."""
    opening: Opening = field(repr=False)
    basis: CommitmentKey = field(repr=False)
    system: ProofSystem = field(repr=False)

    def spend(self) -> Opening:
        """Return the opening for one more proof.

        Raises ``StatementError`` (``statement.openings``) if it would be one proof too many, as the columns
        of all proofs together would then reveal the values.
        """
        if isinstance(self.basis, Renewable) and next(_PROOFS[self.commitment]) >= self.basis.openings:
            reason = f"{self.basis.openings} proofs opened the commitment, which is the most: commit anew"
            raise StatementError("statement.openings", reason, field="x")
        return self.opening

    @property
    def commitment(self) -> str:
        """In hex, as statements have it."""
        return self.opening.commitment.hex()

    @property
    def integers(self) -> IntArray:
        """int64 of the output's shape."""
        return self.output.integers(self.vector)

    @property
    def values(self) -> FloatArray:
        """The real numbers, float64 of the output's shape."""
        kind = self.output.described
        values: FloatArray = kind["scale"] * (self.integers - kind["zero_point"])
        return values

    @property
    def opened(self) -> OpeningFile:
        """The file that shows anyone the values that the commitment is to."""
        revealed = self.basis.reveal(self.opening, fr.from_int64(self.vector)).to_json()
        part = {
            "commitment": self.commitment,
            "opening": revealed,
            "values": self.integers.ravel().tolist(),
        }
        return OpeningFile(**named(self.system), kind="output", parts=[checked(OpeningPart, part)])

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write ``opened``, which ``zenserve-verify`` takes as ``--opening``."""
        Path(file).write_text(self.opened.model_dump_json(indent=1) + "\n")
