"""The commitment basis of this service, and the commitments made over it.

The file ``basis`` in the data directory is made once, for the first commitment: a development basis, whose τ
this one party knew for a moment. Whoever has powers of tau of several parties puts a basis of theirs there
before (``CommitmentBasis.of``). It never changes afterwards: all commitments are over it.
"""

from __future__ import annotations

import contextlib
import os
from functools import lru_cache
from pathlib import Path

from kernels import fr
from prover import CommitmentBasis, Opening, Progress, Revealed
from service.sealed import Integers, Secret
from service.settings import Settings


def require_basis(settings: Settings, progress: Progress | None = None) -> CommitmentBasis:
    """The basis, made if it is not there yet. Stage: "basis"."""
    path = _path(settings)
    if not path.exists():
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            basis = CommitmentBasis.generate(
                settings.basis_points, threads=settings.threads, progress=progress
            )
            basis.save(fresh)
            # link, not rename: of several processes that do this at once the first one's basis stays.
            with contextlib.suppress(FileExistsError):
                os.link(fresh, path)
        finally:
            fresh.unlink(missing_ok=True)
    return load_basis(settings)


def load_basis(settings: Settings) -> CommitmentBasis:
    """The basis of a service that has committed to something."""
    return _load(_path(settings))


def basis_length(settings: Settings) -> int:
    """How many values a commitment can be to."""
    path = _path(settings)
    return len(_load(path).points) if path.exists() else settings.basis_points


def commit(basis: CommitmentBasis, values: Integers, threads: int, *, hiding: bool = True) -> Opening:
    """A commitment to integers, int64 of any shape, row-major."""
    return basis.commit(fr.from_int64(values.ravel()), hiding=hiding, threads=threads)


def reveal(basis: CommitmentBasis, secret: Secret, threads: int) -> Revealed:
    """What shows a commitment to be to the values."""
    assert secret.opening is not None  # noqa: S101  there is one for whatever was committed
    return basis.reveal(secret.opening, fr.from_int64(secret.values.ravel()), threads=threads)


def _path(settings: Settings) -> Path:
    return settings.data_dir / "basis"


@lru_cache(maxsize=1)
def _load(path: Path) -> CommitmentBasis:
    return CommitmentBasis.load(path)
