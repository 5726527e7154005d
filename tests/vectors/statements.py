"""Statements that lie, and proofs that are none."""

from __future__ import annotations

from typing import Any

from tests.client.makers import rehashed
from tests.prover.vectors.points import bad_encodings
from tests.vectors.world import World, dumped, with_proof
from tests.vectors.writing import Vectors


def write(vectors: Vectors, world: World) -> None:
    _lies(vectors, world)
    _proofs(vectors, world)


def _lies(vectors: Vectors, world: World) -> None:
    """Each proven for the lie."""
    key, said = world.committed.key_file, world.inferred.statement.model_dump()
    values, commitments, named = said["values"], said["commitments"], said["verification_key"]
    model, label = commitments["model"], (values["label"] + 1) % 3
    lies: dict[str, tuple[dict[str, Any], str]] = {
        "claim": ({"claim": said["claim"] + " All is well."}, "words_mismatch"),
        "does-not-say": ({"does_not_say": said["does_not_say"][1:]}, "words_mismatch"),
        "scheme": ({"scheme": "recognition"}, "words_mismatch"),
        "network": ({"network": "0" * 64}, "network_mismatch"),
        "key": ({"verification_key": named | {"id": "0" * 64}}, "key_mismatch"),
        "setup": ({"verification_key": named | {"setup": "ceremony"}}, "key_mismatch"),
        "label": ({"values": values | {"label": label}}, "words_mismatch"),
        "label-and-claim": (
            {
                "values": values | {"label": label},
                "claim": said["claim"].replace(f"is {values['label']}.", f"is {label}.", 1),
            },
            "pairing_mismatch",
        ),
        "label-beyond": ({"values": values | {"label": 3}}, "values_mismatch"),
        "label-listed": ({"values": values | {"label": [0]}}, "values_mismatch"),
        "logits-more": ({"values": values | {"logits": [*values["logits"], 0]}}, "values_mismatch"),
        "logits-beyond": (
            {"values": values | {"logits": [1 << 52, *values["logits"][1:]]}},
            "values_mismatch",
        ),
        "logits-missing": ({"values": {"label": values["label"]}}, "values_mismatch"),
        "value-more": ({"values": values | {"approved": 1}}, "values_mismatch"),
        "model": ({"commitments": commitments | {"model": commitments["input"]}}, "model_mismatch"),
        "input": ({"commitments": commitments | {"input": model}}, "input_mismatch"),
        "commitment-less": ({"commitments": {"model": model}}, "commitment_count"),
        "commitment-more": ({"commitments": commitments | {"reference": model}}, "commitment_count"),
    }
    for fault, point in bad_encodings(bytes.fromhex(model)).items():
        lie = {"commitments": commitments | {"model": point.hex()}}
        lies[f"commitment-{fault}"] = lie, f"commitment_{fault}"
    for name, (changes, reason) in lies.items():
        comment = f"{name.split('-')[0]} is another, and proven."
        vectors.case(f"statement/{name}", comment, world.lie(**changes), key, reason)
    swapped = {"model": commitments["input"], "input": model}
    document = rehashed(world.inferred, commitments=swapped)
    vectors.case("statement/swapped", "Model and input.", document, key, "model_mismatch")
    for name, value in (("challenge", None), ("made_at", "2026-11-22T12:00:00Z")):
        document = rehashed(world.inferred, **{name: value})
        comment = f"{name} was changed, and the hash made to fit."
        vectors.case(f"statement/{name}", comment, document, key, "pairing_mismatch")
        kept = dumped(document, statement_sha256=world.inferred.statement_sha256)
        comment = f"{name} was changed, and nothing else."
        vectors.case(f"statement/{name}-alone", comment, kept, key, "statement_edited")
    proven = dumped(world.inferred, statement_sha256="0" * 64)
    vectors.case("statement/hash", "The hash alone was changed.", proven, key, "statement_edited")
    other = dumped(world.shown)
    vectors.case("statement/other-key", "Of another circuit.", other, key, "key_mismatch")


def _proofs(vectors: Vectors, world: World) -> None:
    key, honest = world.committed.key_file, bytes.fromhex(world.inferred.proofs[0])
    m, links = honest[16:18]
    starts = {"a": 18, "b": 66, "c": 162, "segment": 210, "knowledge": 210 + 48 * m, "link": 210 + 96 * m}
    assert len(honest) == starts["link"] + 48 * links

    def case(name: str, comment: str, proof: bytes, reason: str) -> None:
        document = with_proof(world.inferred, proof)
        vectors.case(f"proof/{name}", comment, document, key, reason)

    def replaced(start: int, part: bytes) -> bytes:
        return honest[:start] + part + honest[start + len(part) :]

    reasons = {"a": "pairing", "b": "pairing", "c": "pairing", "link": "model"}
    for name, start in starts.items():
        element = honest[start : start + (96 if name == "b" else 48)]
        for fault, point in bad_encodings(element).items():
            case(
                f"{name}-{fault}",
                f"The point is no such: {fault}.",
                replaced(start, point),
                f"{name}_{fault}",
            )
        opposite = bytes([element[0] ^ 0x20]) + element[1:]
        reason = f"{reasons.get(name, 'knowledge')}_mismatch"
        case(f"{name}-negated", "The point with its sign changed.", replaced(start, opposite), reason)
    d, knowledge, link = starts["segment"], starts["knowledge"], starts["link"]
    swapped = {
        name: honest[start + 48 : start + 96] + honest[start : start + 48]
        for name, start in (("segments", d), ("knowledge", knowledge), ("links", link))
    }
    case(
        "segments-swapped",
        "Two commitments to segments.",
        replaced(d, swapped["segments"]),
        "knowledge_mismatch",
    )
    both = replaced(d, swapped["segments"])
    both = both[:knowledge] + swapped["knowledge"] + both[knowledge + 96 :]
    case("pairs-swapped", "Segments with their knowledge.", both, "knowledge_mismatch")
    case("links-swapped", "Two proofs of links.", replaced(link, swapped["links"]), "model_mismatch")
    case("short", "A byte less.", honest[:-1], "proof_length")
    case("long", "A byte more.", honest + b"\0", "proof_length")
    case("empty", "No byte.", b"", "proof_length")
    case("no-segments", "It announces none.", replaced(16, b"\0\0"), "proof_length")
    case("bare", "A, B and C alone.", honest[18:210], "proof_shape")
    fewer = honest[:17] + bytes([links - 1]) + honest[18:-48]
    case("link-missing", "A link less, and so announced.", fewer, "proof_shape")
    case("magic", "It begins otherwise.", replaced(0, b"ZENSERVF"), "proof_length")
    case("version", "Of version 2.", replaced(8, b"\2"), "proof_format")
    case("kind", "It says that it is a key.", replaced(12, b"vkey"), "proof_format")
    case("other", "The proof of a registration.", bytes.fromhex(world.registered.proofs[0]), "proof_shape")
    two = dumped(world.inferred, proofs=world.inferred.proofs * 2)
    vectors.case("proof/two", "One proof twice.", two, key, "proof_count")
