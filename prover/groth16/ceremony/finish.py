"""From the last state to the key."""

from __future__ import annotations

from typing import Any

import numpy as np

from zenserve.base.progress import Progress
from zenserve.errors import CeremonyError
from zenserve.kernels import g1, g2
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16.ceremony.state import State
from zenserve.prover.groth16.ceremony.verification import verify
from zenserve.prover.groth16.powers_of_tau import PowersOfTau
from zenserve.prover.groth16.proving_key import ProvingKey, multiples
from zenserve.verifier.groth16.setup_transcript import require_people
from zenserve.verifier.groth16.verifying_key import SegmentKey, VerifyingKey
from zenserve.verifier.system import CEREMONY, DEVELOPMENT


def finish(
    state: State,
    system: ConstraintSystem,
    powers: PowersOfTau,
    *,
    development: bool = False,
    threads: int = 1,
    progress: Progress | None = None,
) -> ProvingKey:
    """Return the key that the contributions made, once ``verify`` finds nothing wrong with ``state``.

    The key is labelled "ceremony" if people contributed to the powers of tau as well, which ``read_ptau``
    verifies. Powers of one party give a key that is labelled "development": without ``development`` they are
    refused.
    Stages: those of ``verify``.
    Raises ``CeremonyError`` (``ceremony.no_contributions``, and what ``verify`` raises).
    """
    require_people(state.people)
    require_powers(state.powers_contributions, development=development)
    verify(state, system, powers, threads=threads, progress=progress)
    committed = len(state.segments)
    present = ~g1.is_infinity(np.concatenate([state.segments, state.private]))
    return ProvingKey(
        verifying_key(state),
        state.beta_g1,
        state.delta_g1,
        state.a_columns,
        state.a,
        state.b_columns,
        state.b_g1,
        state.b_g2,
        np.flatnonzero(~present).astype(np.uint32) + np.uint32(len(state.ic)),
        state.private[present[committed:]],
        state.quotient,
        state.segments[present[:committed]],
        state.knowledge[present[:committed]],
        state.links,
        multiples(state.quotient, threads),
    )


def require_powers(contributions: int, *, development: bool) -> None:
    """Raise ``CeremonyError`` (``ceremony.no_contributions``) for powers of tau that one party made, unless
    the keys are meant for ``development``.
    """
    if not contributions and not development:
        raise CeremonyError(
            "ceremony.no_contributions",
            "nobody contributed to the powers of tau: whoever drew them can forge proofs, so the keys would"
            " say development. Start again from powers that several people contributed to, or ask for keys"
            " for development (--development, development=True)",
            field="development",
        )


def verifying_key(state: State) -> VerifyingKey:
    """The verifying key that the contributions in ``state`` came to, at least one, as ``finish`` labels it.

    Whether they are contributions to the right start, ``verify`` tells.
    """
    secrets_g2, hashes = state.chain
    delta, *others = (g2.compress(point) for point in secrets_g2)
    sigma, k = others[: len(state.shapes)], iter(others[len(state.shapes) :])
    return VerifyingKey(
        **fixed_fields(state),
        delta_g2=delta,
        segments=tuple(
            SegmentKey(shape.size, point, (next(k), next(k)) if shape.linked else None)
            for shape, point in zip(state.shapes, sigma, strict=True)
        ),
        contributions=hashes,
    )


def fixed_fields(state: State) -> dict[str, Any]:
    """The fields of ``verifying_key`` that no contribution changes, by their names."""
    return {
        "setup": CEREMONY if state.powers_contributions else DEVELOPMENT,
        "statement_digest": state.statement_digest,
        "alpha_g1": g1.compress(state.alpha_g1),
        "beta_g2": g2.compress(state.beta_g2),
        "gamma_g2": g2.compress(g2.generator),
        "ic": tuple(g1.compress(point) for point in state.ic),
        "challenges": state.challenges,
        "folded": state.folded,
        "basis": g1.compress(state.basis[1]) if len(state.basis) else None,
    }
