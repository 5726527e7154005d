"""Powers of tau: the part of a trusted setup that serves every statement up to a size."""

from __future__ import annotations

from dataclasses import dataclass

from kernels import WordArray


@dataclass(frozen=True, eq=False)
class PowersOfTau:
    """Powers of one secret τ, plain and times α and β, for statements of up to n = 2^power rows.

    Points are affine, Montgomery. In G1, uint64[count, 2, 6]: ``tau_g1`` [τ^i]_1, 2n - 1 of them,
    ``alpha_g1`` [α τ^i]_1 and ``beta_g1`` [β τ^i]_1, n each. In G2, uint64[count, 2, 2, 6]: ``tau_g2``
    [τ^i]_2, n of them, and ``beta_g2`` [β]_2 alone.
    ``contributions`` counts those who shared in making them: 0 where one party knew every secret.
    """

    power: int
    tau_g1: WordArray
    tau_g2: WordArray
    alpha_g1: WordArray
    beta_g1: WordArray
    beta_g2: WordArray
    contributions: int
