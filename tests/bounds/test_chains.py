"""Sums that read sums: products of their matrices, and what forms gain by them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.bounds.networks import attention, stream
from zenserve import bounds
from zenserve.bounds import Ball, Bounds, Network, Norm, linear
from zenserve.bounds.arrays import Interval
from zenserve.bounds.chains import Product
from zenserve.bounds.linear import Linear
from zenserve.bounds.maps import Matrix
from zenserve.bounds.network import Forms
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray


def exactly(*matrices: FloatArray) -> list[list[Fraction]]:
    """Absolute values of the product."""
    made = [[Fraction(value) for value in row] for row in matrices[0].tolist()]
    for matrix in matrices[1:]:
        columns = [[Fraction(value) for value in column] for column in matrix.T.tolist()]
        made = [
            [sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns]
            for row in made
        ]
    return [[abs(value) for value in row] for row in made]


def test_magnitudes_are_no_less_than_the_products_of_exact_arithmetic() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        first, second, third = (rng.standard_normal((6, 6)) for _ in range(3))
        # What cancels almost: its computed product is mostly rounding.
        second[:3] = np.linalg.inv(first)[:3] * (1 + 1e-15)
        factors = rng.standard_normal(6)
        made = Product.of(third).after(Product.of(factors).after(Product.of(second).after(Product.of(first))))
        exact = exactly(third, np.diag(factors), second, first)
        found = made.magnitude
        assert all(Fraction(found[i, j]) >= exact[i][j] for i in range(6) for j in range(6))
        assert (found <= np.array(exact, float) + 1e-10).all()


def test_what_goes_around_a_layer_adds_to_what_goes_through() -> None:
    rng = np.random.default_rng(2)
    matrix, factors = rng.standard_normal((5, 5)), rng.standard_normal(5)
    around, through = Product.of(factors), Product.of(matrix)
    for both in (around.plus(through), through.plus(around)):
        np.testing.assert_allclose(both.magnitude, abs(matrix + np.diag(factors)), rtol=1e-12)


def apart(network: Network) -> Network:
    """Without what sums know of those that they read."""
    operations = (
        replace(each, chain=None) if isinstance(each, Linear) else each for each in network.operations
    )
    return replace(network, operations=tuple(operations))


def test_a_stream_knows_what_it_is_made_of() -> None:
    network = bounds.read(stream(np.random.default_rng(3)))
    chains = {each.name: each.chain for each in network.operations if isinstance(each, Linear) and each.chain}
    bends = [each.name for each in network.operations if not each.linear]
    *_, last = (each for each in chains.values())
    assert {*last.sources} == {"x", *bends}
    assert {each.shape for each in last.magnitudes} == {(4, 4), (4, 8)}


def test_sums_that_one_sum_alone_reads_are_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds are those of all sums on their own, or tighter where intervals go through products at once."""
    graph, rng = stream(np.random.default_rng(9)), np.random.default_rng(10)
    whole = bounds.read(graph)
    monkeypatch.setattr(linear, "merged", lambda operations, output: [*operations])
    parts = bounds.read(graph)
    assert len(whole.operations) < len(parts.operations)
    x = rng.uniform(-1, 1, (3, *whole.input_shape))
    np.testing.assert_allclose(whole.run(x), parts.run(x), rtol=1e-12, atol=1e-12)
    lines = rng.standard_normal((3, 2, math.prod(whole.shapes[whole.output])))
    for norm in ("inf", "2"):
        region = Ball(x, np.array([0.0, 0.01, 0.1]), norm)
        for method in bounds.METHODS:
            one, other = (Bounds(each, region, method).least(lines) for each in (whole, parts))
            assert (one >= other - 1e-9 * (1 + abs(other))).all(), (norm, method)
            if method == "forward":
                np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_what_merged_sums_round_is_counted() -> None:
    """Of a product that cancels: its own values are mostly rounding, sizes are not."""
    rng = np.random.default_rng(11)
    first = rng.standard_normal((6, 6))
    second = np.asarray(np.linalg.inv(first) * (1 + 1e-15), np.float64)
    shape, none = (6,), np.zeros(())
    sums = [
        Linear("y", ("x",), shape, False, (Matrix(first),), rng.standard_normal(6)),
        Linear("z", ("y",), shape, False, (Matrix(second),), none),
    ]
    (made,) = linear.merged(sums, "z")
    assert isinstance(made, Linear)
    assert made.chain is None
    exact, point = exactly(second, first), np.full((1, 6), 1.0)
    image = made.image(Interval(-point, point))
    for row, low, high in zip(exact, image.low[0], image.high[0], strict=True):
        assert Fraction(high) - Fraction(low) >= 2 * sum(row, Fraction(0))
    assert (made.through([point]).scale >= (abs(second) @ (abs(first) @ point[0]))).all()


