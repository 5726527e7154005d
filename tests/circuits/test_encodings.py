"""Every way to prove a layer, forced: honest provers pass at its exact cost, and slots are played in vain."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.circuits.support import R, answered, completed, first_violation, forced, forge, unnoticed
from tests.refusals import refuses
from zenserve import kernels
from zenserve.circuits import Inference, QuantGraph, compile_inference
from zenserve.circuits.graphs.node import QuantNode
from zenserve.circuits.graphs.types import Affine, Rescale, WeightType
from zenserve.circuits.lowering import Level
from zenserve.circuits.lowering.clamps import ByParts, BySign, ByTable, Joined, Whole
from zenserve.circuits.lowering.encodings import Checked, Hidden, Packed, Stranded, Wires, exponents, layer_of
from zenserve.circuits.lowering.optimiser import Way
from zenserve.circuits.lowering.tables import Tables
from zenserve.circuits.operators.clip import Requantise
from zenserve.circuits.operators.convolution import QuantConv
from zenserve.circuits.operators.dense import QuantDense
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.r1cs.builder import FR, Builder
from zenserve.circuits.r1cs.linear import Linear, LinearCombinations, Weighted
from zenserve.circuits.r1cs.sources import Known, Source
from zenserve.circuits.r1cs.table import Table
from zenserve.circuits.schemes import inference
from zenserve.circuits.schemes.registration import compile_registration
from zenserve.errors import ModelError
from zenserve.relations.bounds import slot_width
from zenserve.relations.integers import INTEGER_LIMIT, IntArray, Interval
from zenserve.verifier.schemes import Privacy

NODE = "layer"


def weights_of(seed: int, *shape: int, bits: int = 2) -> tuple[np.ndarray, WeightType, IntArray]:
    rng = np.random.default_rng(seed)
    kind = WeightType(np.ones(shape[0]), rng.integers(0, 1 << bits, shape[0]), bits)
    return rng.integers(0, 1 << bits, shape, dtype=np.uint8), kind, rng.integers(-4, 4, shape[0])


@cache
def network(kind: str) -> QuantGraph:
    """A layer of five channels, which no group divides, rescaled by channel into [1, 6] of 3 bits, and a
    layer without type."""
    of_input, of_layer = Affine(1.0, 1, 2), Affine(1.0, 2, 3)
    multiplier = np.array([3, 1, 2, 3, 1])
    nodes: list[QuantNode] = []
    if kind == "conv":
        rescale = Rescale(multiplier.reshape(5, 1, 1), 2, of_layer, 1, 6)
        padding = (1, 0, 0, 0)
        nodes.append(QuantConv(NODE, ("x",), *weights_of(3, 5, 1, 2, 2), (1, 2), padding, rescale=rescale))
        nodes.append(Reshape("flat", (NODE,), (10,)))
        shape: tuple[int, ...] = (1, 2, 3)
    else:
        rescale = Rescale(multiplier, 2, of_layer, 1, 6)
        nodes.append(QuantDense(NODE, ("x",), *weights_of(4, 5, 3), rescale=rescale))
        shape = (3,)
    size = 10 if kind == "conv" else 5
    nodes.append(QuantDense("logits", (nodes[-1].name,), *weights_of(5, 3, size)))
    return QuantGraph.of("x", shape, of_input, tuple(nodes), "logits")


def inputs(graph: QuantGraph) -> list[IntArray]:
    rng, top = np.random.default_rng(7), graph.input.type.top
    q = rng.integers(0, top + 1, graph.input.shape)
    return [q, np.zeros(graph.input.shape, np.int64), np.full(graph.input.shape, top)]


@dataclass(frozen=True)
class Equation:
    """A call of ``Source.equate``; ``other`` over the builder's wires."""

    source: Source
    name: str
    other: Linear
    interval: Interval

    def slots(self) -> tuple[int, IntArray, IntArray]:
        """The width of a slot; for each row the field element that it is in, and its slot there."""
        row = np.arange(self.source.rows)
        if isinstance(self.source, Known):
            width = slot_width(self.source.interval, self.interval)
            return width, *np.divmod(row, FR.bits // width)
        assert isinstance(self.source, Hidden)
        layer, encoding = self.source.layer, self.source.encoding
        if isinstance(encoding, Stranded):
            found = exponents(encoding.count)
            group, strand = np.divmod(row, encoding.count)
            return encoding._width(layer, self.interval), group, np.add(found.left, found.right)[strand]
        assert isinstance(encoding, Packed | Checked)
        width, size, _ = encoding.slots(layer, self.interval)
        output, position = np.divmod(row, layer.positions)
        group, slot = np.divmod(output, size)
        return width, group * layer.positions + position, slot


@contextmanager
def recorded(equations: list[Equation]) -> Iterator[None]:
    def recorder(kind: type[Known] | type[Hidden]) -> object:
        honest = kind.equate

        def equate(self: Source, name: str, other: LinearCombinations, interval: Interval) -> None:
            equations.append(Equation(self, name, other.whole(), interval))
            honest(self, name, other, interval)  # type: ignore[arg-type]

        return patch.object(kind, "equate", equate)

    with recorder(Known), recorder(Hidden):  # type: ignore[attr-defined]
        yield


@dataclass(frozen=True)
class Case:
    kind: str
    level: Level
    weights: Privacy
    way: Way

    @property
    def graph(self) -> QuantGraph:
        return network(self.kind)

    def __str__(self) -> str:
        clamp = type(self.way.clamp).__name__ if self.way.clamp else "digits"
        held = f"{self.way.encoding}-{'rescaled' if self.way.scaled else 'sums'}"
        return f"{self.kind}-{self.level}-{self.weights}-{held}-{clamp}".replace(" ", "_")


@cache
def explained(kind: str, level: Level, weights: Privacy) -> dict[Way, int]:
    plan = compile_inference(network(kind), weight_privacy=weights, level=level).plan
    return dict(plan.explanation[NODE])


SETTINGS: list[tuple[Level, Privacy]] = [
    (3, "private"),
    (4, "private"),
    (5, "private"),
    (5, "committed"),
    (5, "public"),
]
CASES = [
    Case(kind, level, weights, way)
    for kind in ("conv", "dense")
    for level, weights in SETTINGS
    for way in explained(kind, level, weights)
]
# A dense layer differs where its products are checked at a challenge.
ATTACKED = [case for case in CASES if case.kind == "conv" or isinstance(case.way.encoding, Checked)]


@cache
def compiled(case: Case) -> tuple[Inference, list[Equation]]:
    """The circuit, and the layer's equations in it."""
    equations: list[Equation] = []
    with forced(inference, {NODE: case.way}), recorded(equations):
        circuit = compile_inference(case.graph, weight_privacy=case.weights, level=case.level)
    return circuit, [equation for equation in equations if equation.name.startswith(f"{NODE}/")]


def violated(circuit: Inference, z: IntArray) -> Counter[str]:
    """How many rows of each block the assignment violates, with random challenges."""
    system = circuit.constraint_system
    a, b, c = system.evaluate(answered(circuit.program, z))
    bad = (kernels.fr.mul(a, b) != c).any(axis=1)
    names = [block.name for block in system.blocks for _ in range(block.rows)]
    return Counter(names[row] for row in np.flatnonzero(bad).tolist())


def says(equation: Equation, noticed: Counter[str]) -> bool:
    """Whether rows that state the equation are among those, and not only such as say what is in range."""
    return any(name == equation.name or "/product" in name for name in noticed)


def test_all_encodings_and_clamps_are_there() -> None:
    encodings = {(type(case.way.encoding), case.way.scaled, case.level) for case in CASES}
    for encoding, level in ((Stranded, 3), (Packed, 4), (Packed, 5), (Checked, 5)):
        assert {(encoding, False, level), (encoding, True, level)} <= encodings
    assert {case.way.encoding.count for case in CASES if isinstance(case.way.encoding, Stranded)} == {2, 3, 4}
    assert {type(case.way.clamp) for case in CASES} == {
        *(type(None), Whole, Joined, ByTable, ByParts, BySign)
    }


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_way_costs_what_was_said_and_honest_provers_pass(case: Case) -> None:
    circuit, _ = compiled(case)
    rows = explained(case.kind, case.level, case.weights)[case.way]
    assert circuit.constraint_system.constraints == rows
    for q in inputs(case.graph):
        z = circuit.assign(q)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        assert z[circuit.layout["label"][0]] == case.graph.execute(q).label


@pytest.mark.parametrize("case", ATTACKED, ids=str)
def test_every_wire_that_lies_is_refused(case: Case) -> None:
    """Told of one wire of the layer, when the challenges are known already, and all others as they were."""
    circuit, _ = compiled(case)
    z = completed(circuit, circuit.assign(inputs(case.graph)[0]))
    # Committed weights are bound from outside: in a proof one that meets a zero has no effect.
    free = ("/weight", "/bias") if case.weights == "committed" else ()
    wires = [
        wire
        for name, group in circuit.layout.items()
        for wire in group.ravel().tolist()
        if not name.endswith(free) and not (name.endswith("/slack") and z[wire] == 0)
    ]
    lies = [(wire, lie) for wire in wires for lie in (z[wire] + 1, (z[wire] + (R + 1) // 2) % R)]
    assert unnoticed(circuit.constraint_system, z, lies) == []


def moved(equation: Equation, row: int, by: int) -> dict[int, int]:
    """Wires of ``other`` in this row, and by how much to move them so that the row moves: the wire of the
    largest coefficient that does."""
    entries = np.flatnonzero(equation.other.row == row)
    columns, values = equation.other.column[entries], equation.other.value[entries]
    fitting = [
        (abs(int(value)), int(column), by // int(value))
        for column, value in zip(columns, values, strict=True)
        if column and by % int(value) == 0
    ]
    _, column, change = max(fitting)
    return {column: change}


def told(circuit: Inference, q: IntArray, moves: dict[int, int]) -> Counter[str]:
    """The rows that notice when wires, by the builder's numbers, are moved, and later ones follow."""
    order, honest = circuit.program.order, circuit.assign(q)
    overrides = {int(order[wire]): int(honest[order[wire]]) + by for wire, by in moves.items()}
    return violated(circuit, forge(circuit, q, overrides))


@pytest.mark.parametrize("case", ATTACKED, ids=str)
def test_a_wrong_slot_is_refused(case: Case) -> None:
    circuit, equations = compiled(case)
    q = inputs(case.graph)[0]
    for equation in equations:
        for row in (0, equation.source.rows - 1):
            for by in (1, -1):
                assert says(equation, told(circuit, q, moved(equation, row, by)))


@pytest.mark.parametrize("case", ATTACKED, ids=str)
def test_overflow_into_another_slot_is_refused_by_the_ranges_alone(case: Case) -> None:
    """2^w too much in one slot is 1 too little in the next: no equation can tell."""
    circuit, equations = compiled(case)
    q = inputs(case.graph)[0]
    for equation in equations:
        width, element, slot = equation.slots()
        last = element[-1]
        for group in {0, int(last)}:
            rows = np.flatnonzero(element == group)
            rows = rows[np.argsort(slot[rows])].tolist()
            for lower, upper in itertools.pairwise(rows):
                step = 1 << width * int(slot[upper] - slot[lower])
                if step >= INTEGER_LIMIT:
                    continue
                for sign in (1, -1):
                    moves = moved(equation, lower, sign * step) | moved(equation, upper, -sign)
                    noticed = told(circuit, q, moves)
                    assert noticed
                    assert not says(equation, noticed), noticed


STRANDED = [case for case in CASES if isinstance(case.way.encoding, Stranded)]


@pytest.mark.parametrize("case", STRANDED, ids=str)
def test_overflow_into_what_falls_between_is_refused_by_the_ranges_alone(case: Case) -> None:
    circuit, (equation, *_) = compiled(case)
    encoding, source = case.way.encoding, equation.source
    assert isinstance(encoding, Stranded)
    assert isinstance(source, Hidden)
    found = exponents(encoding.count)
    width, _, slot = equation.slots()
    between = np.argsort(circuit.program.order)[circuit.layout[f"{NODE}/between"]]
    carried = 0
    for index, place in enumerate(found.between):
        for row in np.flatnonzero(slot[: encoding.count] == place + 1).tolist():
            moves = {int(between[0, index]): 1 << width} | moved(equation, row, -1)
            noticed = told(circuit, inputs(case.graph)[0], moves)
            assert noticed
            assert not says(equation, noticed), noticed
            carried += 1
        for row in np.flatnonzero(slot[: encoding.count] == place - 1).tolist():
            moves = {int(between[0, index]): 1} | moved(equation, row, -1 << width)
            noticed = told(circuit, inputs(case.graph)[0], moves)
            assert noticed
            assert not says(equation, noticed), noticed
            carried += 1
    assert carried


LOOKED_UP = [case for case in CASES if case.way.clamp is not None and case.kind == "conv"]


@pytest.mark.parametrize("case", LOOKED_UP, ids=str)
def test_an_invented_entry_and_shifted_multiplicities_are_refused(case: Case) -> None:
    circuit, _ = compiled(case)
    q = inputs(case.graph)[0]
    z, names = circuit.assign(q), circuit.layout
    tables = [name for name in names if name.endswith("/multiplicity")]
    assert tables
    for name in tables:
        first, last = (int(names[name][index]) for index in (0, -1))
        for lie in ({first: 1}, {last: -1}, {first: 1, last: -1}):
            shifted = z.copy()
            for wire, by in lie.items():
                shifted[wire] += by
            table = name.removesuffix("/multiplicity")
            assert set(violated(circuit, shifted)) == {f"{table}/sum"}
    if isinstance(case.way.clamp, ByParts):
        entries = [{f"{NODE}/inside": 1}, {f"{NODE}/above": 1}, {f"{NODE}/inside": -1, f"{NODE}/above": 1}]
        entries.append({f"{NODE}/upper": 2 << case.way.clamp.upper_bits})
    elif isinstance(case.way.clamp, BySign):
        flipped = 1 - 2 * int(z[names[f"{NODE}/sign"][0]])
        entries = [{f"{NODE}/cap/chosen": 1}, {f"{NODE}/sign": flipped}]
    else:
        entries = [{f"{NODE}/out": 1}, {f"{NODE}/out": -1}, {f"{NODE}/out": 8}]
    for entry in entries:
        overrides = {int(names[name][0]): int(z[names[name][0]]) + by for name, by in entry.items()}
        noticed = violated(circuit, forge(circuit, q, overrides))
        assert any(name.endswith("/sum") for name in noticed)


@pytest.mark.parametrize("loose", ["x", "weight", "bias", "claim"])
def test_what_a_challenge_checks_must_be_committed(loose: str) -> None:
    for kind in ("conv", "dense"):
        graph = network(kind)
        related = TypedGraph(graph, "private", "private").relations
        first = related.layers[0]
        layer = layer_of(first, related.lookups[first.out], FR)
        assert layer is not None
        builder = Builder()
        tools = Tables(builder)
        shapes = {
            "x": graph.input.shape,
            "weight": (layer.kernel.outputs, layer.taps),
            "bias": (layer.kernel.outputs,),
            "claim": (layer.rows,),
        }
        wires = {
            name: (builder.private if name == loose else builder.auxiliary)(name, *shape)
            for name, shape in shapes.items()
        }
        operands = Wires(wires["x"].ravel(), wires["weight"], wires["bias"])
        claim = Weighted.wires(wires["claim"])
        Hidden(tools, Checked(), layer, operands, []).equate("test", claim, layer.interval)
        with refuses("statement.adaptive"):
            builder.program()


@pytest.mark.parametrize("index", [0, 1])
def test_what_is_looked_up_must_be_committed(index: int) -> None:
    builder = Builder()
    wires = [builder.auxiliary("a", 2), builder.auxiliary("b", 2)]
    wires[index] = builder.private("loose", 2)
    table = Table("squares", np.array([[0, 0], [1, 1], [2, 4]]))
    Tables(builder).look_up("test", table, [Weighted.wires(each) for each in wires])
    with refuses("statement.adaptive"):
        builder.program()


@pytest.mark.parametrize("count", [2, 3, 4])
def test_no_other_pair_of_strands_meets_a_sum(count: int) -> None:
    found = exponents(count)
    sums = np.add.outer(found.left, found.right)
    useful, others = np.diag(sums).tolist(), sums[~np.eye(count, dtype=np.bool_)].tolist()
    assert len(set(useful)) == count
    assert not set(useful) & set(others)
    assert set(others) == set(found.between)
    assert max(Counter(others).values()) == found.most
    assert 0 <= sums.min() <= sums.max() < found.slots


@given(st.data())
def test_slots_hold_whatever_the_types_allow(data: st.DataObject) -> None:
    """By the extreme weights, inputs and biases of the types, in Python integers."""
    draw = data.draw
    outputs, taps, bits = draw(st.integers(1, 9)), draw(st.integers(1, 40)), draw(st.integers(2, 8))
    top = (1 << bits) - 1
    zeros = np.array(draw(st.lists(st.integers(0, top), min_size=outputs, max_size=outputs)))
    x = Affine(1.0, draw(st.integers(0, top)), bits)
    bias_bits = draw(st.integers(1, 20))
    bias = np.full(outputs, -(1 << bias_bits))
    factors = np.array(draw(st.lists(st.integers(1, 1 << 20), min_size=outputs, max_size=outputs)))
    rescale = Rescale(factors, draw(st.integers(0, 20)), Affine(1.0, 3, 3), 1, 6)
    weight = np.zeros((outputs, taps), np.uint8)
    kind = WeightType(np.ones(outputs), zeros, bits)
    dense = QuantDense(NODE, ("x",), weight, kind, bias, rescale=rescale)
    following = QuantDense("y", (NODE,), *weights_of(1, 2, outputs))
    typed = TypedGraph(QuantGraph.of("x", (taps,), x, (dense, following), "y"), "private", "private")
    related = typed.relations
    first = related.layers[0]
    for scale in (None, related.lookups[first.out]):
        layer = layer_of(first, scale, FR)
        assert layer is not None
        factor = factors.tolist() if scale else [1] * outputs
        ends = []
        for zero, each in zip(zeros.tolist(), factor, strict=True):
            most = max(w * v for w in (-zero, top - zero) for v in x.centred) * taps
            least = min(w * v for w in (-zero, top - zero) for v in x.centred) * taps
            offset = rescale.offset if scale else 0
            ends += [
                each * (least - (1 << bias_bits)) + offset,
                each * (most + (1 << bias_bits) - 1) + offset,
            ]
        assert layer.interval[0] <= min(ends)
        assert max(ends) <= layer.interval[1]
        other = draw(st.integers(-(1 << 50), 0)), draw(st.integers(1, 1 << 50))
        furthest = max(max(ends) - other[0], other[1] - min(ends))
        width, size, groups = Packed().slots(layer, other)
        assert furthest < 1 << width
        assert size * groups >= outputs
        assert (1 << width * size) <= 1 << FR.bits < R
        for count in (2, 3, 4):
            strands = Stranded(count)
            if strands.fits(layer, other):
                found, width = exponents(count), strands._width(layer, other)
                most = max(
                    each * abs(w * v)
                    for zero, each in zip(zeros.tolist(), factor, strict=True)
                    for w, v in itertools.product((-zero, top - zero), x.centred)
                )
                reach = found.most * taps * most
                claimed = -reach + (1 << strands._bits(layer)) - 1
                assert max(furthest, reach + claimed, 2 * reach) < 1 << width
                assert claimed >= reach
                highest = int(np.add.outer(found.left, found.right).max())
                assert width * (highest + 1) <= FR.bits


def of_one_weight(node: QuantNode, size: int, kind: Affine, *before: QuantNode) -> QuantGraph:
    nodes = (*before, node, Reshape("flat", (node.name,), (size,)))
    last = QuantDense("last", ("flat",), *weights_of(1, 2, size))
    return QuantGraph.of("x", (size,), kind, (*nodes, last), "last")


def test_any_number_of_tables_may_be_in_use() -> None:
    """More than any cache of tables holds, the last the same as the first."""
    kind = Affine(1.0, 0, 4)
    clamps = list(itertools.product((4, 5, 6, 7), range(5), range(7, 12)))
    clamps.append(clamps[0])
    nodes: list[QuantNode] = []
    for index, (multiplier, low, high) in enumerate(clamps):
        rescale = Rescale(np.array([multiplier]), 2, kind, low, high)
        nodes.append(Requantise(f"r{index}", (nodes[-1].name if nodes else "x",), rescale=rescale))
    circuit = compile_inference(of_one_weight(nodes[-1], 100, kind, *nodes[:-1]))
    assert circuit.constraint_system.constraints == circuit.plan.rows


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("level", [3, 4, 5])
def test_strands_that_do_not_fit_are_not_chosen(level: Level, groups: int) -> None:
    """Sums within 2^60, while those of several strands exceed 62 bits."""
    kind, channels = Affine(1.0, 0, 8), 4
    weight = np.full((channels, channels // groups, 5, 5), 200, np.uint8)
    for multiplier in (1 << 36, 1 << 37, 5 << 36, 3 << 37, 7 << 36, 1 << 39):
        rescale = Rescale(np.array([multiplier]), 44, kind, 0, 255)
        of_weight = WeightType(np.ones(1), np.zeros(1, np.int64), 8)
        bias, inside = np.zeros(channels, np.int64), (0, 0, 0, 0)
        conv = QuantConv(NODE, ("image",), weight, of_weight, bias, (1, 1), inside, groups, rescale=rescale)
        image = Reshape("image", ("x",), (channels, 5, 5))
        flat = Reshape("flat", (NODE,), (channels,))
        last = QuantDense("last", ("flat",), *weights_of(1, 2, channels))
        try:
            graph = QuantGraph.of("x", (25 * channels,), kind, (image, conv, flat, last), "last")
        except ModelError:
            continue
        circuit = compile_inference(graph, weight_privacy="private", level=level)
        assert circuit.constraint_system.constraints == circuit.plan.rows


def test_a_table_of_another_layer_is_used_only_where_its_quotients_fit() -> None:
    kind, size = Affine(1.0, 0, 8), 40000
    wide = Requantise("wide", ("x",), rescale=Rescale(np.array([33 * 16]), 4, kind, 0, 255))
    high = Requantise("high", ("wide",), rescale=Rescale(np.array([3 << 49]), 50, kind, 0, 255))
    circuit = compile_inference(of_one_weight(high, size, kind, wide))
    assert circuit.constraint_system.constraints == circuit.plan.rows


def test_quotients_of_many_bits_take_no_table_of_their_size() -> None:
    kind = Affine(1.0, 0, 8)
    node = Requantise(NODE, ("x",), rescale=Rescale(np.array([1 << 20]), 4, kind, 0, 255))
    graph = of_one_weight(node, 4, kind)
    rows = [compile_inference(graph, level=level).constraint_system.constraints for level in (2, 5)]
    assert rows[1] < 10 * rows[0]


def test_the_smallest_network_can_be_committed_to() -> None:
    weight, bias = np.ones((2, 1), np.uint8), np.array([0, 1])
    of_weight = WeightType(np.ones(1), np.zeros(1, np.int64), 2)
    dense = QuantDense("dense", ("x",), weight, of_weight, bias)
    graph = QuantGraph.of("x", (1,), Affine(1.0, 1, 2), (dense,), "dense")
    circuit = compile_inference(graph, weight_privacy="committed")
    z = completed(circuit, circuit.assign(np.array([3])))
    assert first_violation(circuit.constraint_system, z) is None
    assert compile_registration(graph) is not None
