"""Certificates: sound at every point, tight, and refused to whoever has other lines, intervals or claims."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping

import numpy as np
import pytest

from examples.robustness.network import calibration, held_out, network
from tests.bounds.networks import KINDS as KINDS_OF_BOUNDS
from tests.circuits import support
from tests.circuits.support import random_network, refused, violation
from tests.circuits.test_relations import agree
from tests.refusals import refuses
from zenserve.circuits import QuantGraph, Robustness, compile_robustness
from zenserve.circuits.certificates.lines import Rescaling
from zenserve.circuits.certificates.rescaled import Rescaled
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.gather import Gather
from zenserve.circuits.operators.leaky_relu import PRelu
from zenserve.circuits.quantisation.quantiser import quantise
from zenserve.prover import groth16
from zenserve.relations.functions import Requantisation
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy


@pytest.mark.parametrize(
    "function",
    [
        Requantisation(np.array([3]), 16, 5, 0, 255),
        Requantisation(np.array([77]), (100 << 9) + 256, 9, 0, 255),
        Requantisation(np.array([1, 5, 800]), (9 << 4) + 8, 4, 3, 25),
        Requantisation(np.array([1]), 0, 0, 0, 255),
        Requantisation(np.array([1]), 100 << 8, 8, 100, 101),
    ],
)
def test_lines_hold_at_every_integer(function: Requantisation) -> None:
    rescaling = Rescaling(function)
    rng = np.random.default_rng(3)
    shape = 200, len(function.multiplier)
    least = rng.integers(-3000, 3000, shape)
    most = least + rng.choice([0, 1, 2, 30, 500], shape)
    rises, flat, slope, offset = rescaling.chosen(least, most)
    assert ((slope >= 0) & (slope <= rescaling.steepest) & (np.abs(offset) <= rescaling.reach)).all()
    assert {0, 1} >= {*np.unique(rises), *np.unique(flat)}
    low = function.apply(least) << rescaling.fine
    below = np.where(rises == 1, rescaling.below, low) << rescaling.coarse
    for step in range(501):
        a = np.minimum(least + step, most)
        value = function.apply(a) << rescaling.scale
        assert (rises * rescaling.steepest * a + below <= value).all()
        assert (slope * a + (offset << rescaling.coarse) >= value).all()


KINDS = ("dense", "residual", "pooled", "strided")


def small(seed: int, kind: str = "dense") -> QuantGraph:
    """``residual``: a sum of two branches, between clamps on both sides, and a reshape. ``pooled``: windows
    that overlap. ``strided``: kernels that leave some entries out, and pads. ``moved``: entries in another
    order, sums at the end among them."""
    rng = np.random.default_rng(seed)

    def weight(*shape: int) -> FloatArray:
        drawn: FloatArray = rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))
        return drawn

    if kind == "dense":
        return random_network(seed, (3, 4, 3), offset=0.4)
    if kind == "residual":
        x = tensor("x", 3).dense(weight(4, 3), rng.normal(size=4)).clip(-1.5, 2)
        x = (x + x.dense(weight(4, 4)).relu()).clip(-2, 2.5)
        x = x.reshape(2, 2).flatten().dense(weight(4, 4)).relu()
    elif kind == "moved":
        x = tensor("x", 4).then(Gather, np.array([2, 0, 3, 1])).reshape(2, 1, 2)
        x = x.conv(weight(2, 2, 1, 1), rng.normal(size=2)).relu().transpose(2, 0, 1)
        return quantise(x.conv(weight(3, 2, 2, 1)).flatten().graph(), rng.normal(size=(50, 4)))
    elif kind == "pooled":
        x = tensor("x", 1, 4, 3).conv(weight(2, 1, 3, 3), rng.normal(size=2), padding=1).relu()
        x = x.average_pool(2, stride=1).flatten()
    else:
        x = tensor("x", 2, 5, 4).conv(weight(2, 2, 2, 3), stride=2, padding=1).relu().flatten()
    graph = x.dense(weight(3, x.shape[0])).graph()
    return quantise(graph, rng.normal(size=(50, *graph.input.shape)))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", [*KINDS, "moved"])
def test_no_point_of_the_box_has_less_than_the_margins(seed: int, kind: str) -> None:
    graph = small(seed, kind)
    circuit = compile_robustness(graph)
    rng = np.random.default_rng(seed)
    top = graph.input.type.top
    for radius in (0, 1, 3, 25):
        q = rng.integers(0, top + 1, graph.input.shape)
        label = graph.execute(q).label
        corners = np.array([*itertools.product((-radius, radius), repeat=min(q.size, 6))])
        near = rng.integers(-radius, radius + 1, (300, q.size))
        near[: len(corners), : corners.shape[1]] = corners
        near = near.reshape(-1, *q.shape)
        outputs = graph.run(np.clip(q + near, 0, top)).reshape(len(near), -1)
        leads = outputs[:, [label]] - np.delete(outputs, label, axis=1)
        margins = circuit.margins(q, radius)
        exponent = circuit.certificate.exponent
        raised = leads.min(axis=0).astype(object) * 2 ** max(0, -exponent)
        assert (raised >= margins.astype(object) * 2 ** max(0, exponent)).all()
        if radius == 0 and kind == "dense":
            # A point alone loses a step in each rescaling at most.
            assert (margins > 0).any()


@pytest.mark.parametrize("weights", ["public", "private", "committed"])
@pytest.mark.parametrize("kind", KINDS)
def test_honest_witnesses_satisfy_rows_and_relations(kind: str, weights: Privacy) -> None:
    circuit, q, radius = certified(kind, weights)
    z = circuit.assign(q, radius)
    assert violation(circuit, z) is None
    system = circuit.constraint_system
    assert system.constraints == circuit.plan.rows
    assert z[1 : 1 + system.public].tolist() == circuit.public_inputs(q, radius)


@pytest.mark.parametrize("kind", KINDS)
def test_a_course_is_of_leads_from_none_to_twice_the_radius(kind: str) -> None:
    circuit, q, radius = certified(kind, "public")
    course = circuit.course(q, radius)
    assert [each for each, _ in course] == [*range(2 * radius + 1)]
    leads = dict(course)
    outputs = np.sort(circuit.qgraph.run(q[np.newaxis]).ravel())
    assert 0 < leads[radius] <= leads[0] <= outputs[-1] - outputs[-2]
    exponent = circuit.certificate.exponent
    assert leads[radius] == circuit.margins(q, radius).min() * 2.0**exponent
    top = circuit.certificate.radius.bound.interval[1]
    far = circuit.course(q, top - 1)
    assert (far[0][0], far[-1][0]) == (0, top)
    assert top - 1 in dict(far)


@pytest.mark.parametrize("privacy", ["private", "committed"])
def test_the_input_may_be_hidden(privacy: Privacy) -> None:
    _, q, radius = _shared()
    circuit = compile_robustness(_shared()[0].qgraph, input_privacy=privacy)
    assert violation(circuit, circuit.assign(q, radius)) is None
    assert circuit.commitments == (["input"] if privacy == "committed" else [])
    assert circuit.values(q, radius).keys() == {"radius", "label"}
    assert circuit.constraint_system.constraints == circuit.plan.rows


@pytest.mark.large
@pytest.mark.parametrize(
    ("kind", "weights"), [*zip(KINDS, itertools.cycle(("public", "private", "committed")), strict=False)]
)
def test_what_rows_accept_the_relations_accept(kind: str, weights: Privacy) -> None:
    circuit, q, radius = certified(kind, weights)
    agree(circuit, circuit.assign(q, radius))


@pytest.mark.parametrize(
    "kind", ["dense", *(pytest.param(kind, marks=pytest.mark.large) for kind in KINDS if kind != "dense")]
)
def test_every_wire_that_is_moved_is_refused(kind: str) -> None:
    """One of each group, alone; but those that are no integers, which are computed after the lie."""
    circuit, q, radius = _shared() if kind == "dense" else certified(kind)
    honest, rng = circuit.assign(q, radius), np.random.default_rng(5)
    order, steps = circuit.program.order, circuit.program.steps
    later = {int(each) for step in (*steps.field, *steps.post_challenge) for each in order[step.out].flat}
    for name, group in circuit.layout.items():
        if name.startswith("challenge") or name == "statement" or int(group.flat[0]) in later:
            continue
        z = honest.copy()
        z[rng.choice(group.ravel())] += rng.choice([1, -1])
        assert refused(circuit, z), name


def certified(kind: str = "dense", weights: Privacy = "private") -> tuple[Robustness, IntArray, int]:
    """A circuit, an input and a radius with a certificate."""
    rng = np.random.default_rng(1)
    for seed in range(20):
        graph = small(seed, kind)
        circuit = compile_robustness(graph, weight_privacy=weights)
        q = rng.integers(40, graph.input.type.top - 40, graph.input.shape)
        if (circuit.margins(q, 2) > 0).all() and _bends(circuit, q):
            return circuit, q, 2
    raise AssertionError("no network has a certificate")


def _bends(circuit: Robustness, q: IntArray) -> bool:
    """Whether some entry lies below a chord, and rises."""
    z = circuit.assign(q, 2)
    flat, rises = (_read(circuit, z, part) for part in ("flat", "rises"))
    return bool((flat == 0).any() and rises.any())


def _first(circuit: Robustness) -> Rescaled:
    lines = circuit.certificate.lines[0]
    assert isinstance(lines, Rescaled)
    return lines


def _read(circuit: Robustness, z: IntArray, part: str) -> IntArray:
    name = _first(circuit).chosen[("rises", "flat", "slope", "offset").index(part)].name
    return z[circuit.layout[name].ravel()]


def insisting(circuit: Robustness, q: IntArray, radius: int, lies: Mapping[str, IntArray]) -> IntArray:
    honest = circuit.assign(q, radius)
    given = {"input": q, "radius": np.array([radius]), "label": honest[circuit.layout["label"]]}
    return support.insisting(circuit, given, lies)


def test_other_lines_are_refused() -> None:
    circuit, q, radius = certified()
    lines = _first(circuit)
    names = dict(zip(("rises", "flat", "slope", "offset"), (each.name for each in lines.chosen), strict=True))
    honest = circuit.assign(q, radius)
    assert violation(circuit, insisting(circuit, q, radius, {})) is None
    own = {part: honest[circuit.layout[name].ravel()] for part, name in names.items()}
    place = int(np.flatnonzero((own["flat"] == 0) & (own["slope"] > 0))[0])
    steepest, coarse = lines.rescaling.most, lines.rescaling.coarse
    ends = [honest[circuit.layout[each.name].ravel()][place] // 2 for each in (lines.least, lines.most)]

    def lie(**changes: int) -> str | None:
        lies = {}
        for part, value in changes.items():
            moved = own[part].copy()
            moved[place] = value
            lies[names[part]] = moved
        return violation(circuit, insisting(circuit, q, radius, lies))

    slope, offset = int(own["slope"][place]), int(own["offset"][place])
    # Above all, and so loose: valid, whoever wants it.
    assert lie(offset=offset + 1) is None
    # The least offset there is, less one, whichever end asks for it.
    assert _named(lie(offset=offset - 1), "above/")
    # Flatter, through the lower end, so that it cuts the corner at the upper one; and the other way round.
    flatter = -(-(slope * ends[0] + (offset << coarse)) >> coarse)
    assert _named(lie(slope=0, offset=flatter), "above/most")
    over = steepest * ends[1] + lines.rescaling.above
    steeper = -(-(over - steepest * ends[1]) >> coarse)
    assert _named(lie(slope=steepest, offset=steeper - 1), "above/")
    # Steeper than the rescaling: through the upper end, and below the function within.
    beyond = 2 * steepest
    assert _named(lie(slope=beyond, offset=-(-(over - beyond * ends[1]) >> coarse)), "")
    # Negative, over the integers and in the field.
    assert _named(lie(slope=-1, offset=offset + 5), "")
    # What is flat lies above the largest value.
    assert _named(lie(flat=1), "above/least")
    assert lie(flat=2) is not None
    assert lie(flat=-1) is not None
    assert lie(rises=2) is not None
    assert lie(rises=-1) is not None
    assert lie(offset=1 << 40) is not None


def _named(violated: str | None, part: str) -> bool:
    return violated is not None and part in violated


def test_what_is_clamped_above_does_not_rise() -> None:
    """Where the largest value is the clamp's, a line that rises is above the function behind it."""
    rng = np.random.default_rng(0)
    first = Dense("first", ("x",), rng.normal(size=(3, 2)), np.zeros(3))
    second = Dense("second", ("relu",), rng.normal(size=(2, 3)), np.zeros(2))
    graph = Graph.of("x", (2,), (first, Clip("relu", ("first",), 0.0, 0.4), second), "second")
    circuit = compile_robustness(quantise(graph, rng.normal(size=(50, 2))), weight_privacy="private")
    lines = _first(circuit)
    for _ in range(50):
        q = rng.integers(0, 256, 2)
        z = circuit.assign(q, 30)
        most = z[circuit.layout[lines.most.name].ravel()] // 2
        clamped = lines.rescaling.function.apply(most) == lines.rescaling.function.high
        if clamped.any() and (circuit.margins(q, 30) > 0).all():
            break
    rises = lines.chosen[0].name
    assert violation(circuit, insisting(circuit, q, 30, {})) is None
    lie = z[circuit.layout[rises].ravel()].copy()
    lie[np.flatnonzero(clamped)[0]] = 1
    assert _named(violation(circuit, insisting(circuit, q, 30, {rises: lie})), "unclamped")


