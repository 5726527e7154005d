"""Powers of tau: those that are and those that only look it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.prover.ceremony.support import ALPHA, BETA, TAU, in_g1, in_g2, known_powers, nudged, scalar
from tests.prover.statements import R
from tests.refusals import refuses
from zenserve.base.randomness import random_elements
from zenserve.kernels import FrArray, g1, g2
from zenserve.prover.groth16 import powers_of_tau
from zenserve.prover.groth16.powers_of_tau import PowersOfTau

ARRAYS = ("tau_g1", "tau_g2", "alpha_g1", "beta_g1", "beta_g2")


@pytest.fixture(scope="module")
def powers() -> PowersOfTau:
    return known_powers(3)


def refused(powers: PowersOfTau, field: str | None = None, code: str = "ceremony.powers") -> None:
    with refuses(code, field):
        powers.verify(threads=2)


def altered(powers: PowersOfTau, name: str, value: object) -> PowersOfTau:
    return replace(powers, **{name: value})  # type: ignore[arg-type]


def test_powers_are_what_the_exponents_say(powers: PowersOfTau) -> None:
    tau = [pow(TAU, i, R) for i in range(15)]
    np.testing.assert_array_equal(powers.tau_g1, in_g1(tau))
    np.testing.assert_array_equal(powers.tau_g2, in_g2(tau[:8]))
    np.testing.assert_array_equal(powers.alpha_g1, in_g1([ALPHA * value for value in tau[:8]]))
    np.testing.assert_array_equal(powers.beta_g1, in_g1([BETA * value for value in tau[:8]]))
    np.testing.assert_array_equal(powers.beta_g2, in_g2([BETA]))
    assert powers.contributions == 0


@pytest.mark.parametrize("power", [1, 2, 6])
def test_honest_powers_and_their_prefixes_are_valid(power: int) -> None:
    powers = powers_of_tau.generate(power, threads=2)
    for smaller in range(1, power + 1):
        powers.first(smaller).verify()


def test_generating_twice_gives_two(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[FrArray] = []

    def spy(count: int) -> FrArray:
        drawn.append(random_elements(count))
        return drawn[-1]

    monkeypatch.setattr(powers_of_tau, "random_elements", spy)
    first, second = powers_of_tau.generate(1), powers_of_tau.generate(1)
    assert all((getattr(first, name)[-1] != getattr(second, name)[-1]).any() for name in ARRAYS)
    assert len(drawn) == 2
    assert not any(array.any() for array in drawn)


@pytest.mark.parametrize("name", ARRAYS)
def test_one_wrong_point_anywhere(powers: PowersOfTau, name: str) -> None:
    points = getattr(powers, name)
    for index in range(len(points)):
        refused(altered(powers, name, nudged(points, index, g2 if points.ndim == 4 else g1)))


@pytest.mark.parametrize("name", ["alpha_g1", "beta_g1", "tau_g1", "tau_g2"])
def test_powers_out_of_step(powers: PowersOfTau, name: str) -> None:
    points = getattr(powers, name)
    refused(altered(powers, name, np.roll(points, 1, axis=0)), name)
    skipped = np.concatenate([points[:3], points[4:], points[-1:]])
    refused(altered(powers, name, skipped), name)


def test_powers_of_two_different_secrets(powers: PowersOfTau) -> None:
    other = known_powers(3, tau=TAU + 1)
    for name in ("tau_g1", "tau_g2", "alpha_g1", "beta_g1"):
        refused(altered(powers, name, getattr(other, name)))
    refused(replace(powers, beta_g1=powers.alpha_g1), "beta_g2")
    refused(replace(powers, beta_g2=g2.mul(powers.beta_g2, scalar(2))), "beta_g2")


def test_powers_of_another_generator(powers: PowersOfTau) -> None:
    refused(replace(powers, tau_g1=g1.mul(powers.tau_g1, scalar(3))), "tau_g1")
    refused(replace(powers, tau_g2=g2.mul(powers.tau_g2, scalar(3))), "tau_g2")


@pytest.mark.parametrize("order", [2, 4, 8, 16])
def test_a_root_of_unity_is_refused(order: int) -> None:
    """Then all Lagrange polynomials but one vanish, and the quotient's bases with them."""
    refused(known_powers(3, tau=pow(5, (R - 1) // order, R)), "tau_g1")
    if order > 2:
        refused(known_powers(3, tau=pow(5, -(R - 1) // order, R)), "tau_g1")


@pytest.mark.parametrize("secret", ["tau", "alpha", "beta"])
def test_a_secret_of_one_is_refused(secret: str) -> None:
    """Everybody knows it."""
    refused(known_powers(3, **{secret: 1}), "powers", "ceremony.no_contributions")


def test_a_root_of_unity_beyond_the_domain_is_none_of_its_rows() -> None:
    known_powers(3, tau=pow(5, (R - 1) // 32, R)).verify()


def test_zeros_are_refused(powers: PowersOfTau) -> None:
    refused(known_powers(3, tau=0), "tau_g1[1]", "file.point_at_infinity")
    refused(replace(powers, alpha_g1=np.zeros_like(powers.alpha_g1)), code="file.point_at_infinity")


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_another_length_are_refused(powers: PowersOfTau, name: str) -> None:
    refused(altered(powers, name, getattr(powers, name)[:-1]), name)
    refused(altered(powers, "power", 4))
    refused(altered(powers, "power", 0), "power")


@pytest.mark.parametrize("power", [0, 29, -1])
def test_powers_out_of_range_are_refused(power: int) -> None:
    with refuses("ceremony.powers", "power"):
        powers_of_tau.generate(power)


def test_more_than_there_is_is_refused(powers: PowersOfTau) -> None:
    with refuses("ceremony.powers_too_small"):
        powers.first(4)


def test_progress_covers_every_array() -> None:
    seen: list[tuple[str, float]] = []
    powers = powers_of_tau.generate(2, progress=lambda *report: seen.append(report))
    assert list(dict.fromkeys(stage for stage, _ in seen)) == list(ARRAYS)
    seen.clear()
    powers.verify(progress=lambda *report: seen.append(report))
    assert list(dict.fromkeys(stage for stage, _ in seen)) == ["points", "powers"]
    assert seen[-1][1] == 1
