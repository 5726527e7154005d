"""Powers of tau: the part of a trusted setup that serves every statement up to a size."""

from __future__ import annotations

from dataclasses import dataclass

from kernels import WordArray


@dataclass(frozen=True)
class PowersOfTau:
    """Powers of one secret τ, plain and times α and β, for statements of up to n = 2^power rows.

    Points are affine, Montgomery: ``tau_g1`` [τ^i]_1 uint64[2n-1, 2, 6], ``tau_g2`` [τ^i]_2 uint64[n, 2, 2, 6],
    ``alpha_g1`` [α τ^i]_1 and ``beta_g1`` [β τ^i]_1 uint64[n, 2, 6], ``beta_g2`` [β]_2 uint64[1, 2, 2, 6].
    ``contributions`` counts those who shared in making them: 0 where one party knew every secret.
    """

    power: int
    tau_g1: WordArray
    tau_g2: WordArray
    alpha_g1: WordArray
    beta_g1: WordArray
    beta_g2: WordArray
    contributions: int
