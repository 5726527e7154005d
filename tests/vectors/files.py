"""Files that are no documents, and key files that are no keys."""

from __future__ import annotations

import hashlib
from typing import Any

from tests.prover.vectors.points import bad_encodings
from tests.vectors.world import World, as_text, dumped, forged, renamed, repointed, stated, without
from tests.vectors.writing import Vectors
from zenserve.verifier.groth16.verifying_key import VerifyingKey
from zenserve.verifier.points import decode_g1


def write(vectors: Vectors, world: World) -> None:
    _documents(vectors, world)
    _keys(vectors, world)
    _descriptions(vectors, world)


def _documents(vectors: Vectors, world: World) -> None:
    bare, key = world.bare, world.plain.key_file
    text, said, fields = as_text(dumped(bare)), dumped(bare)["statement"], dumped(bare)
    point = world.model.commitment.hex()
    inferred = dumped(world.inferred)["statement"]
    assert b'"version":3' in text
    broken: dict[str, tuple[str, Any]] = {
        "cut": ("The last byte is missing.", text[:-1]),
        "trailing": ("Something follows.", text + b"{}"),
        "twice": ("A field is given twice.", text.replace(b"{", b'{"format":"zenserve proof",', 1)),
        "not-utf8": ("A byte that is no UTF-8.", text.replace(b'"zenserve proof"', b'"zenserve\xffproof"')),
        "nan": ("NaN is no number.", text.replace(b'"label":', b'"other":NaN,"label":')),
        "infinity": ("A number beyond doubles.", text.replace(b'"label":', b'"other":1e999,"label":')),
        "deep": ("Nested a thousand deep.", b"[" * 1000 + b"]" * 1000),
        "array": ("It is a list.", [fields]),
        "version-float": ("3.0 is no version.", text.replace(b'"version":3', b'"version":3.0', 1)),
        "version-text": ("Nor is a text.", fields | {"version": "3"}),
        "version-later": ("Of version 4.", fields | {"version": 4}),
        "version-statement": ("The statement is of version 2.", stated(bare, version=2)),
        "format": ("Of another format.", fields | {"format": "zenserve proofs"}),
        "field": ("A field more.", fields | {"more": 1}),
        "field-statement": ("A field more in the statement.", stated(bare, more=1)),
        "missing": ("A field less.", without(fields, "statement_sha256")),
        "no-proofs": ("None at all.", fields | {"proofs": []}),
        "upper-case": ("Hex in capitals.", fields | {"statement_sha256": bare.statement_sha256.upper()}),
        "odd-hex": ("Half a byte.", fields | {"proofs": [bare.proofs[0][1:]]}),
        "long-proof": ("Of 2,049 bytes.", fields | {"proofs": ["00" * 2049]}),
        "no-system": ("It names no system.", fields | {"statement": without(said, "system")}),
        "null-system": ("Its system is null.", stated(bare, system=None)),
        "unknown-system": ("Of a system that nobody knows.", stated(bare, system="groth17")),
        "other-scheme": ("Commitments are otherwise.", stated(bare, commitment_scheme="sha256")),
        "big-integer": ("A label of 2^53.", as_text(stated(bare, values={"label": 1 << 53}))),
        "true": ("true is no label.", stated(bare, values={"label": True})),
        "float-label": ("1.0 is no label.", text.replace(b'"label":', b'"label":1.0,"other":')),
        "name-of-value": ("A value's name has capitals.", stated(bare, values={"Label": 1})),
        "moment": ("30 February.", stated(bare, made_at="2026-02-30T12:00:00Z")),
        "zone": ("An hour off UTC.", stated(bare, made_at="2026-11-21T12:00:00+01:00")),
        "control": ("A control character.", stated(bare, challenge="a\u001b[2J")),
        "long-challenge": ("Of 201 characters.", stated(bare, challenge="a" * 201)),
        "empty-challenge": ("Of none.", stated(bare, challenge="")),
        "parent": ("An inference has none.", stated(bare, parent=point)),
        "dataset": ("Nor has it a dataset.", stated(bare, dataset={})),
        "no-dataset": ("An accuracy has one.", stated(bare, scheme="accuracy")),
        "short-commitment": (
            "A commitment of 47 bytes.",
            stated(world.inferred, commitments=inferred["commitments"] | {"model": point[2:]}),
        ),
    }
    for name, (comment, document) in broken.items():
        vectors.case(f"file/{name}", comment, document, key, "file.json")
    assessed = world.assessor.document(world.data)
    dataset = dumped(assessed)["statement"]["dataset"]
    shards = dataset["shards"]
    own = world.assessor.maker.key_file
    opening = shards[0]["opening"]
    datasets: dict[str, tuple[str, Any]] = {
        "unopened": (
            "A shard of a public dataset has no opening.",
            [shards[0] | {"opening": None}, *shards[1:]],
        ),
        "opening-field": (
            "An opening has a field more.",
            [shards[0] | {"opening": opening | {"more": 1}}, *shards[1:]],
        ),
        "opening-short": (
            "An opening's point is short.",
            [shards[0] | {"opening": opening | {"quotient": opening["quotient"][2:]}}, *shards[1:]],
        ),
        "empty-shard": ("A shard of nothing.", [shards[0] | {"size": 0}, *shards[1:]]),
        "no-shards": ("No shards.", []),
    }
    for name, (comment, changed) in datasets.items():
        document = stated(assessed, dataset=dataset | {"shards": changed})
        vectors.case(f"file/{name}", comment, document, own, "file.json")


