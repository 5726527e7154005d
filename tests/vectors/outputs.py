"""Inferences that show the network's outputs: in words by the scale that the key gives them."""

from __future__ import annotations

from typing import Any

from tests.circuits.quantised import networks
from tests.client.makers import Maker, inference, rehashed
from tests.vectors.world import World, as_text, renamed
from tests.vectors.writing import Vectors
from zenserve.circuits import QuantGraph, compile_inference
from zenserve.relations.integers import IntArray
from zenserve.verifier.description import Description
from zenserve.verifier.documents import KeyFile, ProofDocument, checked
from zenserve.verifier.words import claim


def write(vectors: Vectors, world: World) -> None:
    one = networks.of_kinds(6, "conv", shape=(1, 3, 3), classes=1)
    many = networks.of_kinds(2, "conv", shape=(1, 3, 3), classes=20)
    assert one.output_scale
    assert many.output_scale
    assert not world.graph.output_scale
    graphs = {
        "valid": ("One output.", one),
        "many": ("Of more than sixteen words say the first eight.", many),
        "no-scale": ("They have no one scale: words say integers.", world.graph),
        "typed": ("Of a type with a zero point.", networks.embedding(6)),
    }
    for name, (comment, graph) in graphs.items():
        maker, q = _maker(world, graph), networks.inputs(graph, 3, 1)[2]
        document = inference(maker, q, {})
        vectors.case(f"values/{name}", comment, document, maker.key_file)
        if name == "typed":
            _lies(vectors, maker, q, document)
            _scales(vectors, maker, q, document)


def _maker(world: World, graph: QuantGraph) -> Maker:
    return Maker.of(compile_inference(graph, reveal="values", level=3), world.basis)


def _lies(vectors: Vectors, maker: Maker, q: IntArray, document: ProofDocument) -> None:
    """Each proven for the lie."""
    key, said = maker.key_file, document.statement
    values = said.values["values"]
    assert isinstance(values, list)
    other = [15 - values[0], *values[1:]]
    lies: dict[str, tuple[str, dict[str, Any], str]] = {
        "value": ("Another value.", {"values": {"values": other}}, "words_mismatch"),
        "value-and-claim": (
            "Another value, and so says the claim.",
            {"values": {"values": other}, "claim": _claim(key, other)},
            "pairing_mismatch",
        ),
        "claim": (
            "The first number is another.",
            {"claim": said.claim.replace(" are ", " are 1", 1)},
            "words_mismatch",
        ),
        "step": (
            "So is the step.",
            {"claim": said.claim.replace("steps of 0.1", "steps of 0.2")},
            "words_mismatch",
        ),
        "beyond": ("Beyond its type.", {"values": {"values": [16, *values[1:]]}}, "values_mismatch"),
        "more": ("One more.", {"values": {"values": [*values, 0]}}, "values_mismatch"),
        "fewer": ("One less.", {"values": {"values": values[1:]}}, "values_mismatch"),
        "single": ("A number, no list.", {"values": {"values": values[0]}}, "values_mismatch"),
        "label": ("A label beside them.", {"values": {"values": values, "label": 0}}, "values_mismatch"),
    }
    for name, (comment, changes, reason) in lies.items():
        vectors.case(f"values/{name}", comment, _lie(maker, q, document, **changes), key, reason)


def _scales(vectors: Vectors, maker: Maker, q: IntArray, document: ProofDocument) -> None:
    """In keys whose ids fit, where there is one."""
    key, values = maker.key_file, document.statement.values["values"]
    assert isinstance(values, list)
    for name, comment, changes in (
        ("tiny", "A scale that doubles just have.", {"scale": 5e-324}),
        (
            "third",
            "One that no decimal has, and the largest zero point.",
            {"scale": 1 / 3, "zero_point": 1 - (1 << 53)},
        ),
        ("large", "The largest that there is.", {"scale": 1e290, "zero_point": (1 << 53) - 1}),
    ):
        other = _scaled(key, **changes)
        named = {"id": other["id"], "setup": key.setup}
        described = checked(KeyFile, other)
        right = _lie(maker, q, document, verification_key=named, claim=_claim(described, values))
        vectors.case(f"values/scale-{name}", comment, right, other)
        kept = _lie(maker, q, document, verification_key=named)
        comment = "The words are by another scale than the key's."
        vectors.case(f"values/scale-{name}-kept", comment, kept, other, "words_mismatch")
    hostile: dict[str, dict[str, Any]] = {
        "zero": {"scale": 0.0},
        "negative": {"scale": -0.1},
        "text": {"scale": "0.1"},
        "true": {"scale": True},
        "beyond": {"scale": 1.1e290},
        "zero-point": {"zero_point": 0.5},
    }
    for name, changes in hostile.items():
        comment = "There are no words for such a scale."
        vectors.case(f"values/scale-{name}", comment, document, _scaled(key, **changes), "file.json")
    text = as_text(key.model_dump(mode="json"))
    spelled = b'"scale":0.1,"zero_point":2'
    assert spelled in text
    for name, number in (("nan", b"NaN"), ("infinite", b"1e400")):
        broken = text.replace(spelled, spelled.replace(b"0.1", number))
        vectors.case(
            f"values/scale-{name}", f"{number.decode()} is no number.", document, broken, "file.json"
        )


def _lie(maker: Maker, q: IntArray, document: ProofDocument, **changes: Any) -> ProofDocument:
    return inference(maker, q, {}, state=rehashed(document, **changes).statement)


def _claim(key: KeyFile, values: list[int]) -> str:
    return claim(checked(Description, key.circuit), {"values": values})


def _scaled(key: KeyFile, **changes: Any) -> Any:
    statement, values = key.circuit["public_inputs"]
    return renamed(key, circuit=key.circuit | {"public_inputs": [statement, values | changes]})
