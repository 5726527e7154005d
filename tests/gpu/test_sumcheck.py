"""Sum-checks on the device against their definitions in Python integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import numpy as np
import pytest

from tests.gpu.known import device
from tests.kernels.strategies import R
from zenserve.gpu import sumcheck
from zenserve.gpu.device import Array
from zenserve.gpu.sumcheck import CubicSumCheck, ProductSumCheck, R1csSumCheck, SumCheck, Weights
from zenserve.kernels import fr
from zenserve.prover.spartan.sessions.workspace import voice
from zenserve.verifier.spartan.field import FR
from zenserve.verifier.spartan.transcript import Transcript

Table = list[int]
Term = Callable[[list[int]], int]


def _tables(count: int, variables: int) -> list[Table]:
    random = Random(variables)
    return [
        [random.choice([0, 1, R - 1, random.randrange(R)]) for _ in range(1 << variables)]
        for _ in range(count)
    ]


def _on_device(tables: list[Table]) -> Array:
    values = fr.from_ints([value for table in tables for value in table])
    return device.upload(values.reshape(len(tables), -1, 4))


def _folded(table: Table, r: int) -> Table:
    half = len(table) // 2
    return [(low + r * (high - low)) % R for low, high in zip(table[:half], table[half:], strict=True)]


def _sum(tables: list[Table], x: int, term: Term, weights: Sequence[int]) -> int:
    """Of the round's polynomial at x."""
    folded = [_folded(table, x) for table in tables]
    total = sum(w * term([table[i] for table in folded]) for i, w in enumerate(weights))
    return total % R


@pytest.mark.parametrize("variables", [0, 1, 2, 5, 6, 11])
def test_weights(variables: int) -> None:
    point = [Random(variables).randrange(R) for _ in range(variables)]
    weights = Weights(device, device.upload(fr.from_ints(point).reshape(-1, 4)))
    table, sums = (device.empty((count, 4), np.uint64) for count in (1 << variables, sumcheck.SUMS))
    weights.table(table)
    assert fr.to_ints(device.download(table)) == FR.eq(point)
    (values,) = _tables(1, variables)
    found = device.empty(4, np.uint64)
    weights.dot(_on_device([values])[0], sums, found)
    assert fr.to_ints(device.download(found).reshape(1, 4)) == [FR.dot(values, FR.eq(point))]
    for count in range(variables + 1):
        high, low, bits = weights.last(count)
        found = [fr.to_ints(device.download(part)) for part in (high, low)]
        assert [x * y % R for x in found[0] for y in found[1]] == FR.eq(point[variables - count :])
        assert len(found[1]) == 1 << bits


def _coefficients(values: list[int]) -> list[int]:
    """Of 1, X and X^2, by the values at 0, 1 and 2."""
    at_0, at_1, at_2 = values
    leading = (at_2 - 2 * at_1 + at_0) * pow(2, -1, R) % R
    return [at_0, (at_1 - at_0 - leading) % R, leading]


CHECKS: dict[str, tuple[int, Term]] = {
    "r1cs": (3, lambda v: v[0] * v[1] - v[2]),
    "product": (2, lambda v: v[0] * v[1]),
    "cubic": (6, lambda v: v[0] * v[1] * v[2] + v[3] * v[4] * v[5]),
}


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("variables", [1, 2, 3, 10])
@pytest.mark.parametrize("padded", [True, False])
def test_rounds(name: str, variables: int, padded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rounds; the last ones by one block, of ten variables the others by two, or by one."""
    monkeypatch.setattr(sumcheck, "SUMS", 2)
    monkeypatch.setattr(sumcheck, "_LOG_LAST", 4)
    random, (count, term) = Random(name), CHECKS[name]
    tables, kept = _tables(count, variables), list[Array]()
    if name == "r1cs":  # its sum is zero
        tables[2] = [a * b % R for a, b in zip(tables[0], tables[1], strict=True)]
    array, first = _on_device(tables), [list(table) for table in tables]

    def keep(made: Array) -> Array:
        kept.append(made)
        return made

    point = [random.randrange(R) for _ in range(variables)]
    check: SumCheck
    if name == "r1cs":
        check = R1csSumCheck(device, array, keep, given=1 + variables)
    else:
        check = (ProductSumCheck if name == "product" else CubicSumCheck)(device, array, keep)
    pads = [random.randrange(R) if padded else 0 for _ in range(variables * check.said)]
    transcript = Transcript(FR, b"")
    on_device = device.upload(fr.from_ints(pads)) if padded else None
    check.bring(transcript.state, *([fr.from_ints([0, *point])] if name == "r1cs" else []))
    check.launch(voice(device, check.said), on_device)
    found = check.told()
    for index in range(variables):
        weights = FR.eq(point[index + 1 :]) if name == "r1cs" else [1] * (len(tables[0]) // 2)
        at = {x: _sum(tables, x, term, weights) for x in (-1, 0, 1, 2)}
        if name == "cubic":
            # The third difference of values at -1, 0, 1, 2 is six times the coefficient of X^3.
            third = (at[2] - 3 * at[1] + 3 * at[0] - at[-1]) * pow(6, -1, R) % R
            truth = [at[0], at[-1], third]
        else:
            constant, linear, leading = _coefficients([at[0], at[1], at[2]])
            truth = [linear if name == "r1cs" else constant, leading]
        own = pads[check.said * index :]
        said = [(value + pad) % R for value, pad in zip(truth, own, strict=False)]
        assert found.said[index] == said
        transcript.say("round", said)
        r = transcript.challenge("round")
        assert found.point[index] == r
        tables = [_folded(table, r) for table in tables]
    assert found.values == [table[0] for table in tables]
    assert found.state == transcript.state
    assert array.shape == (count, 1 << variables, 4)
    assert fr.to_ints(device.download(array).reshape(-1, 4)) == [v for t in first for v in t]
    assert len(kept) == 3


def test_a_challenge_is_a_remainder_of_all_bits() -> None:
    """Whatever the hash is: 64 bytes against integers."""
    table = _on_device([[1, 2], [3, 4]])
    for seed in range(40):
        transcript = Transcript(FR, bytes([seed]))
        check = ProductSumCheck(device, table, lambda made: made)
        check.bring(transcript.state)
        check.launch(voice(device, 2))
        found = check.told()
        transcript.say("round", found.said[0])
        assert found.point == [transcript.challenge("round")]