def _keys(vectors: Vectors, world: World) -> None:
    key, document = world.plain.key_file, world.bare
    points = key.key

    def case(name: str, comment: str, broken: Any, reason: str, proof: Any = document) -> None:
        vectors.case(f"key/{name}", comment, proof, broken, reason)

    case("id", "The id is another's.", dumped(key, id="0" * 64), "file.hash")
    meaning = key.circuit | {"meaning": "All is well."}
    case("meaning", "Its meaning was changed.", dumped(key, circuit=meaning), "file.hash")
    other = renamed(key, circuit=meaning)
    case("meaning-renamed", "And its id made to fit.", other, "key_mismatch")
    named = {"verification_key": {"id": other["id"], "setup": "development"}}
    case("meaning-named", "And the proof says so.", other, "words_mismatch", world.bare_lie(**named))
    case(
        "digest",
        "The key's digest is another's.",
        renamed(key, key=points | {"digest": "0" * 64}),
        "file.hash",
    )
    case("setup", "A label that the key has not.", renamed(key, setup="ceremony"), "file.setup_label")
    claimed = repointed(key) | {"setup": "ceremony"}
    claimed["key"] = claimed["key"] | {"setup": "ceremony"}
    case("ceremony", "A ceremony without contributions.", claimed, "file.shape")
    case(
        "label",
        "A label that nobody knows.",
        renamed(key, key=points | {"setup": "safe"}),
        "file.setup_label",
    )
    case("field", "A field more in the file.", dumped(key, more=1), "file.json")
    case("key-field", "A field more in the key.", renamed(key, key=points | {"more": 1}), "file.json")
    case("version", "Of version 4.", dumped(key, version=4), "file.json")
    case("unnamed", "It names no system.", without(dumped(key), "system"), "file.json")
    case("unknown-system", "Of a system that nobody knows.", dumped(key, system="groth17"), "file.json")
    case("curve", "Over another curve.", renamed(key, key=points | {"curve": "bn254"}), "file.json")
    case("inputs", "A public input less.", renamed(key, key=points | {"ic": points["ic"][:-1]}), "file.hash")
    case(
        "challenge", "A challenge and no segment.", renamed(key, key=points | {"challenges": 1}), "file.shape"
    )
    transcript = {"transcript": {"format": "none"}}
    case("transcript", "Of no ceremony.", dumped(key) | transcript, "file.transcript")
    for fault, point in bad_encodings(bytes.fromhex(points["alpha_g1"])).items():
        broken = repointed(key, alpha_g1=point.hex())
        case(f"alpha-{fault}", f"The point is no such: {fault}.", broken, f"file.point_{fault}")
    for fault, point in bad_encodings(bytes.fromhex(points["delta_g2"])).items():
        broken = repointed(key, delta_g2=point.hex())
        case(f"delta-{fault}", f"The point is no such: {fault}.", broken, f"file.point_{fault}")
    as_gamma = repointed(key, delta_g2=points["gamma_g2"])
    forgery = forged(document, key, as_gamma)
    case("delta-is-gamma", "A proof without a witness fits it.", as_gamma, "file.unsafe_key", forgery)
    first, second = points["ic"][:2]
    twice = decode_g1(bytes.fromhex(first))
    double = bytes((twice + twice).to_compressed_bytes())
    raw = VerifyingKey.from_json(points).to_bytes().replace(bytes.fromhex(second), double)
    assert raw.count(double) == 1
    proportional = _with_ic(key, [first, double.hex(), *points["ic"][2:]], raw)
    case("ic-double", "IC_1 is twice IC_0.", proportional, "file.unsafe_key")


