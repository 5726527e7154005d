"""Multi-scalar multiplication on the device against sums of known logarithms."""

from __future__ import annotations

import random
import weakref

import numpy as np
import pytest
from numpy.typing import DTypeLike

from tests.gpu.emulator.place import EMULATED
from tests.gpu.known import LOGARITHMS, affine, device, known_points, multiples
from tests.kernels.strategies import KINDS, R, edge_values
from tests.refusals import refuses
from zenserve import kernels
from zenserve.gpu.device import Array
from zenserve.gpu.msm import Bases, Plan, msm, plan
from zenserve.kernels import Group, WordArray


@pytest.fixture(params=[kernels.g1, kernels.g2], ids=["g1", "g2"])
def group(request: pytest.FixtureRequest) -> Group:
    chosen: Group = request.param
    return chosen


def layout(group: Group, count: int, width: int, sets: int = 1, levels: int = 0) -> Plan:
    return Plan(count, 8 * int(np.prod(group.shape)), width, sets, levels)


def bases_of(points: WordArray, layout: Plan | None = None) -> Bases:
    return Bases(device, device.upload(points), layout)


def on_device(values: list[int]) -> Array:
    return device.upload(kernels.fr.from_ints([value % R for value in values]))


def result(group: Group, bases: Bases, scalars: Array, indices: Array | None = None) -> WordArray:
    point: WordArray = affine(group, device.download(msm(bases, scalars, indices))[None])[0]
    return point


def weighted(logarithms: list[int], values: list[int]) -> int:
    return sum(each * value for each, value in zip(logarithms, values, strict=True))


def check(group: Group, kind: str, count: int, levels: int) -> None:
    rng = random.Random(kind)
    values = [KINDS[kind](rng) for _ in range(count)]
    bases = bases_of(known_points(group)[:count], layout(group, count, 7, levels=levels))
    expected = multiples(group, [weighted(LOGARITHMS[:count], values)])[0]
    np.testing.assert_array_equal(result(group, bases, on_device(values)), expected)


@pytest.mark.parametrize("levels", [0, pytest.param(3, marks=pytest.mark.large)])
@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_of_scalars(kind: str, levels: int) -> None:
    """Kinds differ in their digits, which are sorted without regard to the group."""
    check(kernels.g1, kind, 100, levels)


@pytest.mark.parametrize("levels", [0, pytest.param(3, marks=pytest.mark.large)])
@pytest.mark.parametrize("count", [1, 33, 300])
def test_any_count(group: Group, count: int, levels: int) -> None:
    check(group, "mixed", count, levels)


@pytest.mark.parametrize(
    ("width", "sets"), [(2, 1), (2, 1000), (5, 2), (5, 1000), (8, 5), (8, 1000), (11, 1), (11, 2)]
)
def test_any_width_and_any_rows_of_multiples(width: int, sets: int) -> None:
    values = edge_values(R) + [R - (1 << shift) for shift in range(0, 254, 13)]
    count, sets = len(values), min(sets, layout(kernels.g1, 1, width).windows)
    bases = Bases(
        device, device.upload(known_points(kernels.g1)[:count]), layout(kernels.g1, count, width, sets)
    )
    expected = multiples(kernels.g1, [weighted(LOGARITHMS[:count], values)])[0]
    np.testing.assert_array_equal(result(kernels.g1, bases, on_device(values)), expected)


@pytest.mark.parametrize("levels", [0, pytest.param(2, marks=pytest.mark.large)])
@pytest.mark.parametrize("factors", [[0], [1], [1, R - 1], [0, 1, R - 1, 2]], ids=str)
@pytest.mark.parametrize("kind", ["all equal", "mixed"])
def test_many_points_that_are_few(group: Group, factors: list[int], kind: str, levels: int) -> None:
    """Sums that meet infinity, doublings and cancellations, in pairs, in one thread and in four."""
    rng = random.Random(kind)
    chosen = [factors[rng.randrange(len(factors))] for _ in range(100)]
    values = [KINDS[kind](rng) for _ in chosen]
    bases = Bases(
        device, device.upload(multiples(group, chosen)), layout(group, len(chosen), 6, levels=levels)
    )
    expected = multiples(group, [weighted(chosen, values)])[0]
    np.testing.assert_array_equal(result(group, bases, on_device(values)), expected)


