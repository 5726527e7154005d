"""Inferences that show where outputs lie: on which side of a threshold, between which bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.circuits.quantised import networks
from tests.client.makers import Maker, inference, rehashed
from tests.vectors import several
from tests.vectors.world import World, renamed
from tests.vectors.writing import Vectors
from zenserve.circuits import Inference, QuantGraph, compile_inference
from zenserve.circuits.schemes.inference import Bounds
from zenserve.relations.integers import IntArray
from zenserve.verifier.description import Description
from zenserve.verifier.documents import KeyFile, ProofDocument, checked
from zenserve.verifier.schemes import Reveal
from zenserve.verifier.words import claim


def write(vectors: Vectors, world: World) -> None:
    graph = networks.of_kinds(6, "conv", shape=(1, 3, 3), classes=1)
    q = networks.inputs(graph, 3, 1)[2]
    value = int(graph.execute(q).logits[0])
    _thresholds(vectors, world, graph, q, value)
    _ranges(vectors, world, graph, q, value)
    _many(vectors, world)
    _several(vectors, world)


def _maker(world: World, graph: QuantGraph, reveal: Reveal, bounds: int = 1) -> Maker:
    return Maker.of(compile_inference(graph, reveal=reveal, bounds=bounds, level=3), world.basis)


def _thresholds(vectors: Vectors, world: World, graph: QuantGraph, q: IntArray, value: int) -> None:
    maker = _maker(world, graph, "threshold")
    low, high = _reach(maker)
    key = maker.key_file
    thresholds = {
        "reached": ("It is exactly that.", value),
        "below": ("It is one step less.", value + 1),
        "least": ("All that there is is at least that.", low),
        "beyond-all": ("Nothing is.", high + 1),
    }
    for name, (comment, threshold) in thresholds.items():
        document = inference(maker, q, {}, bounds={"output": [threshold]})
        vectors.case(f"threshold/{name}", comment, document, key)
        said = document.statement.values
        other = said | {"reached": 1 - int(str(said["reached"]))}
        lie = _lie(maker, q, document, {"output": [threshold]}, values=other, claim=_claim(key, other))
        comment = "And the contrary, in words, too."
        vectors.case(f"threshold/{name}-lie", comment, lie, key, "pairing_mismatch")
    honest = {"output": [value]}
    document = inference(maker, q, {}, bounds=honest)
    claimed, values = document.statement.claim, document.statement.values
    moved = {"threshold": value + 1, "reached": 1}
    lies: dict[str, tuple[str, dict[str, Any], str]] = {
        "contrary": (
            "It is not, say the values alone.",
            {"values": values | {"reached": 0}},
            "words_mismatch",
        ),
        "threshold": ("Another threshold.", {"values": moved}, "words_mismatch"),
        "threshold-and-claim": (
            "Another threshold, one step above the value, in words, too.",
            {"values": moved, "claim": _claim(key, moved)},
            "pairing_mismatch",
        ),
        "claim": (
            "The words have another.",
            {"claim": claimed.replace("least -", "least ")},
            "words_mismatch",
        ),
        "two": ("Neither 0 nor 1.", {"values": values | {"reached": 2}}, "values_mismatch"),
        "too-low": (
            "The circuit has no such threshold.",
            {"values": values | {"threshold": low - 1}},
            "values_mismatch",
        ),
        "listed": (
            "A threshold is one number.",
            {"values": values | {"threshold": [value]}},
            "values_mismatch",
        ),
        "value": (
            "And the value beside it.",
            {"values": values | {"values": [value]}},
            "values_mismatch",
        ),
    }
    for name, (comment, changes, reason) in lies.items():
        lie = _lie(maker, q, document, honest, **changes)
        vectors.case(f"threshold/{name}", comment, lie, key, reason)
    _keys(vectors, key, document)
    _pins(vectors, world, maker, q, value)


def _pins(vectors: Vectors, world: World, maker: Maker, q: IntArray, value: int) -> None:
    key, (low, _) = maker.key_file, _reach(maker)
    scale = maker.circuit.public_layout[1]["scale"]
    reached = inference(maker, q, {}, bounds={"output": [value]})
    below = inference(maker, q, {}, bounds={"output": [value + 1]})

    def said(steps: int) -> str:
        return str(scale * steps)

    for name, comment, document, told, reason in (
        ("least", "The threshold itself.", reached, {"at_least": said(value)}, "ok"),
        ("more", "The integer after it.", reached, {"at_least": said(value + 1)}, "output_mismatch"),
        ("most", "What is below the threshold.", below, {"at_most": said(value)}, "ok"),
        ("less", "The integer before that.", below, {"at_most": said(value - 1)}, "output_mismatch"),
        ("side", "It was not asked on this side.", reached, {"at_most": said(value)}, "output_mismatch"),
        ("below", "It is below.", below, {"at_least": said(low)}, "output_mismatch"),
        (
            "both",
            "One of the two is shown.",
            below,
            {"at_least": said(low), "at_most": said(value)},
            "output_mismatch",
        ),
        (
            "named",
            "There is one output, without a name.",
            reached,
            {"at_least": f"score={said(value)}"},
            "output_mismatch",
        ),
        ("no-number", "This is no number.", reached, {"at_least": "much"}, "file.json"),
        ("no-name", "This is no name.", reached, {"at_least": f"a/b={said(value)}"}, "file.json"),
    ):
        pins: dict[str, Any] = told
        vectors.case(f"ends/{name}", comment, document, key, reason, **pins)
    nothing: dict[str, Any] = {"at_least": "0"}
    vectors.case(
        "ends/label",
        "A label shows no value.",
        world.bare,
        world.plain.key_file,
        "output_mismatch",
        **nothing,
    )
    graph = networks.embedding(6)
    shown = _maker(world, graph, "values")
    own = networks.inputs(graph, 3, 1)[2]
    kind = graph.types[graph.output]
    assert kind is not None
    reals = [float(each) for each in kind.real(graph.execute(own).logits)]
    document = inference(shown, own, {})
    ends: dict[str, Any] = {"at_least": str(min(reals)), "at_most": str(max(reals))}
    vectors.case("ends/values", "All values are shown.", document, shown.key_file, **ends)
    higher: dict[str, Any] = {"at_least": str(max(reals))}
    vectors.case(
        "ends/one-value", "One value is less.", document, shown.key_file, "output_mismatch", **higher
    )


def _keys(vectors: Vectors, key: KeyFile, document: ProofDocument) -> None:
    """Descriptions that are of no circuit."""
    statement, threshold, reached = key.circuit["public_inputs"]
    hostile: dict[str, tuple[str, list[dict[str, Any]]]] = {
        "alone": ("A threshold of nothing.", [threshold]),
        "reached-alone": ("Reached is nothing.", [reached]),
        "exchanged": ("The other way round.", [reached, threshold]),
        "two": ("More reached than there are.", [threshold, reached | {"maximum": 2}]),
        "negative": ("Fewer than none.", [threshold, reached | {"minimum": -1}]),
        "unbounded": ("As many as you like.", [threshold, {"name": "reached", "count": 1, "shape": []}]),
        "listed": ("A threshold is one number.", [threshold | {"shape": [1]}, reached]),
        "scale": ("There are no words for such a scale.", [threshold | {"scale": 0.0}, reached]),
        "owner": ("Of two outputs.", [threshold | {"name": "threshold/a"}, reached | {"name": "reached/b"}]),
        "interval": ("A range has no such end.", [threshold, reached | {"name": "interval"}]),
        "scheme": ("A recognition has no outputs.", [threshold, reached | {"name": "match"}]),
    }
    for name, (comment, groups) in hostile.items():
        placed, first = [statement], 1
        for group in groups:
            placed.append(group | {"first": first})
            first += group["count"]
        other = renamed(key, circuit=key.circuit | {"public_inputs": placed})
        vectors.case(f"threshold/key-{name}", comment, document, other, "file.json")


def _ranges(vectors: Vectors, world: World, graph: QuantGraph, q: IntArray, value: int) -> None:
    maker = _maker(world, graph, "range", 2)
    key, circuit = maker.key_file, maker.circuit
    assert isinstance(circuit, Inference)
    for name, comment, ends in (
        ("inside", "Between the two.", [value - 3, value + 1]),
        ("single", "Between the two is one integer.", [value, value + 1]),
        ("below", "Below both.", [value + 1, value + 9]),
        ("above", "Above both.", [value - 9, value]),
    ):
        document = inference(maker, q, {}, bounds={"output": ends})
        vectors.case(f"range/{name}", comment, document, key)
        for other in {0, 1, 2} - {document.statement.values["interval"]}:
            said = document.statement.values | {"interval": other}
            lie = _lie(maker, q, document, {"output": ends}, values=said, claim=_claim(key, said))
            vectors.case(f"range/{name}-{other}", "It says elsewhere.", lie, key, "pairing_mismatch")
    bounds = {"output": [value - 3, value + 1]}
    document = inference(maker, q, {}, bounds=bounds)
    told: dict[str, Any] = {"at_least": str(circuit.public_layout[1]["scale"] * (value - 3))}
    vectors.case("range/expected", "What it is at least.", document, key, **told)
    said = document.statement.values
    for name, comment, changes in (
        ("three", "There are two.", {"bounds": [value - 3, value, value + 1]}),
        ("one", "There are two.", {"bounds": [value]}),
        ("number", "Bounds are a list.", {"bounds": value}),
        ("interval", "Of two bounds nothing is above three.", {"interval": 3}),
        ("no-interval", "Nor below none.", {"interval": -1}),
    ):
        lie = _lie(maker, q, document, bounds, values=said | changes)
        vectors.case(f"range/{name}", comment, lie, key, "values_mismatch")
    for name, ends in {"decreasing": [value + 1, value - 3], "equal": [value, value]}.items():
        # The constraints hold: of how many bounds it is at least that, it says rightly.
        values = {"bounds": ends, "interval": sum(value >= end for end in ends)}
        in_order = values | {"bounds": [min(ends), max(ends) + 1]}
        said_so = rehashed(document, values=values, claim=_claim(key, in_order)).statement
        witness = circuit._witness({"input": q.ravel(), "bounds": np.array(ends)}, said_so.scalar, 1)
        lie = ProofDocument.of(said_so, [maker.prove(witness, [])])
        vectors.case(f"range/{name}", "Bounds increase.", lie, key, "values_mismatch")


def _many(vectors: Vectors, world: World) -> None:
    typed, many = networks.embedding(6), networks.of_kinds(2, "conv", shape=(1, 3, 3), classes=20)
    for name, comment, graph in (
        ("threshold/values", "Of a type with a zero point, in turn.", typed),
        ("threshold/many", "Of more than sixteen words say the first eight.", many),
        ("threshold/no-scale", "They have no one scale: words say integers.", world.graph),
    ):
        maker, q = _maker(world, graph, "threshold"), networks.inputs(graph, 3, 1)[2]
        values = sorted(graph.execute(q).logits.tolist())
        bounds = {"output": [values[len(values) // 2]]}
        vectors.case(name, comment, inference(maker, q, {}, bounds=bounds), maker.key_file)
    told: dict[str, Any] = {"at_least": "0"}
    comment = "Integers without a scale show nothing in real numbers."
    document = inference(maker, q, {}, bounds=bounds)
    vectors.case("ends/no-scale", comment, document, maker.key_file, "output_mismatch", **told)
    maker, q = _maker(world, typed, "range", 3), networks.inputs(typed, 3, 1)[2]
    values = [0, *sorted(set(typed.execute(q).logits.tolist()) - {0})]
    document = inference(maker, q, {}, bounds={"output": [values[0], values[1], values[1] + 1]})
    vectors.case("range/values", "Several, each in an interval of its own.", document, maker.key_file)
    alone = {"bounds": document.statement.values["bounds"], "interval": 1}
    lie = rehashed(document, values=alone)
    vectors.case("range/one-of-several", "Of all one.", lie, maker.key_file, "values_mismatch")


def _several(vectors: Vectors, world: World) -> None:
    """By the outputs' names."""
    graph = several.network()
    q = {"a": np.array([1, 15]), "b": np.array([0, 7]), "c.1": np.array([9, 2])}
    circuit = compile_inference(graph, reveal={"all": "range", "last": "threshold"}, bounds=2)
    maker = Maker.of(circuit, world.basis)
    bounds: Bounds = {"all": [2, 9], "last": [2]}
    document = inference(maker, q, {}, bounds=bounds)
    key, kind = maker.key_file, graph.types["c.1"]
    assert kind is not None

    def case(name: str, comment: str, reason: str = "ok", **told: Any) -> None:
        vectors.case(f"ends/{name}", comment, document, key, reason, **told)

    step = str(kind.scale * (2 - kind.zero_point))
    case("of-several", "A range of one output, a threshold of another.")
    case("by-name", "What one of them is at least.", at_least=f"last={step}")
    case("of-another", "The other is not.", "output_mismatch", at_least=f"all={step}")
    case("of-each", "One is, and one is not.", "output_mismatch", at_least=f"last={step},all={step}")
    case("without-name", "Outputs have names.", "output_mismatch", at_least=step)
    said = document.statement.values
    exchanged = said | {"reached/last": [1 - each for each in _list(said["reached/last"])]}
    lie = _lie(maker, q, document, bounds, values=exchanged, claim=_claim(key, exchanged))
    vectors.case("ends/of-several-lie", "The threshold is not reached.", lie, key, "pairing_mismatch")


def _list(value: int | list[int]) -> list[int]:
    assert isinstance(value, list)
    return value


def _reach(maker: Maker) -> tuple[int, int]:
    circuit = maker.circuit
    return circuit.typed.outputs["output"].bound.interval


def _lie(
    maker: Maker, q: IntArray | dict[str, IntArray], document: ProofDocument, bounds: Bounds, **changes: Any
) -> ProofDocument:
    """Proven for the lie."""
    return inference(maker, q, {}, state=rehashed(document, **changes).statement, bounds=bounds)


def _claim(key: KeyFile, values: dict[str, Any]) -> str:
    return claim(checked(Description, key.circuit), values)
