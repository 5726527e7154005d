"""Ceremonies whose secrets are known, to judge them by; and what an attacker does to a state."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from tests.prover.statements import R
from zenserve.kernels import FrArray, Group, WordArray, fr, g1, g2
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import ceremony, powers_of_tau
from zenserve.prover.groth16.ceremony import State, contribution
from zenserve.prover.groth16.ceremony.state import CHANGING
from zenserve.prover.groth16.powers_of_tau import PowersOfTau

TAU, ALPHA, BETA = 0x1234567, R - 3, 2**200 + 1


class Case(NamedTuple):
    system: ConstraintSystem
    z: list[int]
    powers: PowersOfTau
    states: tuple[State, ...]
    """The state before any contribution, and after each."""

    @property
    def state(self) -> State:
        return self.states[-1]


def known_powers(power: int, tau: int = TAU, alpha: int = ALPHA, beta: int = BETA) -> PowersOfTau:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(powers_of_tau, "random_elements", lambda _: fr.from_ints([tau, alpha, beta]))
        return powers_of_tau.generate(power)


def known_shares(index: int, count: int) -> list[int]:
    """What contributor ``index`` draws."""
    return [pow(7, 1 + 97 * index + i, R) for i in range(count)]


def contribute_known(state: State, name: str, index: int) -> State:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contribution, "random_elements", lambda count: fr.from_ints(known_shares(index, count)))
        return ceremony.contribute(state, name)


def with_shares(state: State, name: str, shares: list[int]) -> State:
    """``state`` after an honest contribution of the given shares, zeros included."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contribution, "_draw", lambda _: fr.from_ints(shares))
        return ceremony.contribute(state, name)


def secrets(state: State, shares: list[list[int]]) -> list[int]:
    """δ, every σ, every k, from all shares."""
    total = [1] * state.multiplied + [0] * state.added
    for of_one in shares:
        for i, share in enumerate(of_one):
            total[i] = (total[i] * share if i < state.multiplied else total[i] + share) % R
    return total


def nudged(points: WordArray, index: int, group: Group = g1) -> WordArray:
    """A copy with the generator added to one point."""
    copy = points.copy()
    copy[index] = group.add(copy[index], group.generator)
    return copy


def altered(state: State, name: str, value: object) -> State:
    """``state`` with another value of one of its fields."""
    return replace(state, **{name: value})  # type: ignore[arg-type]


def forge(state: State, index: int, **changes: object) -> State:
    """``state`` with the contribution ``index`` replaced in some of its fields."""
    contributions = list(state.contributions)
    contributions[index] = replace(contributions[index], **changes)  # type: ignore[arg-type]
    return replace(state, contributions=tuple(contributions))


def with_arrays_of(state: State, other: State) -> State:
    """``state`` with what contributions change taken from ``other``."""
    for name in CHANGING:
        state = altered(state, name, getattr(other, name))
    return state


def in_g1(exponents: list[int]) -> WordArray:
    return g1.fixed_base(g1.generator, fr.from_ints(exponents))


def in_g2(exponents: list[int]) -> WordArray:
    return g2.fixed_base(g2.generator, fr.from_ints(exponents))


def scalar(value: int) -> FrArray:
    return np.asarray(fr.from_ints([value])[0])
