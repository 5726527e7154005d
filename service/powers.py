"""Powers of tau, of which Groth16's basis is made, and from which its ceremonies start: it alone has any.

Their file is an artifact, ``powers``, kept beside the basis.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from prover import registry
from prover.groth16 import CommitmentKey
from prover.groth16.iden3.ptau import read_ptau
from prover.groth16.powers_of_tau import PowersOfTau
from prover.groth16.system import Groth16
from service import basis as bases
from service.runtime import Runtime
from service.storage.repositories import Artifacts
from zenerrors import ConflictError

_POWERS: Final = "powers"


def import_basis(runtime: Runtime, basis: CommitmentKey) -> None:
    """Make this the basis of the service. Raises ``ConflictError`` (``conflict.basis``) where it has
    another.
    """
    system = registry.find(Groth16.id)
    with runtime.store.scratch() as scratch:
        basis.save(scratch)
        if bases.find_basis(runtime, system) is None:
            bases.adopt_basis(runtime, system, scratch)
    kept = bases.load_basis(runtime, system)
    if (kept.identity, kept.length) != (basis.identity, basis.length):
        raise ConflictError(
            "conflict.basis",
            f"this service has another basis of {kept.length} points, and what it committed to is over"
            " that one: import a basis into a service that has none yet",
        )


def import_powers(runtime: Runtime, file: Path, powers: PowersOfTau) -> CommitmentKey:
    """Make the basis of these powers that of the service, and keep their file, for ceremonies. Raises as
    ``import_basis``.
    """
    basis = CommitmentKey.of(powers)
    import_basis(runtime, basis)
    with runtime.store.scratch() as scratch:
        shutil.copyfile(file, scratch)
        bases.adopt(runtime, scratch, _POWERS)
    return basis


def powers_digest(runtime: Runtime) -> str:
    """Of the file of powers of tau, in the store. Raises ``ConflictError`` (``conflict.powers``) where the
    basis came from none.
    """
    with runtime.database.read() as session:
        digest = Artifacts(session).find(_POWERS)
    if digest is None:
        raise ConflictError(
            "conflict.powers",
            "this service has no powers of tau, which ceremonies start from: `zenserve basis import` keeps"
            " those that its basis came from",
        )
    return digest


def load_powers(runtime: Runtime, digest: str, most: int) -> PowersOfTau:
    """The powers of tau for 2^most rows in this file of the store: it was verified when it was imported."""
    return read_ptau(runtime.store.path(digest), most=most, known=True)
