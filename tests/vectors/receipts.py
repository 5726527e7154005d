"""Receipts: signed, changed, by another, under a key that is none."""

from __future__ import annotations

import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.client.makers import MADE_AT
from tests.vectors.honest import RECORDED
from tests.vectors.world import World
from tests.vectors.writing import Vectors
from zenserve.verifier.documents import named
from zenserve.verifier.fields import canonical
from zenserve.verifier.registry import FIRST, SYSTEMS

ISSUER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
STRANGER = Ed25519PrivateKey.from_private_bytes(bytes(32))


def signed(fields: dict[str, Any], by: Ed25519PrivateKey) -> dict[str, Any]:
    whole = fields | {"issuer": by.public_key().public_bytes_raw().hex()}
    return whole | {"signature": by.sign(canonical(whole)).hex()}


def fields_of(world: World) -> dict[str, Any]:
    """Of a receipt of committed weights, all that is not its issuer's."""
    registered = world.registered
    return {
        **named(SYSTEMS[FIRST]),
        "format": "zenserve receipt",
        "model_id": "mdl_1",
        "name": "Zehn Ziffern, größer",
        "commitment": world.model.commitment.hex(),
        "network": registered.statement.network,
        "parent": {"model_id": "mdl_0", "commitment": None},
        "registration": registered.statement_sha256,
        "registered_at": MADE_AT,
    }


def _write_twins(vectors: Vectors, fields: dict[str, Any]) -> None:
    """Models of the same network, under other systems."""
    twin = {"model_id": "mdl_2", "system": "spartan-bls12-381", "commitment": "5d" * 32}
    good, case = signed(fields | {"version": 4, "twins": [twin]}, ISSUER), vectors.case
    case("receipt/twins", "It lists a model of the same network, under another system.", good)
    public = {"commitment": None, "registration": None, "version": 4, "twins": [twin | {"commitment": None}]}
    case("receipt/twins-public", "Both with public weights.", signed(fields | public, ISSUER))
    other = good | {"twins": [twin | {"commitment": "5e" * 32}]}
    case("receipt/twins-changed", "The twin's commitment was changed.", other, reason="signature_mismatch")
    listed: dict[str, tuple[str, Any]] = {
        "null": ("There are some, or the field is not there.", None),
        "empty": ("The same.", []),
        "long": ("A commitment of another system's length.", [twin | {"commitment": "5d" * 48}]),
        "system": ("Of a system that nobody knows.", [twin | {"system": "nova"}]),
        "field": ("A field more.", [twin | {"more": 1}]),
    }
    for name, (comment, twins) in listed.items():
        document = signed(fields | {"version": 4, "twins": twins}, ISSUER)
        case(f"receipt/twins-{name}", comment, document, reason="file.json")
    for name, comment, more in (
        ("missing", "Receipts of version 4 list some.", {"version": 4}),
        ("version3", "Those of version 3 list none.", {"twins": [twin]}),
        ("version3-null", "Nor do they have the field.", {"twins": None}),
    ):
        document = signed(fields | more, ISSUER)
        case(f"receipt/twins-{name}", comment, document, reason="file.json")


def write(vectors: Vectors, world: World) -> None:
    fields, case = fields_of(world), vectors.case
    good = signed(fields, ISSUER)
    issuer = good["issuer"]
    case("receipt/valid", "Committed weights, and a parent.", good)
    case("receipt/expected", "The issuer is the expected one.", good, issuer=issuer)
    open_ = signed(fields | {"commitment": None, "registration": None, "parent": None}, ISSUER)
    case("receipt/public", "Public weights.", open_)
    theirs = signed(fields, STRANGER)
    case("receipt/stranger", "Another's, signed well.", theirs, reason="issuer_mismatch", issuer=issuer)
    changes: dict[str, Any] = {
        "name": "Another",
        "registered_at": "2026-11-20T12:00:00Z",
        "commitment": None,
        "parent": None,
        "registration": "0" * 64,
        "network": "0" * 64,
        "signature": "0" * 128,
        "issuer": theirs["issuer"],
    }
    for name, value in changes.items():
        comment = f"{name} was changed."
        case(f"receipt/{name}", comment, good | {name: value}, reason="signature_mismatch")
    # R is the neutral element and S zero: a signature of every text under a key of small order.
    unsafe = good | {"issuer": "01" + 62 * "0", "signature": "01" + 126 * "0"}
    case("receipt/small-order", "Anybody signs under it.", unsafe, reason="issuer_unsafe")
    beyond = good | {"issuer": "ee" + 60 * "f" + "7f"}
    case("receipt/not-canonical", "The key's y is 2^255 - 18.", beyond, reason="issuer_unsafe")
    case("receipt/field", "A field more.", good | {"more": 1}, reason="file.json")
    _write_twins(vectors, fields)
    old = json.loads(RECORDED.read_text())["receipt"]
    case("receipt/version1", "From before documents named their system.", old)
    relabelled = old | named(SYSTEMS[FIRST])
    case("receipt/relabelled", "As of version 3.", relabelled, reason="signature_mismatch")