@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize(
    "name",
    [
        "box/least/out",
        "box/most/out",
        "box/sum",
        "box/width",
        "dense1/weight/absolute/out",
        "dense1/centre/product",
        "dense1/radius/product",
        "dense1/least/sums",
        "dense1/most/sums",
        "dense1/least/out",
        "dense1/most/out",
        "dense1/rising/product",
        "dense1/left/product",
        "dense1/right/product",
        "dense1/bent/product",
        "dense1/apart/product",
        "dense1/between/product",
        "dense1/back/out",
        "dense1/back/remainder",
        "input/line/absolute",
        "output/label/selector",
        "output/margins",
        "dense2/lines",
        "zero",
    ],
)
def test_whoever_insists_on_another_wire_is_refused(name: str, step: int) -> None:
    """All that follows is computed from the lie: an end of an interval moved by one, a smaller radius, an
    absolute value of another weight, a rival that is none."""
    circuit, q, radius = _shared()
    honest = circuit.assign(q, radius)[circuit.layout[name].ravel()]
    for place in range(min(honest.size, 3)):
        lie = honest.copy()
        lie[place] += step
        assert violation(circuit, insisting(circuit, q, radius, {name: lie})) is not None, place


_MADE: list[tuple[Robustness, IntArray, int]] = []


