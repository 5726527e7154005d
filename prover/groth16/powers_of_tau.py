"""Powers of tau: the part of a trusted setup that serves every statement up to a size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from zenserve.base.progress import Progress, silent
from zenserve.base.randomness import Secrets, random_elements
from zenserve.errors import CeremonyError
from zenserve.kernels import Group, WordArray, fr, g1, g2
from zenserve.prover.groth16.point_arrays import check_points, pairings_cancel, random_weights

MAX_POWER: Final = 28

_ONE_G1, _ONE_G2 = g1.generator, g2.generator


@dataclass(frozen=True, eq=False)
class PowersOfTau:
    """Powers of one secret τ, plain and times α and β, for statements of up to n = 2^power rows.

    Points are affine, Montgomery. In G1, uint64[count, 2, 6]: ``tau_g1`` [τ^i]_1, 2n - 1 of them,
    ``alpha_g1`` [α τ^i]_1 and ``beta_g1`` [β τ^i]_1, n each. In G2, uint64[count, 2, 2, 6]: ``tau_g2``
    [τ^i]_2, n of them, and ``beta_g2`` [β]_2 alone. The power is from 1 to 28.
    ``contributions`` counts those who shared in making them: 0 where one party knew every secret.
    """

    power: int
    tau_g1: WordArray
    tau_g2: WordArray
    alpha_g1: WordArray
    beta_g1: WordArray
    beta_g2: WordArray
    contributions: int

    def first(self, power: int) -> PowersOfTau:
        """The powers for statements of up to 2^power rows. Raises ``CeremonyError``
        (``ceremony.powers_too_small``) where there are fewer.
        """
        if power > self.power:
            raise CeremonyError(
                "ceremony.powers_too_small",
                f"the statement takes powers of tau for 2^{power} rows, these are for 2^{self.power}",
                field="powers",
            )
        n = 1 << power
        return PowersOfTau(
            power,
            self.tau_g1[: 2 * n - 1],
            self.tau_g2[:n],
            self.alpha_g1[:n],
            self.beta_g1[:n],
            self.beta_g2,
            self.contributions,
        )

    def verify(self, *, threads: int = 1, progress: Progress | None = None) -> None:
        """Check that all points are powers of one τ, times one α and one β, by random linear combinations.

        It does not check ``contributions``. Stages: "points", "powers". Raises ``CeremonyError``
        (``ceremony.powers``, the array at fault as the field; ``ceremony.no_contributions`` where τ, α or β
        is one), ``FileFormatError`` (``file.point_*``).
        """
        report = progress or silent
        self._check_shapes()
        groups = {"tau_g1": g1, "tau_g2": g2, "alpha_g1": g1, "beta_g1": g1, "beta_g2": g2}
        for index, (name, group) in enumerate(groups.items()):
            report("points", index / len(groups))
            check_points(getattr(self, name), group, name, finite=True, threads=threads)
        report("powers", 0.0)
        self._require("tau_g1", np.array_equal(self.tau_g1[0], _ONE_G1))
        self._require("tau_g2", np.array_equal(self.tau_g2[0], _ONE_G2))
        self._require_drawn()
        for index, name in enumerate(("tau_g1", "alpha_g1", "beta_g1")):
            low, high = _neighbours(getattr(self, name), g1, threads)
            self._require(name, pairings_cancel([(high, _ONE_G2), (g1.neg(low), self.tau_g2[1])]))
            report("powers", (index + 1) / 5)
        low, high = _neighbours(self.tau_g2, g2, threads)
        self._require("tau_g2", pairings_cancel([(_ONE_G1, high), (g1.neg(self.tau_g1[1]), low)]))
        self._require(
            "beta_g2", pairings_cancel([(_ONE_G1, self.beta_g2[0]), (g1.neg(self.beta_g1[0]), _ONE_G2)])
        )
        # τ^n = ±1 makes τ a root of unity of the domain itself: all its Lagrange polynomials but one vanish.
        # Points with one x are equal or opposite.
        self._require("tau_g1", not np.array_equal(self.tau_g1[1 << self.power][0], _ONE_G1[0]))
        report("powers", 1.0)

    def _require_drawn(self) -> None:
        """Everybody knows a secret that is one, as all are in a new file of snarkjs'."""
        drawn = {"τ": self.tau_g1[1], "α": self.alpha_g1[0], "β": self.beta_g1[0]}
        if known := [name for name, point in drawn.items() if np.array_equal(point, _ONE_G1)]:
            raise CeremonyError(
                "ceremony.no_contributions",
                f"nobody has contributed to these powers of tau: {known[0]} is one, which everybody knows. "
                "Contribute first (snarkjs powersoftau contribute), or take a public ceremony's powers",
                field="powers",
            )

    def _check_shapes(self) -> None:
        self._require("power", 1 <= self.power <= MAX_POWER)
        n = 1 << self.power
        self._require("tau_g1", self.tau_g1.shape == (2 * n - 1, *g1.shape))
        self._require("tau_g2", self.tau_g2.shape == (n, *g2.shape))
        self._require("alpha_g1", self.alpha_g1.shape == (n, *g1.shape))
        self._require("beta_g1", self.beta_g1.shape == (n, *g1.shape))
        self._require("beta_g2", self.beta_g2.shape == (1, *g2.shape))

    def _require(self, field: str, holds: bool) -> None:
        if not holds:
            raise CeremonyError(
                "ceremony.powers", f"{field} of the powers of tau is not what the others say", field=field
            )


def generate(power: int, *, threads: int = 1, progress: Progress | None = None) -> PowersOfTau:
    """Powers of tau by a single party, for development: whoever runs this could keep the secrets.

    Stages: the names of the arrays. Raises ``CeremonyError`` (``ceremony.powers``) for a power out of range.
    """
    if not 1 <= power <= MAX_POWER:
        raise CeremonyError("ceremony.powers", f"the power must be from 1 to {MAX_POWER}", field="power")
    report, n = progress or silent, 1 << power

    def multiples(group: Group, scalars: WordArray, name: str) -> WordArray:
        return group.fixed_base(group.generator, scalars, threads=threads, progress=partial(report, name))

    with Secrets() as secret:
        # A root of unity, or zero, has one chance in 2^200: verify() would find it.
        tau, alpha, beta = secret(random_elements(3))
        powers = secret(fr.powers(tau, 2 * n - 1))
        by_alpha = secret(fr.mul(powers[:n], alpha))
        by_beta = secret(fr.mul(powers[:n], beta))
        return PowersOfTau(
            power,
            multiples(g1, powers, "tau_g1"),
            multiples(g2, powers[:n], "tau_g2"),
            multiples(g1, by_alpha, "alpha_g1"),
            multiples(g1, by_beta, "beta_g1"),
            multiples(g2, by_beta[:1], "beta_g2"),
            contributions=0,
        )


def _neighbours(points: WordArray, group: Group, threads: int) -> tuple[WordArray, WordArray]:
    """Σ w_i P_i and Σ w_i P_(i+1) for random weights w: τ times apart where each P_(i+1) = τ P_i."""
    weights = random_weights(len(points) - 1)
    return (
        group.msm(points[:-1], weights, threads=threads),
        group.msm(points[1:], weights, threads=threads),
    )