def test_rests_through_chains_are_no_more_than_through_each_layer() -> None:
    rng = np.random.default_rng(4)
    network = bounds.read(stream(rng))
    region = Ball(rng.uniform(-1, 1, (5, 4, 3, 1)), np.linspace(0, 0.1, 5), "2")
    chained, separate = Bounds(network, region, "forward"), Bounds(apart(network), region, "forward")
    for name in network.read_by_curves:
        one, other = chained.intervals[name], separate.intervals[name]
        assert (one.radius <= other.radius * (1 + 1e-9) + 1e-12).all()
    lines: FloatArray = np.broadcast_to([[[1.0, -1.0, 0.0]]], (5, 1, 3))
    gained = chained.least(lines) - separate.least(lines)
    assert (gained >= -1e-9).all()
    assert gained.max() > 0.01


@pytest.mark.parametrize("make", [stream, attention])
def test_forms_reach_what_lines_all_the_way_do(make: Callable[[np.random.Generator], Graph]) -> None:
    """Of small regions."""
    rng = np.random.default_rng(5)
    graph = make(rng)
    network, x = bounds.read(graph), rng.uniform(-1, 1, (4, *graph.input.shape))
    labels = network.run(x).argmax(axis=1)

    def around(radii: FloatArray, samples: NDArray[np.int64]) -> Ball:
        return Ball(x[samples], radii, "2")

    forward, crown = (
        bounds.furthest(network, around, labels, 2.0, method, steps=256) for method in ("forward", "crown")
    )
    assert crown.min() > 0
    assert (forward >= 0.8 * crown).all(), (forward, crown)


@pytest.mark.parametrize("norm", ["inf", "2", "1"])
def test_margins_by_the_last_forms(norm: Norm) -> None:
    """No point has less, and what is bounded by both has the larger."""
    rng = np.random.default_rng(7)
    network = bounds.read(stream(rng))
    x = rng.uniform(-1, 1, (4, *network.input_shape))
    lines = rng.standard_normal((4, 5, math.prod(network.shapes[network.output])))
    region = Ball(x, rng.uniform(0.01, 0.3, 4), norm)
    made = Bounds(network, region, "forward")
    neck, both = made._neck, made.least(lines)
    assert neck is not None
    made._neck = None
    assert (both >= made.least(lines)).all()
    for _ in range(300):
        outputs = network.run(region.drawn(rng))
        assert (np.einsum("nso,no->ns", lines, outputs) >= both).all()
    some = rng.standard_normal((4, 5, *neck.shape))
    found = made._by_forms(neck, some)
    for _ in range(300):
        values = network.values(region.drawn(rng))[neck.name]
        assert ((some * values[:, np.newaxis]).reshape(4, 5, -1).sum(axis=2) >= found).all()


@pytest.mark.parametrize("norm", ["inf", "2", "1"])
def test_what_slopes_come_to_is_known_behind_bands(norm: Norm, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, reach, known = np.random.default_rng(8), Ball.reach, list[FloatArray]()

    def compared(self: Ball, forms: Forms, *rest: Any) -> tuple[Interval, FloatArray]:
        if forms.most is not None:
            _, most = reach(self, Forms(*(each.copy() for each in forms[:4])))
            known.append(forms.most)
            assert (most <= forms.most * (1 + 1e-13)).all()
            assert (most >= forms.most * (1 - 1e-13)).all()
        return reach(self, forms, *rest)

    monkeypatch.setattr(Ball, "reach", compared)
    network = bounds.read(stream(rng))
    Bounds(network, Ball(rng.uniform(-1, 1, (3, *network.input_shape)), np.full(3, 0.2), norm), "forward")
    assert known