def _shared() -> tuple[Robustness, IntArray, int]:
    if not _MADE:
        _MADE.append(certified())
    return _MADE[0]


def test_another_label_or_radius_is_refused() -> None:
    circuit, q, radius = _shared()
    honest = circuit.assign(q, radius)
    label = int(honest[circuit.layout["label"]][0])
    for other in {*range(-1, 5)} - {label}:
        lie = {"label": np.array([other])}
        assert violation(circuit, insisting(circuit, q, radius, lie)) is not None
    for other in (radius + 1, radius - 1, 0, 255, -1, 1 << 8):
        z = honest.copy()
        z[circuit.layout["radius"]] = other
        assert violation(circuit, z) is not None
    # One class twice, and the label among its rivals.
    classes = circuit.qgraph.classes
    for hot in itertools.product((0, 1), repeat=classes):
        if np.argmax(hot) != label or sum(hot) != 1:
            lie = {"output/label/selector": np.array(hot)}
            assert violation(circuit, insisting(circuit, q, radius, lie)) is not None


def test_beyond_what_is_certified_there_is_no_witness() -> None:
    circuit, q, _ = _shared()
    with refuses("statement.not_certified", "radius", match="smaller radius"):
        circuit.witness(q, 255)
    assert violation(circuit, circuit.assign(q, 255)) is not None
    with refuses("input.out_of_range", "radius"):
        circuit.witness(q, 256)


