"""Certificates of pools, groups and tables: lines that hold everywhere, margins that no input of a box is
below whatever lines are chosen, and no other line, entry or row of a table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import pytest

from tests.circuits.support import refused, violation
from tests.circuits.test_relations import agree
from tests.circuits.test_robustness import drawn_lines, insisting, prove_and_lie
from zenserve.circuits import QuantGraph, Robustness, compile_robustness, zoo
from zenserve.circuits.certificates import backwards
from zenserve.circuits.certificates.largest import Largest
from zenserve.circuits.certificates.looked import Looked
from zenserve.circuits.certificates.pools import FINE, Windows, picked
from zenserve.circuits.certificates.rescaled import Rescaled
from zenserve.circuits.certificates.tables import Cells
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.networks import language
from zenserve.circuits.operators.activation import Activation
from zenserve.circuits.operators.filled import Filled
from zenserve.circuits.operators.gather import Gather
from zenserve.circuits.operators.leaky_relu import LeakyRelu
from zenserve.circuits.quantisation.quantiser import quantise
from zenserve.circuits.schemes.robustness import require_certificates
from zenserve.relations.functions import Tabulation
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import Sliding
from zenserve.relations.relation import Product, Tensor
from zenserve.verifier.schemes import Norm, Privacy

Kind = TypeVar("Kind", Looked, Largest)
SILU = "x * sigmoid(x)"
STEPS = np.repeat([3, 200, 7], [100, 4, 152])


@pytest.mark.parametrize(
    ("values", "first", "zero_points"),
    [
        (np.rint(127 + 127 * np.tanh(np.linspace(-3, 3, 256))), 0, (128, 127)),
        (np.random.default_rng(0).integers(0, 256, 256), 0, (3, 200)),
        (np.random.default_rng(1).integers(0, 9, 11), -4, (0, 0)),
        (np.rint(9 * np.sin(np.arange(1000) / 90)) + 9, 7, (500, 9)),
        (STEPS, 0, (0, 7)),
        (np.full(16, 3), 0, (0, 1)),
        (np.array([5]), 2, (1, 2)),
    ],
)
def test_lines_of_tables_hold_at_every_integer(
    values: IntArray, first: int, zero_points: tuple[int, int]
) -> None:
    function = Tabulation(values.astype(np.int64), first)
    cells = Cells(function, zero_points)
    rows, coarse = cells.rows, cells.scale - cells.fine
    x = first + np.arange(len(values))
    assert len(rows.first) == cells.count * (cells.count + 1) // 2
    assert (cells.row(rows.first, rows.last) == np.arange(len(rows.first))).all()
    for row in np.random.default_rng(2).integers(0, len(rows.first), 300):
        inside = x[(rows.first[row] <= cells.cell(x)) & (cells.cell(x) <= rows.last[row])]
        made = function.apply(inside)
        assert (rows.least[row], rows.most[row]) == (made.min(), made.max())
        q, c = made - zero_points[1] << cells.scale, inside - zero_points[0]
        assert (rows.low_slope[row] * c + (rows.low_offset[row] << coarse) <= q).all()
        assert (rows.high_slope[row] * c + (rows.high_offset[row] << coarse) >= q).all()


def test_lines_of_a_table_are_no_constants() -> None:
    """Over an interval on which a tanh only bends one way, lines are near each other."""
    values = np.rint(127 + 127 * np.tanh(np.linspace(-3, 3, 128))).astype(np.int64)
    cells = Cells(Tabulation(values), (0, 0))
    rows, x = cells.rows, np.arange(70, 90)
    row = int(cells.row(np.array([70]), np.array([89]))[0])
    above, below = (
        slope[row] * x + (offset[row] << cells.scale - cells.fine)
        for slope, offset in ((rows.high_slope, rows.high_offset), (rows.low_slope, rows.low_offset))
    )
    assert (above - below).max() / 2**cells.scale < 12
    assert np.ptp(values[x]) > 40


@pytest.mark.parametrize(
    "sliding",
    [
        Sliding((2, 4, 4), (2, 2), (2, 2)),
        Sliding((1, 5, 4), (3, 2), (2, 1), (1, 0, 1, 1)),
        Sliding((1, 6), (3,), (1,), (2, 2)),
        Sliding((3, 3), (1,), (2,), (0, 0)),
    ],
)
def test_lines_over_the_largest_hold(sliding: Sliding) -> None:
    windows, rng = Windows(sliding), np.random.default_rng(0)
    size = int(np.prod(sliding.image))
    least = rng.integers(0, 200, (40, size))
    most = least + rng.choice([0, 1, 9, 50], least.shape)
    found = picked(windows, least, most)
    entries, there = windows.entries, windows.entries >= 0
    assert (found.place < windows.counts).all()
    assert ((found.slope >= 0) & (found.slope <= 1 << FINE) & (found.offset >= 0)).all()
    for _ in range(200):
        x = rng.integers(least, most + 1)
        q = np.where(there, x[:, entries], -1).max(axis=1)
        own = np.take_along_axis(x[:, entries], found.place[:, None], 1)[:, 0]
        assert (own <= q).all()
        assert (found.slope * own + found.offset >= q << FINE).all()
    # Each entry of a window is read from there, and from nowhere else.
    read = sorted(
        (int(place), entry) for each in windows.readers for entry, place in enumerate(each) if place >= 0
    )
    assert read == [(place, int(entry)) for place, entry in enumerate(entries.ravel()) if entry >= 0]


def small(kind: str, seed: int = 0, bits: int = 5) -> QuantGraph:
    """Of four inputs or fewer, so that all of a box can be tried."""
    rng = np.random.default_rng(seed)

    def weight(*shape: int) -> FloatArray:
        drawn: FloatArray = 1.5 * rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))
        return drawn

    match kind:
        case "tanh" | "sine" | "silu":
            function = {"tanh": "tanh(x)", "sine": "sin(2.0 * x)", "silu": SILU}[kind]
            x = language.tensor("x", 3).dense(weight(3, 3), rng.normal(size=3)).then(Activation, function)
        case "twice":
            x = language.tensor("x", 3).then(Activation, "tanh(x)").dense(weight(3, 3)).then(Activation, SILU)
        case "leaky":
            x = language.tensor("x", 3).dense(weight(3, 3), rng.normal(size=3)).then(LeakyRelu, 0.25)
        case "pooled":
            x = language.tensor("x", 1, 1, 4).conv(weight(2, 1, 1, 2), rng.normal(size=2)).clip(-1, 2)
            x = x.max_pool((1, 2), 1).flatten()
        case "padded":
            x = language.tensor("x", 1, 2, 2).conv(weight(2, 1, 1, 1), rng.normal(size=2)).clip(-1, 2)
            x = x.max_pool((2, 2), 1, (1, 0, 0, 1)).flatten()
        case "at once":
            x = language.tensor("x", 1, 2, 2).max_pool((1, 2)).flatten()
        case "grouped":
            x = (
                language.tensor("x", 2, 1, 2)
                .conv(weight(4, 1, 1, 2), rng.normal(size=4), groups=2)
                .relu()
                .flatten()
            )
        case "depthwise":
            x = (
                language.tensor("x", 2, 1, 2)
                .conv(weight(2, 1, 1, 1), rng.normal(size=2)[:2], groups=2)
                .relu()
            )
            x = x.conv(weight(4, 2, 1, 2), stride=1).relu()
            x = x.conv(weight(8, 2, 1, 1), groups=2).clip(-1, 1).flatten()
        case "residual":
            x = language.tensor("x", 3).dense(weight(4, 3), rng.normal(size=4)).clip(-1.5, 2)
            x = (x + x.dense(weight(4, 4)).relu()).clip(-2, 2.5)
        case "repeated":
            x = language.tensor("x", 3).then(Gather, np.array([2, 0, 2, 2])).dense(weight(4, 4)).clip(-1, 2)
            x = x.then(Gather, np.array([0, 3, 0, 1]))
        case "left out":
            x = language.tensor("x", 4).then(Gather, np.array([3, 1, 0])).dense(weight(4, 3)).relu()
            x = x.dense(weight(4, 4), rng.normal(size=4)).then(Gather, np.array([3, 0, 1])).clip(-2, 2)
        case "surrounded":
            x = language.tensor("x", 1, 1, 3).pad((0, 0), (1, 0), (0, 1)).average_pool((1, 2), 1)
            x = x.conv(weight(2, 1, 1, 2), rng.normal(size=2)).clip(-2, 1).pad((1, 0), (0, 0), (1, 1))
            x = x.max_pool((1, 2)).flatten()
        case "far beyond":
            x = (
                language.tensor("x", 1, 1, 3)
                .conv(weight(2, 1, 1, 2), stride=(1, 2), padding=(1, 3, 0, 3))
                .clip(-2, 1)
            )
            x = x.flatten()
        case "joined":
            x = language.tensor("x", 3)
            first = x.dense(weight(2, 3), rng.normal(size=2)).clip(-1, 1)
            x = (
                language.concat([first, x.dense(weight(2, 3)).clip(-1, 1), first])
                .dense(weight(3, 6))
                .clip(-1, 1)
            )
            x = language.concat([x, x])
        case "filled":
            x = language.tensor("x", 3).dense(weight(3, 3)).clip(-1, 1)
            x = (
                language.concat([x, x.then(Filled, (2,), 0.75)])
                .dense(weight(4, 5), rng.normal(size=4))
                .relu()
            )
        case _:
            raise AssertionError(kind)
    graph = x.dense(weight(3, x.shape[0])).graph()
    return quantise(graph, rng.normal(size=(50, *graph.input.shape)), bits)


TABLES, POOLS, GROUPS = (
    ["tanh", "sine", "silu", "twice", "leaky"],
    ["pooled", "padded", "at once"],
    ["grouped", "depthwise"],
)
MOVED = ["repeated", "left out", "surrounded", "far beyond", "joined", "filled"]
KINDS = [*TABLES, *POOLS, *GROUPS, *MOVED]


def whole_box(graph: QuantGraph, q: IntArray, radius: int) -> IntArray:
    """All its inputs."""
    top = graph.input.type.top
    ranges = [range(max(0, each - radius), min(top, each + radius) + 1) for each in q.ravel().tolist()]
    return np.array([*itertools.product(*ranges)]).reshape(-1, *q.shape)


def leads(graph: QuantGraph, q: IntArray, radius: int, norm: Norm = "inf") -> IntArray:
    """The least that any input of the box, or the ball, leaves of the label's lead over each of the
    others."""
    inputs = whole_box(graph, q, radius)
    if norm == "2":
        inputs = inputs[((inputs - q).reshape(len(inputs), -1) ** 2).sum(axis=1) <= radius**2]
    outputs = graph.run(inputs).reshape(-1, graph.classes)
    label = graph.execute(q).label
    found: IntArray = (outputs[:, [label]] - np.delete(outputs, label, axis=1)).min(axis=0)
    return found


def below(circuit: Robustness, z: IntArray, least: IntArray) -> bool:
    margins = z[circuit.layout["output/margins"].ravel()]
    return bool((np.ldexp(margins.astype(float), circuit.certificate.exponent) <= least).all())


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 4), marks=pytest.mark.large)])
@pytest.mark.parametrize(
    ("kind", "norm"),
    [
        *((kind, "inf") for kind in KINDS),
        *((kind, "2") for kind in [*MOVED, "grouped"]),
        *(pytest.param(kind, "2", marks=pytest.mark.large) for kind in [*TABLES, *POOLS, "depthwise"]),
    ],
)
def test_no_input_of_the_region_has_less_than_the_margins(kind: str, norm: Norm, seeds: range) -> None:
    for seed in seeds:
        circuit, rng = compile_robustness(small(kind, seed), norm=norm), np.random.default_rng(seed)
        graph, positive = circuit.qgraph, 0
        for _, radius in itertools.product(range(3), (0, 1, 3)):
            q = rng.integers(0, graph.input.type.top + 1, graph.input.shape)
            z, least = circuit.assign(q, radius), leads(graph, q, radius, norm)
            assert below(circuit, z, least)
            positive += radius == 0 and bool((circuit.margins(q, 0) > 0).all())
        assert positive


def certified(
    kind: str, weights: Privacy = "public", bits: int = 5, norm: Norm = "inf"
) -> tuple[Robustness, IntArray, int]:
    """A circuit, an input and a radius with a certificate."""
    rng = np.random.default_rng(1)
    for seed in range(20):
        circuit = compile_robustness(small(kind, seed, bits), weight_privacy=weights, norm=norm)
        graph = circuit.qgraph
        for _ in range(4):
            q = rng.integers(4, graph.input.type.top - 3, graph.input.shape)
            if (circuit.margins(q, 2) > 0).all():
                return circuit, q, 2
    raise AssertionError("no network has a certificate")


@pytest.mark.parametrize("weights", ["public", "private", "committed"])
@pytest.mark.parametrize(
    ("kind", "norm"),
    [("tanh", "inf"), ("padded", "inf"), ("depthwise", "inf"), ("surrounded", "inf"), ("joined", "2")],
)
def test_honest_witnesses_satisfy_rows_and_relations(kind: str, norm: Norm, weights: Privacy) -> None:
    circuit, q, radius = certified(kind, weights, norm=norm)
    assert violation(circuit, circuit.assign(q, radius)) is None
    assert circuit.constraint_system.constraints == circuit.plan.rows


def test_cells_of_several_integers() -> None:
    """Of 8 bits, which tables have by cells of two."""
    circuit, q, radius = certified("silu", bits=8)
    lines = of(circuit, Looked)
    assert lines.cells.width == 2
    assert violation(circuit, circuit.assign(q, radius)) is None
    assert circuit.constraint_system.constraints == circuit.plan.rows
    honest = circuit.assign(q, radius)
    for end, step in itertools.product(("first", "last"), (1, -1)):
        cell = f"{lines.name}/{end}"
        moved = honest[circuit.layout[cell].ravel()] + np.array([step, 0, 0])
        # With the row of these cells.
        lie = {cell: moved} | rows_of(circuit, lines, {**read(circuit, honest, lines), end: moved})
        assert "within" in str(violation(circuit, insisting(circuit, q, radius, lie)))


@pytest.mark.large
@pytest.mark.parametrize(
    ("kind", "weights"), [*zip(KINDS, itertools.cycle(("public", "private")), strict=False)]
)
@pytest.mark.parametrize("norm", ["inf", "2"])
def test_what_rows_accept_the_relations_accept(kind: str, norm: Norm, weights: Privacy) -> None:
    circuit, q, radius = certified(kind, weights, norm=norm)
    agree(circuit, circuit.assign(q, radius))


def of(circuit: Robustness, kind: type[Kind]) -> Kind:
    return next(each for each in circuit.certificate.lines if isinstance(each, kind))


def values_of(circuit: Robustness, z: IntArray, tensor: Tensor) -> IntArray:
    values: IntArray = z[circuit.program.order[circuit.wires[tensor].ravel()]]
    return values


def read(circuit: Robustness, z: IntArray, lines: Looked) -> dict[str, IntArray]:
    """Which cells the row is of."""
    ends = (values_of(circuit, z, each) for each in (lines.read.least, lines.read.most))
    return dict(zip(("first", "last"), map(lines.cells.cell, ends), strict=True))


def rows_of(circuit: Robustness, lines: Looked, cells: dict[str, IntArray]) -> dict[str, IntArray]:
    """What the prover chooses, were it of these cells."""
    rows = lines.cells.row(cells["first"], cells["last"])
    return {each.name: column[rows] for each, column in zip(lines.chosen, lines.cells.rows[2:], strict=True)}


def test_no_other_row_of_a_table_is_taken() -> None:
    circuit, q, radius = certified("tanh")
    lines, honest = of(circuit, Looked), circuit.assign(q, radius)
    own, unlisted = read(circuit, honest, lines), f"{lines.chosen[-1].name} is not what it must be"
    for each, step in itertools.product(lines.chosen, (1, -1)):
        moved = honest[circuit.layout[each.name].ravel()] + np.array([0, step, 0])
        assert unlisted in str(violation(circuit, insisting(circuit, q, radius, {each.name: moved})))
    # A row of narrower cells, whose lines lie nearer.
    narrow = {"first": own["first"], "last": np.maximum(own["first"], own["last"] - 1)}
    assert (narrow["last"] < own["last"]).any()
    lie = rows_of(circuit, lines, narrow)
    assert unlisted in str(violation(circuit, insisting(circuit, q, radius, lie)))


@pytest.mark.large
def test_no_other_line_over_the_largest_is_taken() -> None:
    circuit, q, radius = certified("padded")
    lines, honest = of(circuit, Largest), circuit.assign(q, radius)
    names = {part: f"{lines.name}/{part}" for part in ("place", "others", "slope", "offset")}
    own = {part: honest[circuit.layout[name].ravel()] for part, name in names.items()}
    counts = np.tile(lines.windows.counts, 1)

    def lie(window: int, **changes: int) -> str | None:
        moved = {names[part]: own[part].copy() for part in changes}
        for part, value in changes.items():
            moved[names[part]][window] = value
        return violation(circuit, insisting(circuit, q, radius, moved))

    for window in (0, 3, 7):
        offset, others = (int(own[part][window]) for part in ("offset", "others"))
        # Above all, and so loose: valid, whoever wants it.
        assert lie(window, offset=offset + 1) is None
        assert "above/" in str(lie(window, offset=offset - 1))
        if counts[window] > 1:
            assert "others/" in str(lie(window, others=others - 1))
        # Steeper than the entry itself; or of what is beyond the edge, or of nothing.
        assert "slope/least" in str(lie(window, slope=(1 << FINE) + 1, offset=offset + (1 << 12)))
        assert lie(window, slope=-1, offset=offset + (1 << FINE + 5)) is not None
        assert lie(window, offset=-1) is not None
        assert lie(window, place=-1) is not None
        for place in range(counts[window], len(lines.windows.entries) + 1):
            assert lie(window, place=place, slope=0, offset=31 << FINE, others=31) is not None
    hot = f"{lines.name}/picked/selector"
    for window, values in itertools.product(range(2), itertools.product((0, 1), repeat=4)):
        group = honest[circuit.layout[hot]].copy()
        if not np.array_equal(group[window], values):
            group[window] = values
            assert violation(circuit, insisting(circuit, q, radius, {hot: group.ravel()})) is not None


@pytest.mark.parametrize(
    ("kind", "norm", "some"),
    [
        ("tanh", "inf", 0.2),
        ("padded", "inf", 0.2),
        ("filled", "2", 0.2),
        *(pytest.param(kind, "inf", 1, marks=pytest.mark.large) for kind in KINDS),
        *(pytest.param(kind, "2", 1, marks=pytest.mark.large) for kind in MOVED),
    ],
)
def test_every_wire_that_is_moved_is_refused(kind: str, norm: Norm, some: float) -> None:
    """One of each group, or of some of them, alone, and again with all that follows computed from the lie;
    but those that are no integers, which are computed after it."""
    circuit, q, radius = certified(kind, "private", norm=norm)
    honest, rng = circuit.assign(q, radius), np.random.default_rng(5)
    order, steps = circuit.program.order, circuit.program.steps
    later = {int(each) for step in (*steps.field, *steps.post_challenge) for each in order[step.out].flat}
    lines = [each for each in circuit.certificate.lines if not isinstance(each, Rescaled)]
    free = {f"{each.name}/{part}" for each in lines for part in ("place", "others", "slope", "offset")}
    for name, group in circuit.layout.items():
        known = name.startswith("challenge") or name == "statement" or int(group.flat[0]) in later
        if known or rng.random() > some:
            continue
        moved, place = honest[group.ravel()], rng.integers(group.size)
        moved[place] += rng.choice([1, -1])
        z = honest.copy()
        z[group.ravel()] = moved
        assert refused(circuit, z), name
        if name not in free and any(name.startswith(each.name) for each in lines):
            assert refused(circuit, insisting(circuit, q, radius, {name: moved})), name


@pytest.mark.parametrize("kind", ["pooled", "padded", "at once", "depthwise", "silu"])
def test_whatever_is_chosen_the_margins_hold(kind: str) -> None:
    """Entries, slopes, bits and offsets at random, near what the inequalities ask for: where rows accept
    them, no input of the box has less than the margins."""
    circuit, rng = compile_robustness(small(kind, 1)), np.random.default_rng(2)
    graph, accepted = circuit.qgraph, 0
    for _ in range(12):
        q, radius = rng.integers(0, graph.input.type.top + 1, graph.input.shape), int(rng.integers(0, 4))
        honest, lies = circuit.assign(q, radius), dict[str, IntArray]()
        for lines in circuit.certificate.lines:
            if isinstance(lines, Rescaled):
                lies |= drawn_lines(circuit, honest, lines, rng)
            elif isinstance(lines, Largest):
                lies |= dict(_drawn_largest(circuit, honest, lines, rng))
        z = insisting(circuit, q, radius, lies)
        if refused(circuit, z) is None:
            accepted += 1
            assert below(circuit, z, leads(graph, q, radius))
    assert accepted > 1


def _drawn_largest(
    circuit: Robustness, honest: IntArray, lines: Largest, rng: np.random.Generator
) -> Iterator[tuple[str, IntArray]]:
    """Any entry that is there, and any slope; most offsets are the least that they can be."""
    entries, counts = lines.windows.entries, lines.windows.counts
    least, most = (
        np.where(entries < 0, 0, values_of(circuit, honest, end)[entries])
        for end in (lines.read.least, lines.read.most)
    )
    place = np.where(rng.random(len(counts)) < 0.7, rng.integers(0, counts), 0)
    low, high = (np.take_along_axis(end, place[None], 0)[0] for end in (least, most))
    np.put_along_axis(most, place[None], 0, 0)
    others = most.max(axis=0) - (rng.random(len(counts)) < 0.03)
    slope = rng.integers(0, (1 << FINE) + 1, len(counts))
    offset = np.maximum((others << FINE) - slope * low, ((1 << FINE) - slope) * high)
    offset = np.maximum(offset + rng.choice([0, 9, -1], len(counts), p=[0.9, 0.08, 0.02]), 0)
    parts = {"place": place, "others": np.maximum(others, 0), "slope": slope, "offset": offset}
    yield from ((f"{lines.name}/{part}", found) for part, found in parts.items())


@pytest.mark.parametrize("kind", ["residual", "padded", "tanh"])
def test_where_there_is_less_room_less_is_certified(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that meet, and what was paid, are brought to a coarser scale: rounded down."""
    graph = small(kind)
    q, finest = np.full(graph.input.shape, graph.input.type.top // 2), compile_robustness(graph)
    monkeypatch.setattr(backwards, "_ROOM", 31)
    monkeypatch.setattr(backwards, "_MOST", 1 << 36)
    circuit = compile_robustness(graph, weight_privacy="private")
    names = " ".join(circuit.layout)
    assert ("coarser" in names) == (kind == "residual")
    assert circuit.certificate.exponent > finest.certificate.exponent
    for radius in (0, 1, 2):
        z, exact = circuit.assign(q, radius), leads(graph, q, radius)
        assert below(circuit, z, exact)
        if (circuit.margins(q, radius) > 0).all():
            assert violation(circuit, z) is None
    assert (circuit.margins(q, 0) > 0).all()


@pytest.mark.parametrize(
    "kind",
    [
        "joined",
        *(pytest.param(each, marks=pytest.mark.large) for each in ("grouped", "repeated", "surrounded")),
    ],
)
def test_norms_of_fine_lines_are_those_of_coarser_ones(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what these are off by."""
    graph = small(kind)
    q = np.full(graph.input.shape, graph.input.type.top // 2)
    monkeypatch.setattr(backwards, "_SQUARES", 20)
    coarse = compile_robustness(graph, weight_privacy="private", norm="2")
    row = next(each for each in coarse.relations.relations if each.name == "ball/away")
    assert isinstance(row, Product)
    assert row.right.zero_point == -math.isqrt(q.size - 1) - 1
    for radius in (0, 1, 2):
        z, exact = coarse.assign(q, radius), leads(graph, q, radius, "2")
        assert below(coarse, z, exact)
        if (coarse.margins(q, radius) > 0).all():
            assert violation(coarse, z) is None
    assert (coarse.margins(q, 0) > 0).all()


@pytest.mark.parametrize("kind", ["tanh", "padded"])
def test_certificates_are_proven_and_no_other_claim(kind: str) -> None:
    prove_and_lie(*certified(kind))


@pytest.mark.parametrize("name", zoo.NAMES[:4])
def test_networks_of_the_zoo_have_certificates(name: str) -> None:
    require_certificates(quantise(zoo.network(name), zoo.calibration(name)))
