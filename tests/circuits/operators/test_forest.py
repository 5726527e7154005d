"""Decision trees: floats, integers and rows agree, and every way to leave the path is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.circuits.quantised import networks, slow
from tests.circuits.relation_checker import broken
from tests.circuits.support import answered, challenged, first_violation, forge, held, unnoticed
from tests.circuits.test_lowering import refuse_all_lies
from tests.circuits.test_uniqueness import unnoticed as unneeded
from tests.circuits.uniqueness import Uniqueness
from tests.refusals import refuses
from zenserve import kernels
from zenserve.circuits import (
    Graph,
    Inference,
    QuantGraph,
    compile_accuracy,
    compile_inference,
    compile_registration,
    plan_inference,
    quantise,
)
from zenserve.circuits.graphs.graph import Input
from zenserve.circuits.networks.fusion import fuse
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.forest import Forest, QuantForest
from zenserve.circuits.operators.scale import Scale
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy

WEIGHTS: list[Privacy] = ["public", "private", "committed"]


def forest(seed: int, trees: int, depth: int, features: int, *, values: int = 1, grow: float = 1.0) -> Graph:
    """Random trees, nodes of which have children with the probability ``grow``. Of one value each counts for
    one of two outputs."""
    rng = np.random.default_rng(seed)
    feature, threshold, children, leaf = list[int](), list[float](), list[Any](), list[Any]()

    def made(left: int) -> int:
        if not left or (left < depth and rng.random() > grow):
            leaf.append(rng.normal(size=values))
            return -len(leaf)
        place = len(children)
        feature.append(int(rng.integers(features)))
        threshold.append(round(float(rng.normal()), 1))
        children.append(None)
        children[place] = made(left - 1), made(left - 1)
        return place

    roots, outputs = [made(depth) for _ in range(trees)], max(2, values)
    targets = np.tile(np.arange(values), (trees, 1)) if values > 1 else rng.integers(0, 2, (trees, 1))
    node = Forest(
        *("f", ("x",), np.array(roots), np.array(feature), np.array(threshold)),
        *(rng.integers(0, 2, len(feature)), np.array(children), np.array(leaf), targets),
        *(np.eye(outputs, dtype=np.int64), rng.normal(size=outputs)),
    )
    return Graph.of("x", (features,), (node,), "f")


def samples(graph: Graph, count: int = 64) -> Any:
    """Of one decimal, as thresholds: some are equal to these."""
    return np.random.default_rng(1).normal(size=(count, *graph.input.shape)).round(1)


def node_of(network: QuantGraph) -> QuantForest:
    (node,) = (node for node in network.nodes if isinstance(node, QuantForest))
    return node


SHAPES: dict[str, Graph] = {
    "one block a tree": forest(1, 3, 3, 4),
    "deep and narrow": forest(2, 2, 14, 5, values=3, grow=0.6),
    "a leaf": forest(3, 1, 1, 1),
    "values of several integers": forest(4, 2, 2, 3, values=20),
}


@pytest.mark.parametrize("name", SHAPES)
def test_floats_and_integers_agree(name: str) -> None:
    graph = SHAPES[name]
    x = samples(graph)
    network = quantise(graph, x)
    q = network.input.type.quantise(x)
    got, node = network.run(q), node_of(network)
    # Leaves are rounded, and no decision changes.
    assert np.abs(got * node.value_type.scale - graph.run(x)).max() < 1e-3
    for row, expected in zip(q[:4], got, strict=False):
        assert slow.tensors(network, row)[network.output].tolist() == expected.tolist()
    again = QuantGraph.from_bytes(network.to_bytes())
    assert again.digest == network.digest
    assert (again.run(q) == got).all()


def proven(graph: Graph, weights: Privacy) -> tuple[Inference, IntArray]:
    network = quantise(graph, samples(graph), layers={"x": (4, 4)})
    circuit = compile_inference(network, weight_privacy=weights, reveal="logits")
    assert circuit.plan.rows == circuit.constraint_system.constraints or weights == "public"
    return circuit, networks.inputs(network, 3, 2)[2]


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", ["one block a tree", "deep and narrow"])
def test_it_is_proven(name: str, weights: Privacy) -> None:
    circuit, q = proven(SHAPES[name], weights)
    z = circuit.assign(q)
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
    assert broken(circuit.relations, held(circuit, z)) == []
    assert z[circuit.layout["logits"]].tolist() == circuit.qgraph.execute(q).logits.tolist()
    if weights == "public":
        refuse_all_lies(circuit, q)
        return
    # What no path comes to may be anything: the commitment binds it, not the rows of this proof.
    honest, system = challenged(circuit.program, z), circuit.constraint_system
    lies = [(wire, honest[wire] + 1) for group in circuit.layout.values() for wire in group.ravel().tolist()]
    accepted = {variable.partition("[")[0] for variable, _ in unnoticed(system, honest, lies)}
    assert accepted <= {f"forest1/{each}" for each in ("features", "thresholds", "next", "leaves")}


def attacked(circuit: Inference, q: IntArray, lies: dict[str, IntArray]) -> str | None:
    """What refuses wires of these groups set to this, and all later ones computed from them."""
    wires = {
        int(wire): int(value)
        for name, values in lies.items()
        for wire, value in zip(circuit.layout[name].ravel(), values.ravel(), strict=True)
    }
    return first_violation(circuit.constraint_system, answered(circuit.program, forge(circuit, q, wires)))


@pytest.fixture(scope="module")
def attackable() -> tuple[Inference, IntArray, dict[str, IntArray]]:
    """Two trees of two levels in blocks of one, and what honest provers say of each group of wires."""
    network = quantise(forest(5, 2, 3, 4), samples(forest(5, 2, 3, 4)), layers={"x": (4, 4)})
    circuit = compile_inference(network, weight_privacy="committed", reveal="logits")
    q = networks.inputs(network, 3, 2)[2]
    z = circuit.assign(q)
    said = {name: z[group] for name, group in circuit.layout.items() if name.startswith("forest1/")}
    assert attacked(circuit, q, said) is None
    return circuit, q, said


Attackable = tuple[Inference, IntArray, dict[str, IntArray]]


def test_another_leaf_is_refused(attackable: Attackable) -> None:
    """Other values alone, and another exit: decisions turned without regard to the comparison."""
    circuit, q, said = attackable
    node = node_of(circuit.qgraph)
    for value in node.value.ravel().tolist():
        if value != said["forest1/value"].flat[0]:
            lie = said["forest1/value"].copy()
            lie.flat[0] = value
            assert attacked(circuit, q, {"forest1/value": lie}) == "forest1/exits/sum[0]"


def test_a_path_that_skips_a_comparison_is_refused(attackable: Attackable) -> None:
    circuit, q, said = attackable
    right = said["forest1/right"]
    for place in np.ndindex(right.shape):
        lie = right.copy()
        lie[place] = 1 - lie[place]
        # All that follows is honest on the other path: the margin alone is not.
        refused = attacked(circuit, q, {"forest1/right": lie})
        assert refused
        assert refused.startswith(("forest1/margin", "range"))


def test_nodes_of_other_trees_and_thresholds_of_other_nodes_are_refused(attackable: Attackable) -> None:
    circuit, q, said = attackable
    feature, threshold = said["forest1/feature"], said["forest1/threshold"]
    for place in np.ndindex(threshold.shape):
        for other in np.unique(node_of(circuit.qgraph).threshold).tolist():
            if other != threshold[place]:
                lie = threshold.copy()
                lie[place] = other
                assert attacked(
                    circuit, q, {"forest1/threshold": lie, "forest1/right": said["forest1/right"]}
                )
    # The other tree's nodes in place of each tree's own, with the entries that these ask for.
    swapped = {"forest1/feature": feature[..., ::-1], "forest1/threshold": threshold[..., ::-1]}
    assert attacked(circuit, q, swapped)


def test_features_beyond_the_input_are_refused(attackable: Attackable) -> None:
    circuit, q, said = attackable
    for beyond in (len(q), len(q) + 1, -1, 1 << 20):
        lie = said["forest1/feature"].copy()
        lie.flat[0] = beyond
        assert attacked(circuit, q, {"forest1/feature": lie}) == "forest1/entries/sum[0]"


def test_entries_that_are_not_the_inputs_are_refused(attackable: Attackable) -> None:
    circuit, q, said = attackable
    for move in (1, -1, 16, -16):
        lie = said["forest1/entry"].copy()
        lie.flat[0] += move
        assert attacked(circuit, q, {"forest1/entry": lie}) == "forest1/entries/sum[0]"


def test_differences_beyond_their_range_are_refused(attackable: Attackable) -> None:
    """A threshold that would need a wrap, on either side, whatever the decision says."""
    circuit, q, said = attackable
    bits = circuit.qgraph.input.type.bits
    for beyond in (1 << bits, 2 << bits, -(1 << bits), 1 << 40):
        for right in (0, 1):
            lie, turned = said["forest1/threshold"].copy(), said["forest1/right"].copy()
            lie.flat[0] += beyond
            turned.flat[0] = right
            assert attacked(circuit, q, {"forest1/threshold": lie, "forest1/right": turned})
    for decision in (2, -1):
        turned = said["forest1/right"].copy()
        turned.flat[0] = decision
        assert attacked(circuit, q, {"forest1/right": turned}) == "forest1/right[0]"


@pytest.mark.parametrize("table", ["exits", "entries"])
def test_wrong_multiplicities_are_refused(attackable: Attackable, table: str) -> None:
    circuit, q, said = attackable
    counts = said[f"forest1/{table}/multiplicity"]
    for moved in (1, -1):
        lie = counts.copy()
        lie.flat[0] += moved
        assert attacked(circuit, q, {f"forest1/{table}/multiplicity": lie}) == f"forest1/{table}/sum[0]"


def test_blocks_of_other_paths_are_refused() -> None:
    """Of trees of several blocks one that does not follow, and one beyond the last."""
    circuit, q = proven(SHAPES["deep and narrow"], "committed")
    z = circuit.assign(q)
    following = z[circuit.layout["forest1/following"]]
    for other in range(len(node_of(circuit.qgraph).value) + 2):
        lie = following.copy()
        lie.flat[0] = other
        refused = attacked(circuit, q, {"forest1/following": lie})
        assert (refused is None) == (other == following.flat[0])


@pytest.mark.parametrize("name", ["one block a tree", "a leaf"])
def test_one_witness_is_left(name: str) -> None:
    """By a judge that knows rows alone, once the input and the model are given."""
    network = quantise(SHAPES[name], samples(SHAPES[name]), layers={"x": (3, 3)})
    circuit = compile_inference(network, weight_privacy="committed", reveal="logits")
    z = challenged(circuit.program, circuit.assign(networks.inputs(network, 3, 2)[2]))
    parameters = [f"forest1/{each}" for each in ("features", "thresholds", "leaves", "base")]
    given = [circuit.layout[each] for each in ("statement", "input", *parameters)]
    values = {wire: z[wire] for group in given for wire in group.ravel().tolist()}
    assert Uniqueness(circuit.constraint_system, values).free == set()


def test_no_row_is_needless() -> None:
    network = quantise(SHAPES["a leaf"], samples(SHAPES["a leaf"]), layers={"x": (3, 3)})
    circuit = compile_inference(network, reveal="values")
    honest = [challenged(circuit.program, circuit.assign(q)) for q in networks.inputs(network, 3, 2)]
    assert unneeded(circuit.program, honest) == set()


def test_all_samples_of_an_accuracy_take_their_own_paths() -> None:
    graph = SHAPES["deep and narrow"]
    network = quantise(graph, samples(graph), layers={"x": (4, 4)})
    circuit = compile_accuracy(network, batch=3)
    q = np.array(networks.inputs(network, 3, 2))
    labels = np.array([network.execute(each).label for each in q])
    labels[1] = (labels[1] + 1) % network.classes
    z = circuit.witness(q, labels)
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
    assert broken(circuit.relations, held(circuit, z)) == []
    assert kernels.fr.to_ints(z[circuit.layout["correct"]]) == [2]


def test_a_registration_proves_the_types_of_all_that_is_committed() -> None:
    network = quantise(SHAPES["deep and narrow"], samples(SHAPES["deep and narrow"]))
    circuit = compile_registration(network)
    z = circuit.witness()
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
    for name in ("features", "thresholds", "next", "leaves", "base"):
        lie = z.copy()
        lie[circuit.layout[f"forest1/{name}"].flat[0]] = kernels.fr.from_ints([-1 - (1 << 40)])[0]
        assert first_violation(circuit.constraint_system, answered(circuit.program, lie))
    assert compile_registration(network.architecture).constraint_system.constraints == (
        circuit.constraint_system.constraints
    )


def test_what_a_hundred_trees_cost() -> None:
    """A row for an exit, about six for a decision of 16 bits, three for a leaf."""
    graph = forest(6, 100, 6, 30)
    network = quantise(graph, samples(graph), layers={"x": (16, 16)})
    node = node_of(network)
    assert (node.levels, node.steps, node.value.shape) == (6, 1, (100, 64, 1))
    plan = plan_inference(network, weight_privacy="committed")
    circuit = compile_inference(network, weight_privacy="committed")
    assert plan.rows == circuit.constraint_system.constraints < 10_800


def test_few_nodes_of_deep_trees_are_few_rows() -> None:
    """A tree is as many blocks as it has parts, not the full tree of its depth."""
    graph = forest(2, 20, 14, 5, grow=0.6)
    network = quantise(graph, samples(graph))
    nodes = len(graph.nodes[0].feature) if isinstance(graph.nodes[0], Forest) else 0
    assert node_of(network).value.size < 3 * nodes
    assert node_of(network).steps > 1


def test_inputs_that_are_compared_alone_have_the_bits_that_tell_thresholds_apart() -> None:
    """Of a feature that spans 10^4 and one that spans 10^-2 in one tensor."""
    graph = forest(7, 10, 4, 2)
    (node,) = graph.nodes
    assert isinstance(node, Forest)
    scales = np.array([1e4, 1e-2])
    wide = replace(node, threshold=node.threshold * scales[node.feature])
    graph = Graph.of("x", (2,), (wide,), "f")
    x = samples(graph, 500) * scales
    network = quantise(graph, x)
    assert 30 <= network.input.type.bits <= 32
    got = network.run(network.input.type.quantise(x)) * node_of(network).value_type.scale
    assert np.abs(got - graph.run(x)).max() < 1e-3
    # Where another node reads it, it has what tensors have at most.
    both = (wide, Dense("d", ("x",), np.ones((2, 2)), np.zeros(2)))
    other = quantise(replace(graph, nodes=both, outputs={"f": "f", "d": "d"}), x)
    assert other.input.type.bits == 16
    # Whole numbers are exact.
    whole = replace(graph, inputs=(Input("x", (2,), "integer"),))
    assert quantise(whole, np.rint(x * 100)).input.type.bits > 16


def test_what_calibration_came_near_to_thresholds_with_is_told_apart_from_them() -> None:
    """As in tables whose columns are a lattice, where a threshold lies between two values, and on a third."""
    graph = forest(7, 10, 4, 2)
    x = samples(graph, 50)
    wide = quantise(graph, x)
    (node,) = graph.nodes
    assert isinstance(node, Forest)
    x[0, node.feature[0]] = node.threshold[0] + 1e-8
    network = quantise(graph, x)
    assert network.input.type.bits > wide.input.type.bits
    got = network.run(network.input.type.quantise(x)) * node_of(network).value_type.scale
    np.testing.assert_allclose(got, graph.run(x), atol=1e-3)


def test_inputs_beyond_calibration_are_on_their_side_of_all_thresholds() -> None:
    graph = SHAPES["one block a tree"]
    network = quantise(graph, samples(graph) / 100)
    x = samples(graph) * 50
    q = np.array([network.quantise_input(row, saturate=True) for row in x])
    got = network.run(q) * node_of(network).value_type.scale
    np.testing.assert_allclose(got, graph.run(x), atol=1e-3)


def test_a_scale_before_trees_is_in_their_thresholds() -> None:
    graph = SHAPES["one block a tree"]
    (node,) = graph.nodes
    scale = Scale("s", ("x",), np.array([1.0, 2.0, 0.5, 4.0]), np.array([0.0, 1.0, -1.0, 0.5]))
    scaled = Graph.of("x", (4,), (scale, replace(node, inputs=("s",))), "f")
    x = samples(graph) + 0.05
    fused = fuse(scaled)
    assert [type(each) for each in fused.nodes] == [Forest]
    np.testing.assert_allclose(fused.run(x), scaled.run(x))
    mirrored = replace(scaled, nodes=(replace(scale, weight=-scale.weight), scaled.nodes[1]))
    np.testing.assert_allclose(fuse(mirrored).run(x), mirrored.run(x))


def test_lower_levels_are_refused() -> None:
    network = quantise(SHAPES["a leaf"], samples(SHAPES["a leaf"]))
    with refuses("statement.level", "level"):
        compile_inference(network, level=4)


def test_what_is_no_forest_is_refused() -> None:
    network = quantise(SHAPES["deep and narrow"], samples(SHAPES["deep and narrow"]))
    node = node_of(network)
    more = np.zeros((1, *node.value.shape[1:]), np.int64)
    hostile: list[dict[str, Any]] = [
        {"feature": node.feature + 5},
        {"feature": node.feature - 5},
        {"threshold": node.threshold - (1 << 33)},
        {"following": node.following + len(node.value)},
        {"following": np.zeros_like(node.following)},
        {"value": node.value + (1 << 16)},
        {"value": np.append(node.value, more, axis=0)},
        {"value": node.value[:, :3], "feature": node.feature[:, :2], "threshold": node.threshold[:, :2]},
        {"steps": 1},
        {"steps": 0},
        {"steps": 1 << 40},
        {"targets": node.targets + 3},
        {"targets": node.targets[:0]},
        {"mix": node.mix * 7},
        {"mix": node.mix[:2]},
        {"base": node.base[:0]},
        {"base": node.base + (1 << 61)},
    ]
    for changed in hostile:
        with refuses(
            "model.quantised" if "base" not in changed or not len(changed["base"]) else "model.range_too_wide"
        ):
            replace(network, nodes=(replace(node, **changed),))


def test_trees_that_are_there_again_are_refused() -> None:
    """No relation shares their parameters: the second would have some that nobody registered."""
    network = quantise(SHAPES["one block a tree"], samples(SHAPES["one block a tree"]))
    (first,) = network.nodes
    twice = replace(
        network, nodes=(first, replace(first, name="more")), outputs={"a": "forest1", "b": "more"}
    )
    object.__setattr__(twice, "again", {"more": "forest1"})
    with refuses("file.value", match="repeats a Forest"):
        QuantGraph.from_bytes(twice.to_bytes())


def test_trees_that_lead_back_are_refused() -> None:
    (node,) = SHAPES["one block a tree"].nodes
    assert isinstance(node, Forest)
    with refuses("model.shape", match="lead back"):
        replace(node, children=np.zeros_like(node.children))
    with refuses("model.not_finite"):
        replace(node, threshold=node.threshold * np.nan)