def test_lines_certify_what_intervals_do_not() -> None:
    """On the network of examples/robustness, within 8 of 255 steps: intervals alone have 37 of 100."""
    graph = quantise(network(), calibration())
    circuit = compile_robustness(graph)
    images, _ = held_out()
    found = [(circuit.margins(graph.quantise_input(image), 8) > 0).all() for image in images[:10]]
    assert sum(found) == 10


def test_a_certificate_is_proven_and_no_other_claim() -> None:
    prove_and_lie(*certified(weights="public"))


def prove_and_lie(circuit: Robustness, q: IntArray, radius: int) -> None:
    """What is claimed is proven, and the proof is of no other public inputs."""
    system = circuit.constraint_system
    key = groth16.setup(system)
    proof = groth16.prove(
        key, system, circuit.witness(q, radius), post_challenge=circuit.program.post_challenge
    )
    public = circuit.public_inputs(q, radius)
    assert groth16.verify(key.verifying_key, public, proof).valid
    for place in (0, 1, -2, -1):
        lie = list(public)
        lie[place] += 1
        assert not groth16.verify(key.verifying_key, lie, proof).valid


def test_the_description_is_json_and_says_what_it_proves() -> None:
    circuit, *_ = _shared()
    described = json.loads(json.dumps(circuit.describe()))
    assert described["scheme"] == "robustness"
    names = [group["name"] for group in described["public_inputs"]]
    assert names == ["statement", "input", "radius", "label"]
    assert "none of whose entries differs" in described["meaning"]


