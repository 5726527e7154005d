"""Inferences that show a commitment to an output, and nothing else of it: whose it is, opened, handed on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.circuits.quantised import networks
from tests.client.makers import Maker, inference, rehashed
from tests.vectors import several
from tests.vectors.world import World, renamed
from tests.vectors.writing import Vectors
from zenserve.circuits import QuantGraph, compile_inference, input_values, parameters
from zenserve.circuits.operators.concat import Concat
from zenserve.kernels import fr
from zenserve.prover.groth16 import Opening
from zenserve.relations.integers import IntArray
from zenserve.verifier.documents import KeyFile, OpeningFile, OpeningPart, ProofDocument, checked, named
from zenserve.verifier.registry import FIRST, SYSTEMS
from zenserve.verifier.schemes import Reveal

INPUTS = {"a": np.array([1, 15]), "b": np.array([0, 7]), "c.1": np.array([9, 2])}


def write(vectors: Vectors, world: World) -> None:
    graph = networks.embedding(6)
    q = networks.inputs(graph, 3, 1)
    maker = Maker.of(compile_inference(graph, reveal="commitment"), world.basis)
    values, held = _committed(maker, q[2])
    document = inference(maker, q[2], held)
    vectors.case("output/valid", "Values of a type, and a commitment to them.", document, maker.key_file)
    _openings(vectors, maker, document, held["output"], values["output"])
    _lies(vectors, maker, q, document, held, values["output"])
    _keys(vectors, maker.key_file, document)
    _handed_on(vectors, world, graph, values["output"], held["output"])
    _sums(vectors, world)
    _several(vectors, world)


def _committed(maker: Maker, q: Any) -> tuple[dict[str, IntArray], dict[str, Opening]]:
    circuit: Any = maker.circuit
    values = circuit.committed_values(q)
    return values, {name: maker.commit(each) for name, each in values.items()}


def _part(maker: Maker, opening: Opening, values: IntArray, shown: list[int] | None = None) -> OpeningPart:
    revealed = maker.basis.reveal(opening, fr.from_int64(values)).to_json()
    integers = values[5:].tolist() if shown is None else shown
    fields = {"commitment": opening.commitment.hex(), "opening": revealed, "values": integers}
    return checked(OpeningPart, fields)


def _file(*parts: OpeningPart) -> OpeningFile:
    return OpeningFile(**named(SYSTEMS[FIRST]), kind="output", parts=[*parts])


def _openings(
    vectors: Vectors, maker: Maker, document: ProofDocument, held: Opening, values: IntArray
) -> None:
    key, integers = maker.key_file, values[5:].tolist()
    top = (1 << 4) - 1
    other = maker.commit(values)
    part = _part(maker, held, values)
    own = {"commitment": held.commitment.hex(), "opening": part.opening}
    moved, beyond = [integers[0] ^ 1, *integers[1:]], [top + 1, *integers[1:]]
    cases: dict[str, tuple[str, OpeningFile, str]] = {
        "opened": ("What it is to.", _file(part), "ok"),
        "opened-to-another": (
            "One step beside it.",
            _file(_part(maker, held, values, moved)),
            "output_mismatch",
        ),
        "opened-beyond": (
            "No integer of the type.",
            _file(_part(maker, held, values, beyond)),
            "output_mismatch",
        ),
        "opened-short": (
            "One value is missing.",
            _file(_part(maker, held, values, integers[:-1])),
            "output_mismatch",
        ),
        "opened-long": (
            "Commitments do not tell zeros at the end from nothing.",
            _file(_part(maker, held, np.append(values, 0))),
            "output_mismatch",
        ),
        "opened-for-another": (
            "Of another commitment to the same output.",
            _file(_part(maker, other, values)),
            "output_mismatch",
        ),
        "opened-and-another": (
            "A part that opens nothing of it.",
            _file(part, _part(maker, other, values)),
            "output_mismatch",
        ),
        "opened-twice": ("Two parts of one commitment.", _file(part, part), "output_mismatch"),
    }
    for name, (comment, file, reason) in cases.items():
        vectors.case(f"output/{name}", comment, document, key, reason, opening=file)
    fields = _file(part).model_dump(mode="json")
    for name, comment, changed in (
        ("opening-without-values", "Nothing else shows what they are.", fields | {"parts": [own]}),
        ("opening-of-an-input", "Inputs are whose they are.", fields | {"kind": "input"}),
        ("opening-real", "Values are integers.", fields | {"parts": [own | {"values": [0.5, 1, 2]}]}),
    ):
        vectors.case(f"output/{name}", comment, document, key, "file.json", opening=changed)
    commitment = held.commitment.hex()
    vectors.case("output/expected", "The commitment is known.", document, key, output_commitment=commitment)
    comment, unlike = "Another is expected, though to the same output.", other.commitment.hex()
    vectors.case(
        "output/expected-another", comment, document, key, "output_mismatch", output_commitment=unlike
    )
    comment = "It is no commitment to an input."
    vectors.case(
        "output/expected-input", comment, document, key, "input_mismatch", input_commitment=commitment
    )


def _lies(
    vectors: Vectors,
    maker: Maker,
    q: IntArray,
    document: ProofDocument,
    held: dict[str, Opening],
    values: IntArray,
) -> None:
    key = maker.key_file
    _, another = _committed(maker, q[1])
    limb = values.copy()
    limb[0] ^= 1
    moved, beyond = values.copy(), values.copy()
    moved[-1] ^= 1
    beyond[-1] = 1 << 4
    for name, comment, opening in (
        ("another", "A commitment to what another input comes to.", another["output"]),
        ("moved", "One value is one step beside the output.", maker.commit(moved)),
        ("beyond", "One is no integer of the type.", maker.commit(beyond)),
        ("type", "To the output, as one of another type.", maker.commit(limb)),
        ("longer", "And zero behind it.", maker.commit(np.append(values, 1))),
    ):
        lie = inference(maker, q[2], {"output": opening})
        vectors.case(f"output/{name}", comment, lie, key, "output_mismatch")
    replayed = rehashed(document, commitments={"output": another["output"].commitment.hex()})
    comment = "Another commitment in the statement of a proof."
    vectors.case("output/replayed", comment, replayed, key, "output_mismatch")
    comment = "The commitment is of the statement, and hashed with it."
    edited = document.model_copy(update={"statement": replayed.statement})
    vectors.case("output/edited", comment, edited, key, "statement_edited")
    vectors.case("output/missing", "None.", rehashed(document, commitments={}), key, "commitment_count")
    named = {"output/a": held["output"].commitment.hex()}
    vectors.case(
        "output/named", "Of several.", rehashed(document, commitments=named), key, "commitment_count"
    )
    comment = "The output, which nothing shows."
    shown = rehashed(document, values={"values": values[5:].tolist()})
    vectors.case("output/values", comment, shown, key, "values_mismatch")
    unsaid = [each for each in document.statement.does_not_say if "committed output" not in each]
    comment = "It does not say that the commitment says nothing."
    vectors.case("output/unsaid", comment, rehashed(document, does_not_say=unsaid), key, "words_mismatch")


def _keys(vectors: Vectors, key: KeyFile, document: ProofDocument) -> None:
    (output,) = key.circuit["quantisation"]["outputs"]
    kind, types = output["type"], key.circuit["quantisation"]

    def refused(name: str, comment: str, outputs: Any, **changes: Any) -> None:
        circuit = key.circuit | {"quantisation": types | {"outputs": outputs}} | changes
        vectors.case(f"output/{name}", comment, document, renamed(key, circuit=circuit), "file.json")

    refused("key-untyped", "Committed to, and of no type.", None)
    refused("key-twice", "One output twice.", [output, output])
    refused("key-named", "Of one and of several.", [output, output | {"name": "output/a"}])
    refused("key-other-name", "No name of an output.", [output | {"name": "outputs"}])
    refused("key-type-named", "Types of outputs have no names.", [output | {"type": kind | {"name": "a"}}])
    refused("key-scale", "No number says it.", [output | {"type": kind | {"scale": 1e300}}])
    refused("key-bits", "More than 32 bits.", [output | {"type": kind | {"bits": 33}}])
    refused("key-empty", "A list of none.", [])
    refused("key-unlinked", "Typed, and not committed to.", [output], commitments=[])
    shown = [*key.circuit["public_inputs"], {"name": "label", "count": 1, "shape": [], "first": 1}]
    refused("key-shown", "Hidden, and its label shown.", [output], public_inputs=shown)
    group = {"name": "output", "count": 3, "shape": [3], "first": 1}
    public = [*key.circuit["public_inputs"], group]
    refused("key-public", "Among the public inputs.", [output], public_inputs=public)
    refused("key-scheme", "Registrations have no outputs.", [output], scheme="registration")


def _handed_on(vectors: Vectors, world: World, graph: QuantGraph, values: IntArray, held: Opening) -> None:
    """To a network whose input is of the type, and to others."""
    kind = graph.types[graph.output]
    assert kind is not None
    taking = QuantGraph.of("x", (3,), kind, (Concat("same", ("x",), 0),), "same")
    output, commitment = values[5:], held.commitment.hex()
    maker = Maker.of(compile_inference(taking, input_privacy="committed", reveal="values"), world.basis)
    assert input_values(taking, output).tolist() == values.tolist()
    document = inference(maker, output, {"input": held})
    comment = "Another network takes the output by its commitment."
    vectors.case("handed/valid", comment, document, maker.key_file, input_commitment=commitment)
    other = maker.commit(values)
    comment = "It takes another commitment to the same values."
    lie = inference(maker, output, {"input": other})
    vectors.case(
        "handed/another", comment, lie, maker.key_file, "input_mismatch", input_commitment=commitment
    )
    replaced = rehashed(document, commitments={"input": other.commitment.hex()})
    comment = "The other is put in its place."
    vectors.case("handed/replaced", comment, replaced, maker.key_file, "input_mismatch")
    moved = output.copy()
    moved[0] ^= 1
    comment = "It took other values than are committed to."
    lie = inference(maker, moved, {"input": held})
    vectors.case("handed/moved", comment, lie, maker.key_file, "input_mismatch")
    comment = "What opens an output opens none of this proof."
    file = _file(_part(maker, held, values))
    vectors.case(
        "handed/opened", comment, document, maker.key_file, "output_mismatch", compared=False, opening=file
    )
    wider = replace(taking, inputs=(replace(taking.input, type=replace(kind, scale=2 * kind.scale)),))
    unlike = Maker.of(compile_inference(wider, input_privacy="committed", reveal="values"), world.basis)
    lie = inference(unlike, output, {"input": held})
    comment = "A network whose input has other steps takes it."
    vectors.case("handed/type", comment, lie, unlike.key_file, "input_mismatch")


def _sums(vectors: Vectors, world: World) -> None:
    """What they are above the least that they can be."""
    graph = networks.of_kinds(6, "conv", shape=(1, 3, 3), classes=1)
    q = networks.inputs(graph, 3, 1)[2]
    maker = Maker.of(compile_inference(graph, reveal="commitment", weight_privacy="committed"), world.basis)
    values, held = _committed(maker, q)
    model = {"model": maker.commit(parameters(graph))}
    document = inference(maker, q, model | held)
    file = _file(_part(maker, held["output"], values["output"]))
    comment = "Sums below 0 of a hidden network, opened."
    vectors.case("output/sums", comment, document, maker.key_file, opening=file)


def _several(vectors: Vectors, world: World) -> None:
    graph = several.network()
    reveal: dict[str, Reveal] = {"all": "commitment", "last": "values"}
    maker = Maker.of(compile_inference(graph, reveal=reveal), world.basis)
    values, held = _committed(maker, INPUTS)
    document = inference(maker, INPUTS, held)
    key = maker.key_file
    vectors.case("output/of-several", "One is hidden, and one is shown.", document, key)
    file = _file(_part(maker, held["output/all"], values["output/all"]))
    vectors.case("output/of-several-opened", "And opened.", document, key, opening=file)
    (output,) = key.circuit["quantisation"]["outputs"]
    for name, comment, own in (
        ("shown", "One is hidden and shown.", "output/last"),
        ("unnamed", "It has no name.", "output"),
    ):
        types = key.circuit["quantisation"] | {"outputs": [output | {"name": own}]}
        circuit = key.circuit | {"quantisation": types, "commitments": [own]}
        wrong = renamed(key, circuit=circuit)
        vectors.case(f"output/of-several-{name}", comment, document, wrong, "file.json")
    both = Maker.of(compile_inference(graph, reveal="commitment"), world.basis)
    values, held = _committed(both, INPUTS)
    document, key = inference(both, INPUTS, held), both.key_file
    parts = [_part(both, held[name], values[name]) for name in held]
    comment = "Both are hidden and opened."
    vectors.case("output/both", comment, document, key, opening=_file(*parts))
    vectors.case("output/both-one", "One is opened.", document, key, opening=_file(parts[1]))
    exchanged = [
        part.model_copy(update={"commitment": other.commitment})
        for part, other in zip(parts, reversed(parts), strict=True)
    ]
    comment = "Each opening under the other's commitment."
    vectors.case(
        "output/both-exchanged", comment, document, key, "output_mismatch", opening=_file(*exchanged)
    )
    swapped = inference(both, INPUTS, dict(zip(held, reversed(held.values()), strict=True)))
    comment = "Each commitment in the place of the other."
    vectors.case("output/both-swapped", comment, swapped, key, "output_mismatch")