def _with_ic(key: Any, ic: list[str], raw: bytes) -> Any:
    return renamed(key, key=key.key | {"ic": ic, "digest": hashlib.sha256(raw).hexdigest()})


def _descriptions(vectors: Vectors, world: World) -> None:
    """Of keys whose ids fit."""
    key = world.committed.key_file
    circuit = key.circuit
    statement, label, logits = circuit["public_inputs"]
    kind = circuit["quantisation"]["input"]
    broken: dict[str, tuple[str, dict[str, Any], str]] = {
        "no-statement": ("Nothing ties it to words.", {"public_inputs": [label, logits]}, "file.json"),
        "gap": ("A group begins too late.", {"public_inputs": [statement, logits]}, "file.json"),
        "groups-less": ("A group less.", {"public_inputs": [statement, label]}, "file.shape"),
        "group-name": (
            "A group that the scheme does not show.",
            {"public_inputs": [statement, label | {"name": "match"}, logits]},
            "file.json",
        ),
        "group-listed": (
            "A label that is a list.",
            {"public_inputs": [statement, label | {"shape": [1]}, logits]},
            "file.json",
        ),
        "group-scale": (
            "A scale that is a text, of a group whose scale nobody reads.",
            {"public_inputs": [statement, label | {"scale": "1"}, logits]},
            "file.json",
        ),
        "group-zero-point": (
            "A zero point that is no integer, of such a group.",
            {"public_inputs": [statement, label | {"zero_point": 0.5}, logits]},
            "file.json",
        ),
        "commitment-less": ("A commitment less.", {"commitments": ["model"]}, "file.shape"),
        "commitment-order": ("In another order.", {"commitments": ["input", "model"]}, "file.json"),
        "commitment-name": ("Of another scheme.", {"commitments": ["model", "dataset"]}, "file.json"),
        "scheme": ("An accuracy without a dataset.", {"scheme": "accuracy"}, "file.json"),
        "input-size": (
            "An input of another size than the key's segment.",
            {"quantisation": {"input": kind | {"shape": [1, 3, 2]}}},
            "file.shape",
        ),
        "scale": ("A scale of zero.", {"quantisation": {"input": kind | {"scale": 0.0}}}, "file.json"),
        "network": ("A hash too short.", {"network": "00"}, "file.json"),
    }
    for name, (comment, changes, reason) in broken.items():
        other = renamed(key, circuit=circuit | changes)
        vectors.case(f"description/{name}", comment, world.inferred, other, reason)
    shown = world.public.key_file
    both = renamed(key, circuit=shown.circuit | {"commitments": ["input"]})
    comment = "An input both public and committed."
    vectors.case("description/both", comment, world.shown, both, "file.json")
