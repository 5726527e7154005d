"""Inferences of a network of several inputs and outputs: whose commitment, whose values, whose words."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.client.makers import Maker, inference, rehashed
from tests.vectors.world import World, renamed
from tests.vectors.writing import Vectors
from zenserve.circuits import QuantGraph, compile_inference, input_values
from zenserve.circuits.graphs.types import Affine
from zenserve.circuits.operators.concat import Concat
from zenserve.circuits.quantised import QuantInput
from zenserve.kernels import fr
from zenserve.prover.groth16 import Opening
from zenserve.relations.integers import IntArray
from zenserve.verifier.description import Description
from zenserve.verifier.documents import KeyFile, OpeningFile, OpeningPart, ProofDocument, checked, named
from zenserve.verifier.registry import FIRST, SYSTEMS
from zenserve.verifier.schemes import Privacy, Reveal
from zenserve.verifier.words import claim

PRIVACIES: dict[str, Privacy] = {"a": "committed", "b": "public", "c.1": "private"}
REVEAL: dict[str, Reveal] = {"all": "values", "last": "logits"}


def network() -> QuantGraph:
    """``all``: the three inputs, one after the other; ``last``: the third of them."""
    kind = Affine(0.5, 3, 4)
    inputs = tuple(QuantInput(name, (2,), kind) for name in PRIVACIES)
    joined = Concat("joined", tuple(PRIVACIES), 0)
    return QuantGraph(inputs, (joined,), {"all": "joined", "last": "c.1"})


def write(vectors: Vectors, world: World) -> None:
    graph = network()
    q = {"a": np.array([1, 15]), "b": np.array([0, 7]), "c.1": np.array([9, 2])}
    maker = Maker.of(compile_inference(graph, input_privacy=PRIVACIES, reveal=REVEAL), world.basis)
    held = {"input/a": maker.commit(input_values(graph, q["a"], name="a"))}
    document = inference(maker, q, held)
    vectors.case("several/valid", "One input committed, one public, one private.", document, maker.key_file)
    _inputs(vectors, maker, q, held, document)
    _lies(vectors, maker, q, held, document)
    _swapped(vectors, world, graph, q)
    _keys(vectors, maker.key_file, document)


def _inputs(
    vectors: Vectors, maker: Maker, q: dict[str, IntArray], held: dict[str, Opening], document: ProofDocument
) -> None:
    key, kind = maker.key_file, Affine(0.5, 3, 4)
    real = {name: kind.real(values).tolist() for name, values in q.items()}
    values = input_values(network(), q["a"], name="a")
    revealed = maker.basis.reveal(held["input/a"], fr.from_int64(values)).to_json()
    part = {"commitment": held["input/a"].commitment.hex(), "opening": revealed}
    opening = OpeningFile(**named(SYSTEMS[FIRST]), kind="input", parts=[checked(OpeningPart, part)])
    both = {"a": real["a"], "b": real["b"]}
    told: dict[str, Any]
    cases: dict[str, tuple[str, dict[str, Any], str]] = {
        "inputs": ("They are these two.", {"input": both, "opening": opening}, "ok"),
        "input": ("The public one is this.", {"input": {"b": real["b"]}}, "ok"),
        "another-committed": (
            "The committed one is another.",
            {"input": {"a": real["b"]}, "opening": opening},
            "input_mismatch",
        ),
        "another-public": ("So is the public one.", {"input": {"b": real["a"]}}, "input_mismatch"),
        "exchanged": (
            "Each is the other.",
            {"input": {"a": real["b"], "b": real["a"]}, "opening": opening},
            "input_mismatch",
        ),
        "unknown": ("There is no such input.", {"input": {"d": real["a"]}}, "input.names"),
        "unnamed": ("Inputs have names.", {"input": real["b"]}, "input.names"),
    }
    for name, (comment, told, reason) in cases.items():
        vectors.case(f"several/{name}", comment, document, key, reason, **told)
    comment = "Nothing shows which the private one was."
    told = {"input": {"c.1": real["c.1"]}}
    vectors.case("several/private", comment, document, key, "input_mismatch", compared=False, **told)


def _lies(
    vectors: Vectors, maker: Maker, q: dict[str, IntArray], held: dict[str, Opening], document: ProofDocument
) -> None:
    """Each proven for the lie."""
    key, said = maker.key_file, document.statement
    values = dict(said.values)
    moved = values | {"logits/last": values["input/b"], "label/last": 1}
    other = values | {"input/b": [0, 8]}
    without = {name: value for name, value in values.items() if not name.endswith("/last")}
    commitment = said.commitments["input/a"]
    lies: dict[str, tuple[str, dict[str, Any], str]] = {
        "another-output": ("An output has another's values.", {"values": moved}, "words_mismatch"),
        "another-output-and-claim": (
            "And so says the claim.",
            {"values": moved, "claim": _claim(key, moved)},
            "pairing_mismatch",
        ),
        "another-value": ("Another public input.", {"values": other}, "pairing_mismatch"),
        "whose": (
            "The words are of another output.",
            {"claim": said.claim.replace("output last", "output all")},
            "words_mismatch",
        ),
        "unsaid": (
            "What is left open is of another input.",
            {"does_not_say": [each.replace("input c.1", "input b") for each in said.does_not_say]},
            "words_mismatch",
        ),
        "fewer": ("An output is left out.", {"values": without}, "values_mismatch"),
        "unnamed": (
            "An output without its name.",
            {"values": without | {"label": 0, "logits": [9, 2]}},
            "values_mismatch",
        ),
        "commitment-unnamed": (
            "A commitment without its name.",
            {"commitments": {"input": commitment}},
            "commitment_count",
        ),
        "commitment-of-another": (
            "A commitment to another input.",
            {"commitments": {"input/b": commitment}},
            "commitment_count",
        ),
        "name": (
            "A name with a second slash.",
            {"commitments": {"input/a/b": commitment}},
            "file.json",
        ),
    }
    for name, (comment, changes, reason) in lies.items():
        if reason == "file.json":
            edited = document.model_dump(mode="json")
            edited["statement"] |= changes
            vectors.case(f"several/lie-{name}", comment, edited, key, reason)
            continue
        state = rehashed(document, **changes).statement
        vectors.case(f"several/lie-{name}", comment, inference(maker, q, held, state=state), key, reason)


def _swapped(vectors: Vectors, world: World, graph: QuantGraph, q: dict[str, IntArray]) -> None:
    """Two committed inputs of one type: what is bound is also which is which."""
    privacies: dict[str, Privacy] = {"a": "committed", "b": "committed", "c.1": "private"}
    circuit = compile_inference(graph, input_privacy=privacies, reveal={"last": "label"})
    maker = Maker.of(circuit, world.basis)
    own = {name: maker.commit(input_values(graph, q[name], name=name)) for name in ("a", "b")}
    alike = {"input/a": own["a"], "input/b": own["b"]}
    document = inference(maker, q, alike)
    vectors.case("several/two-committed", "Two inputs committed.", document, maker.key_file)
    comment = "The two commitments in each other's place."
    exchanged = {"input/a": own["b"], "input/b": own["a"]}
    lie = inference(maker, q, exchanged)
    vectors.case("several/two-exchanged", comment, lie, maker.key_file, "input_mismatch")
    comment = "A commitment to the same numbers, but as another input."
    same = dict(q) | {"b": q["a"]}
    lie = inference(maker, same, {"input/a": own["a"], "input/b": own["a"]})
    vectors.case("several/two-as-one", comment, lie, maker.key_file, "input_mismatch")


def _keys(vectors: Vectors, key: KeyFile, document: ProofDocument) -> None:
    """Descriptions that are of no circuit."""
    statement, *groups = key.circuit["public_inputs"]
    b, values, label, logits = groups
    kinds = key.circuit["quantisation"]["inputs"]
    nameless = [{name: each for name, each in kind.items() if name != "name"} for kind in kinds]
    hostile: dict[str, tuple[str, dict[str, Any]]] = {
        "both": ("One input, and several.", {"quantisation": {"input": nameless[0], "inputs": kinds}}),
        "one": ("Several that are one.", {"quantisation": {"inputs": kinds[:1]}}),
        "nameless": ("Several without names.", {"quantisation": {"inputs": nameless}}),
        "named": ("One with a name.", {"quantisation": {"input": kinds[0]}}),
        "twice": ("Two of one name.", {"quantisation": {"inputs": [kinds[0], kinds[0], kinds[2]]}}),
        "slash": (
            "A name that is none.",
            {"quantisation": {"inputs": [kinds[0], kinds[1], kinds[2] | {"name": "c/1"}]}},
        ),
        "public-and-committed": ("Public and committed.", {"commitments": ["input/a", "input/b"]}),
        "unknown-commitment": ("To an input that is none.", {"commitments": ["input/d"]}),
        "logits-alone": ("Logits without a label.", {"public_inputs": _placed(statement, b, values, logits)}),
        "interleaved": (
            "Outputs are one after the other.",
            {"public_inputs": _placed(statement, b, label, values, logits)},
        ),
        "scheme": ("An accuracy shows no input.", {"scheme": "accuracy", "batch": 2, "classes": 2}),
    }
    for name, (comment, changes) in hostile.items():
        other = renamed(key, circuit=key.circuit | changes)
        vectors.case(f"several/key-{name}", comment, document, other, "file.json")


def _placed(*groups: dict[str, Any]) -> list[dict[str, Any]]:
    placed, first = [], 0
    for group in groups:
        placed.append(group | {"first": first})
        first += group["count"]
    return placed


def _claim(key: KeyFile, values: dict[str, Any]) -> str:
    return claim(checked(Description, key.circuit), values)