def test_operators_without_lines_are_named() -> None:
    rng = np.random.default_rng(1)
    graph = quantise(KINDS_OF_BOUNDS["attention"].make(rng), rng.normal(size=(20, 4, 6)))
    with refuses("model.unsupported_operator", match="no lines through"):
        compile_robustness(graph)


@pytest.mark.parametrize(("slopes", "most"), [([0.25], 1.0), ([0.25, 0.5, 0.75], 0.0)])
def test_leaky_ones_have_no_lines(slopes: list[float], most: float) -> None:
    """Their input is read as it is and less its zero point: lines of two integers are no line of one. Of what
    is never positive each entry has a factor of its own."""
    rng = np.random.default_rng(0)
    x = tensor("x", 3).dense(rng.normal(size=(3, 3))).clip(-1.0, most).then(PRelu, np.array(slopes))
    with refuses("model.unsupported_operator", match="no lines through"):
        compile_robustness(quantise(x.graph(), rng.normal(size=(50, 3))))


@pytest.mark.parametrize("kind", ["dense", "residual"])
def test_whatever_lines_are_chosen_the_margins_hold(kind: str) -> None:
    """Some slopes, bits and offsets at random, near what the inequalities ask for: where rows accept them, no
    point of the box has less than the margins."""
    circuit, rng, accepted = compile_robustness(small(1, kind)), np.random.default_rng(2), 0
    graph = circuit.qgraph
    for _ in range(12):
        q, radius = rng.integers(0, graph.input.type.top + 1, graph.input.shape), int(rng.integers(0, 4))
        honest, lies = circuit.assign(q, radius), dict[str, IntArray]()
        for lines in circuit.certificate.lines:
            assert isinstance(lines, Rescaled)
            lies |= drawn_lines(circuit, honest, lines, rng)
        z = insisting(circuit, q, radius, lies)
        if refused(circuit, z) is None:
            accepted += 1
            near = q + rng.integers(-radius, radius + 1, (500, *q.shape))
            outputs = graph.run(np.clip(near, 0, graph.input.type.top)).reshape(500, -1)
            label = graph.execute(q).label
            leads = outputs[:, [label]] - np.delete(outputs, label, axis=1)
            margins = z[circuit.layout["output/margins"].ravel()]
            assert (leads.min(axis=0) >= np.ldexp(margins.astype(float), circuit.certificate.exponent)).all()
    assert 2 < accepted < 12


def drawn_lines(
    circuit: Robustness, honest: IntArray, lines: Rescaled, rng: np.random.Generator
) -> dict[str, IntArray]:
    rescaling, shape = lines.rescaling, lines.least.shape[1:]
    function, steepest = rescaling.function, np.broadcast_to(rescaling.steepest, shape)
    least, most = (
        honest[circuit.layout[each.name].ravel()].reshape(shape) // 2 for each in (lines.least, lines.most)
    )
    high, flat = function.apply(most), rng.integers(0, 2, shape)
    rises = rng.integers(0, 2, shape) * (high < function.high)
    slope = rng.integers(0, steepest + 1)
    left = (np.where(flat == 1, high, function.low) << rescaling.scale) - slope * least
    right = np.where(flat == 1, left, (steepest - slope) * most + rescaling.above)
    offset = -(-np.maximum(left, right) >> rescaling.coarse)
    offset += rng.choice([0, 5, -1], shape, p=[0.9, 0.08, 0.02])
    other, lies = rng.random(shape) < 0.3, dict[str, IntArray]()
    for each, found in zip(lines.chosen, (rises, flat, slope, offset), strict=True):
        own = honest[circuit.layout[each.name].ravel()].reshape(shape)
        lies[each.name] = np.where(other, found, own).ravel()
    return lies
