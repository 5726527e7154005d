"""Powers of tau, of which Groth16's bases are made, and from which its ceremonies start: it alone has any.

Their files are artifacts, ``powers`` and on, kept beside the bases that are of them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from zenserve.errors import ConflictError
from zenserve.prover import registry
from zenserve.prover.groth16 import CommitmentKey
from zenserve.prover.groth16.iden3.ptau import read_ptau
from zenserve.prover.groth16.powers_of_tau import PowersOfTau
from zenserve.prover.groth16.system import Groth16
from zenserve.service import basis as bases
from zenserve.service.runtime import Runtime
from zenserve.service.storage.repositories import Artifacts


def import_basis(runtime: Runtime, basis: CommitmentKey) -> None:
    """Make this a basis of the service, which makes none itself from then on. Raises ``ConflictError``
    (``conflict.basis``) where it has another that is as large.
    """
    system = registry.find(Groth16.id)
    with runtime.store.scratch() as scratch:
        basis.save(scratch)
        bases.add_basis(runtime, system, scratch, basis.length)
    kept = bases.load_bases(runtime, system)
    if (basis.identity, basis.length) not in [(each.identity, each.length) for each in kept]:
        raise ConflictError(
            "conflict.basis",
            f"this service has another basis of {kept[-1].length} points, and what it committed to is over"
            " that one: import a larger basis, for networks that do not fit it, or import into a service"
            " that has none yet",
        )
    stored = next(each for each in bases.stored_bases(runtime, system) if each.points == basis.length)
    with runtime.database.write() as session:
        Artifacts(session).add(bases.IMPORTED, stored.digest)


def import_powers(runtime: Runtime, file: Path, powers: PowersOfTau) -> CommitmentKey:
    """Make the basis of these powers one of the service, and keep their file, for ceremonies. Raises as
    ``import_basis``.
    """
    basis = CommitmentKey.of(powers)
    import_basis(runtime, basis)
    with runtime.store.scratch() as scratch:
        shutil.copyfile(file, scratch)
        bases.adopt(runtime, scratch, _powers_name(runtime, basis.length) or bases.POWERS)
    return basis


def powers_digest(runtime: Runtime, values: int) -> str:
    """Of the file of the powers of tau that the basis of models of so many values came from, in the store.
    Raises ``ConflictError`` (``conflict.powers``) where it came from none.
    """
    name = _powers_name(runtime, values)
    with runtime.database.read() as session:
        digest = name and Artifacts(session).find(name)
    if not digest:
        raise ConflictError(
            "conflict.powers",
            "this service has no powers of tau for this model, from which its ceremonies start: `zenserve"
            " basis import` keeps those that a basis came from",
        )
    return digest


def _powers_name(runtime: Runtime, values: int) -> str | None:
    found = bases.find_basis(runtime, registry.find(Groth16.id), values)
    return found and bases.POWERS + found.name.removeprefix("basis")


def load_powers(runtime: Runtime, digest: str, most: int) -> PowersOfTau:
    """The powers of tau for 2^most rows in this file of the store: it was verified when it was imported."""
    return read_ptau(runtime.store.path(digest), most=most, known=True)
