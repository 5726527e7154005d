"""Relations that are proven in one way: none of them takes a check of another for its own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.circuits.support import challenged
from tests.circuits.test_uniqueness import assert_unique
from zenserve.circuits.lowering import Level, Lowering, arithmetic, best_plan
from zenserve.circuits.lowering.clamps import Uncut
from zenserve.circuits.lowering.cost import Cost
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import Weighted
from zenserve.relations.bounds import Bound
from zenserve.relations.functions import Requantisation
from zenserve.relations.relation import (
    Absolute,
    Lookup,
    MatMul,
    MatrixProduct,
    Parameter,
    Relation,
    Relations,
    Tensor,
    Term,
)


@pytest.mark.parametrize("signed", [(0,), (1,), (0, 1), ()])
def test_layers_of_one_weight_are_bounded_by_their_own_absolute_values_alone(signed: tuple[int, ...]) -> None:
    weight = Parameter(
        "dense/weight",
        (6, 4),
        Bound.of(-8, 7, "range"),
        values=np.random.default_rng(1).integers(-8, 8, (6, 4)),
        privacy="private",
    )
    zeros = np.zeros(6, np.int64)
    bias = Parameter("dense/bias", (6,), Bound.of(0, 1, "range"), values=zeros, privacy="private")
    function, relations, given = (
        Requantisation(np.array([1]), 0, 2, -500, 500),
        list[Relation](),
        list[Tensor](),
    )
    for place in range(2):
        x = Tensor(f"input/{place}", (1, 4), Bound.of(0, 15), 4)
        sums = Tensor(f"sums{place}", (1, 6), Bound.of(-480, 421))
        out = Tensor(f"out{place}", (1, 6), Bound.of(-120, 105))
        name = f"dense{place}"
        relations += [MatMul(name, sums, Term(x), weight, bias), Lookup(name, out, sums, function)]
        if place in signed:
            absolute = Tensor(f"absolute{place}", (1, 6), Bound.of(0, 120))
            relations.append(Absolute(absolute.name, absolute, out))
        given.append(x)
    builder = Builder()
    tools = arithmetic(builder, 5)
    network = Relations(tuple(given), tuple(relations), (out,))
    plan = best_plan(tools, network, 5, Cost())
    lowering = Lowering(tools, network, 5, plan)
    for x in given:
        wires = tools.chosen(x.name, 4)
        tools.ranged(x.name, Weighted.wires(wires), 4)
        lowering.hold(x, wires)
    lowering.lower()
    by_absolute = {
        place
        for place in range(2)
        if isinstance(clamp := plan.ways[f"dense{place}"].clamp, Uncut) and clamp.absolute is not None
    }
    assert by_absolute == {*signed}
    program = builder.program()
    z = program.assign({x.name: np.arange(4) + 5 * place for place, x in enumerate(given)})
    assert_unique(program, challenged(program, z))


@pytest.mark.parametrize("level", [4, 5])
def test_sums_beyond_what_range_checks_hold_are_not_packed(level: Level) -> None:
    left, right = (
        Tensor(name, (1, 1, *shape), Bound.of(0, 1 << 29)) for name, shape in (("l", (1, 16)), ("r", (16, 9)))
    )
    out = Tensor("o", (1, 1, 1, 9), Bound.of(-(1 << 60), 1 << 62))
    product = MatrixProduct("product", out, Term(left), Term(right))
    plan = best_plan(
        arithmetic(Builder(), level), Relations((left, right), (product,), (out,)), level, Cost()
    )
    assert not any("packing" in str(way) for way, _ in plan.explanation["product"])
