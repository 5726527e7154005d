"""The bases of this service, for each commitment scheme (``zenserve.prover.system.CommitmentKey``), and the
commitments made over them.

Bases are artifacts, which never change. The first is made for the first commitment, and a larger one for a
model that fits none that is there: development ones, whose secret, if it has one, this one party knew for a
moment. Whoever has powers of tau of several parties imports bases of theirs (``zenserve.service.powers``);
this service then makes none itself.

All commitments about a model are over one basis: the smallest that has as many points as ``values``, what
``intake.committed_count`` says of the model. That stays the same, for a basis is only added where it is
larger than all others.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from zenserve.base.progress import Progress
from zenserve.errors import ModelError
from zenserve.kernels import fr
from zenserve.prover.system import CommitmentKey, Committing, Opening, ProofSystem
from zenserve.service import encryption
from zenserve.service.encryption import Integers
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.resources import Dataset
from zenserve.service.storage.repositories import Artifacts
from zenserve.verifier.documents import OpeningFile
from zenserve.verifier.registry import FIRST, SYSTEMS

IMPORTED: Final = "imported"
"""The first basis that was imported: this service then makes none."""
POWERS: Final = "powers"
"""The powers of tau that the first basis came from."""


class Stored(NamedTuple):
    """A basis in the store: how many values a commitment over it can be to."""

    points: int
    name: str
    digest: str


def require_basis(
    runtime: Runtime, system: ProofSystem, values: int, progress: Progress | None = None
) -> CommitmentKey:
    """The basis of models of so many values, made if it is not there yet. Stage: "basis". Raises as
    ``basis_length``.
    """
    points = basis_length(runtime, system, values)
    if find_basis(runtime, system, values) is None:
        with runtime.store.scratch() as scratch:
            system.commitments.make_key(scratch, points, runtime.settings.threads, progress)
            add_basis(runtime, system, scratch, points)
    return load_basis(runtime, system, values)


def load_basis(runtime: Runtime, system: ProofSystem, values: int) -> CommitmentKey:
    """The basis of models of so many values, where something was committed about one."""
    found = find_basis(runtime, system, values)
    assert found is not None  # noqa: S101  what was committed was over it
    return _load(system.commitments, runtime.store.path(found.digest))


def find_basis(runtime: Runtime, system: ProofSystem, values: int) -> Stored | None:
    """The basis of models of so many values, if it is there."""
    return next((each for each in stored_bases(runtime, system) if values <= each.points), None)


def basis_length(runtime: Runtime, system: ProofSystem, values: int) -> int:
    """Return the number of points that the basis of models of so many values has, or will have.

    Raises ``ModelError`` (``model.too_large``) where there is no such basis and this service makes none:
    after an import, of the scheme whose bases come from powers of tau.
    """
    if found := find_basis(runtime, system, values):
        return found.points
    power = (values - 1).bit_length()
    if _takes_powers(system) and _is_imported(runtime):
        raise ModelError(
            "model.too_large",
            f"to commit to what is about this network takes a basis of {values} points, more than any that"
            f" was imported: bring powers of tau of 2^{power} (`zenserve basis import`)",
            field="model",
        )
    return max(runtime.settings.basis_points, 1 << power)


def stored_bases(runtime: Runtime, system: ProofSystem) -> list[Stored]:
    """All bases of its commitment scheme, the smallest first."""
    name = _name(system)
    with runtime.database.read() as session:
        known = Artifacts(session).named(name)
    earlier = runtime.settings.data_dir / name
    if not known and earlier.exists():
        _take_over(runtime, system, earlier)
        return stored_bases(runtime, system)
    return _sorted(runtime, system, known)


def load_bases(runtime: Runtime, system: ProofSystem) -> list[CommitmentKey]:
    """The same, as what they are."""
    paths = (runtime.store.path(each.digest) for each in stored_bases(runtime, system))
    return [_load(system.commitments, path) for path in paths]


def add_basis(runtime: Runtime, system: ProofSystem, file: Path, points: int) -> None:
    """The file as a basis of so many points, unless by now there is one that is as large."""
    name, digest = _name(system), runtime.store.adopt(file)
    with runtime.database.write() as session:
        artifacts = Artifacts(session)
        if artifacts.add(name, digest) != digest:
            artifacts.hold(name)  # processes that add one at once take turns
            if _sorted(runtime, system, artifacts.named(name))[-1].points < points:
                artifacts.add(f"{name}/{points}", digest)
        kept = artifacts.named(name).values()
    if digest not in kept:
        runtime.store.delete(digest)


def adopt(runtime: Runtime, file: Path, name: str) -> str:
    """The digest of the file as what goes by this name, unless another process was first: then that one's."""
    digest = runtime.store.adopt(file)
    with runtime.database.write() as session:
        kept = Artifacts(session).add(name, digest)
    if kept != digest:
        runtime.store.delete(digest)
    return kept


def open_openings(runtime: Runtime, dataset: Dataset) -> OpeningFile:
    """Return the openings of the shards' commitments, which show that these are to the dataset."""
    assert dataset.openings is not None  # noqa: S101  committed datasets have them
    return OpeningFile.model_validate_json(
        encryption.get(runtime, f"openings:{dataset.id}", dataset.openings)
    )


def commit(basis: CommitmentKey, values: Integers, threads: int, *, hiding: bool = True) -> Opening:
    """A commitment to integers, int64 of any shape, row-major."""
    return basis.commit(fr.from_int64(values.ravel()), hiding=hiding, threads=threads)


def reveal(basis: CommitmentKey, opening: Opening, values: Integers, threads: int) -> dict[str, Any]:
    """Return a JSON-able proof that the commitment is to the values."""
    return basis.reveal(opening, fr.from_int64(values.ravel()), threads=threads).to_json()


def _takes_powers(system: ProofSystem) -> bool:
    """Return whether the system's bases come from powers of tau: those of its scheme alone are imported."""
    return system.commitments.id == SYSTEMS[FIRST].commitments.id


def _is_imported(runtime: Runtime) -> bool:
    with runtime.database.read() as session:
        artifacts = Artifacts(session)
        return bool(artifacts.find(IMPORTED) or artifacts.find(POWERS))


def _name(system: ProofSystem) -> str:
    return "basis" if _takes_powers(system) else f"basis:{system.commitments.id}"


def _sorted(runtime: Runtime, system: ProofSystem, known: Mapping[str, str]) -> list[Stored]:
    return sorted(Stored(_points(runtime, system, *each), *each) for each in known.items())


def _points(runtime: Runtime, system: ProofSystem, name: str, digest: str) -> int:
    """The first basis goes by the scheme's name alone; the others say how large they are."""
    points = name.rpartition("/")[2]
    return int(points) if points.isdigit() else _load(system.commitments, runtime.store.path(digest)).length


def _take_over(runtime: Runtime, system: ProofSystem, earlier: Path) -> None:
    """The file ``basis`` of services that had no store for it. It goes only once the database has it."""
    with runtime.store.scratch() as scratch:
        shutil.copyfile(earlier, scratch)
        add_basis(runtime, system, scratch, system.commitments.load_key(scratch).length)
    earlier.unlink(missing_ok=True)


@lru_cache(maxsize=8)
def _load(commitments: Committing, path: Path) -> CommitmentKey:
    return commitments.load_key(path)