def test_scalars_by_index() -> None:
    """Each base reads its scalar where ``indices`` says: repeated, out of order, from a longer list."""
    rng = random.Random(3)
    witness = [rng.randrange(R) for _ in range(50)]
    indices = np.array([rng.randrange(len(witness)) for _ in range(200)], dtype=np.uint32)
    bases = bases_of(known_points(kernels.g1)[:200], layout(kernels.g1, 200, 6))
    expected = multiples(kernels.g1, [weighted(LOGARITHMS[:200], [witness[i] for i in indices])])[0]
    actual = result(kernels.g1, bases, on_device(witness), device.upload(indices))
    np.testing.assert_array_equal(actual, expected)


def test_nothing_is_infinity(group: Group) -> None:
    bases = bases_of(known_points(group)[:0])
    assert not result(group, bases, on_device([])).any()


def test_bases_and_scalars_must_pair_up(group: Group) -> None:
    bases = bases_of(known_points(group)[:3])
    with pytest.raises(ValueError, match="3 bases and 2 scalars do not pair up"):
        msm(bases, on_device([1, 2]))
    with pytest.raises(ValueError, match="3 bases and 4 scalars do not pair up"):
        msm(bases, on_device([1, 2, 3]), device.upload(np.zeros(4, dtype=np.uint32)))


@pytest.mark.parametrize(
    "layout", [Plan(1 << 24, 96, 2), Plan(1 << 26, 96, 2, sets=64), Plan(9, 96, 30, levels=4)]
)
def test_too_many_bases_are_refused(layout: Plan) -> None:
    with pytest.raises(ValueError, match=f"{layout.count} bases are too many"):
        bases_of(known_points(kernels.g1)[:9], layout)


def test_bases_must_be_points() -> None:
    with pytest.raises(ValueError, match="bases must be points"):
        Bases(device, device.zeros((3, 4), np.uint64))


def test_a_table_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "free_bytes", lambda: 1000)
    with refuses("resource.gpu_memory"):
        bases_of(known_points(kernels.g1)[:3])


@pytest.mark.skipif(not EMULATED, reason="the device's pool hides what is in use")
@pytest.mark.parametrize(
    "levels", [0, *(pytest.param(levels, marks=pytest.mark.large) for levels in (1, 2, 3))]
)
@pytest.mark.parametrize(("group", "count", "width"), [(kernels.g1, 200, 5), (kernels.g2, 100, 10)])
def test_scratch_memory_is_what_the_plan_says(
    group: Group, count: int, width: int, levels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, most, allocate = 0, 0, device.empty

    def change(size: int) -> None:
        nonlocal held, most
        held += size
        most = max(most, held)

    def empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
        array = allocate(shape, dtype)
        change(array.nbytes)
        weakref.finalize(array, change, -array.nbytes)
        return array

    values = [random.Random(i).randrange(R) for i in range(count)]
    bases = Bases(
        device, device.upload(known_points(group)[:count]), layout(group, count, width, levels=levels)
    )
    scalars = on_device(values)
    monkeypatch.setattr(device, "empty", empty)
    msm(bases, scalars)
    assert 0.8 * bases.plan.scratch_bytes < most < 1.05 * bases.plan.scratch_bytes


@pytest.mark.parametrize("levels", [0, 2])
def test_digits_are_cleared(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They tell the scalars."""
    bases = Bases(
        device, device.upload(known_points(kernels.g1)[:50]), layout(kernels.g1, 50, 8, levels=levels)
    )
    scalars, secret, allocate = on_device(LOGARITHMS[:50]), [], device.empty

    def empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> Array:
        array = allocate(shape, dtype)
        if shape == bases.plan.digits + (bases.plan.groups << levels):
            secret.append(array)
        return array

    monkeypatch.setattr(device, "empty", empty)
    msm(bases, scalars)
    assert len(secret) == 1
    assert not device.download(secret[0]).any()


def test_plans_keep_to_their_budget() -> None:
    """From the bases themselves to all their multiples; the table is as large as the plan says."""
    count = 1 << 16
    free = plan(count, 96)
    assert free.sets == 1
    for copies in (1, 2, 3, 7, 100):
        bounded = plan(count, 96, budget_bytes=copies * 96 * count)
        assert bounded.rows <= copies
        assert bounded.rows * bounded.sets >= bounded.windows
        assert bounded.microseconds(count) >= free.microseconds(count)
    with pytest.raises(ValueError, match="budget_bytes must be 6291456 at least"):
        plan(count, 96, budget_bytes=96 * count - 1)
    bases = bases_of(known_points(kernels.g1)[:10], plan(10, 96, budget_bytes=5000))
    assert bases.table.nbytes == bases.plan.table_bytes <= 5000


def test_plans_for_short_scalars_have_fewer_buckets() -> None:
    assert plan(1 << 22, 96, expected=1 << 16).buckets < plan(1 << 22, 96).buckets
