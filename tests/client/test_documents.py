"""Documents: one canonical text, one reading, and clear refusals of all else."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from tests.client.makers import MADE_AT, Maker
from zenserve.errors import FileFormatError
from zenserve.verifier.documents import Dataset, ProofDocument, Statement, checked, key_id, read
from zenserve.verifier.fields import MOST_INTEGER, canonical, timestamp
from zenserve.verifier.registry import FIRST
from zenserve.verifier.words import make_statement

Json = dict[str, Any]

texts = st.text(max_size=5)
integers = st.integers(-MOST_INTEGER, MOST_INTEGER)
jsons = st.recursive(
    st.none() | st.booleans() | integers | st.floats(-MOST_INTEGER, MOST_INTEGER) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(jsons)
def test_the_canonical_text_is_one_text(value: Any) -> None:
    text = canonical(value)
    assert json.loads(text) == value
    assert canonical(json.loads(json.dumps(value, indent=1))) == text
    assert canonical(dict(reversed(value.items())) if isinstance(value, dict) else value) == text


def test_the_canonical_text_of_an_example() -> None:
    assert canonical({"b": [1, -2], "a": {"é": None}}) == '{"a":{"é":null},"b":[1,-2]}'.encode()


# RFC 8785: the samples of appendix B, and what of Python's own text of numbers is another.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "3ff0000000000000": "1",
    "3f1a36e2eb1c432d": "0.0001",
    "3e7ad7f29abcaf48": "1e-7",
}


@pytest.mark.parametrize("bits", NUMBERS)
def test_numbers_are_spelled_as_rfc_8785_has_them(bits: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(number) == NUMBERS[bits].encode()


def test_fields_are_sorted_as_rfc_8785_has_them() -> None:
    """By UTF-16: its example, section 3.2.3."""
    names = ["\r", "1", "\x80", "ö", "€", "😀", "\ufb33"]
    assert list(json.loads(canonical(dict.fromkeys(reversed(names))))) == names
    assert canonical('€$\x0f\nA\'B"\\\\"/') == '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), MOST_INTEGER + 1, "\ud800"])
def test_what_has_no_canonical_text(value: Any) -> None:
    with pytest.raises(rfc8785.CanonicalizationError):
        canonical({"x": value})


def test_a_key_id_covers_the_key_the_circuit_and_the_system() -> None:
    parts = ((bytes(32), {"a": 1}), (bytes(32), {"a": 2}), (b"1" * 32, {"a": 1}))
    assert len({key_id(system, *part) for part in parts for system in (FIRST, "another")}) == 6
    assert key_id(FIRST, bytes(32), {"a": (1,), "b": 2}) == key_id(FIRST, bytes(32), {"b": 2, "a": [1]})


def test_timestamps_are_in_utc_to_the_second() -> None:
    moment = datetime(2026, 11, 21, 13, 0, 0, 999, tzinfo=timezone(timedelta(hours=1)))
    assert timestamp(moment) == "2026-11-21T12:00:00Z" == timestamp(moment.astimezone(UTC))
    with pytest.raises(ValueError, match="zone"):
        timestamp(moment.replace(tzinfo=None))


def test_the_scalar_is_the_hashs_first_31_bytes(inferred: ProofDocument) -> None:
    statement = inferred.statement
    assert statement.sha256.hex() == inferred.statement_sha256
    assert statement.scalar == int(inferred.statement_sha256[:62], 16) < 1 << 248
    assert statement.model_copy(update={"challenge": None}).sha256 != statement.sha256


UNREADABLE: dict[str, tuple[Callable[[Json], Json], str]] = {
    "a field more": (lambda d: d | {"approved": True}, "approved"),
    "a field less": (lambda d: {name: d[name] for name in d if name != "proofs"}, "proofs"),
    "version 1": (lambda d: d | {"version": 1}, "version"),
    "version as text": (lambda d: d | {"version": "2"}, "version"),
    "version as a float": (lambda d: d | {"version": 2.0}, "version"),
    "format": (lambda d: d | {"format": "zenserve receipt"}, "format"),
    "no proofs": (lambda d: d | {"proofs": []}, "proofs"),
    "upper case": (lambda d: d | {"proofs": ["AB"]}, "proofs.0"),
    "odd": (lambda d: d | {"proofs": ["abc"]}, "proofs.0"),
    "endless": (lambda d: d | {"proofs": ["00" * 2049]}, "proofs"),
    "short hash": (lambda d: d | {"statement_sha256": "00"}, "statement_sha256"),
}
UNREADABLE_STATEMENTS: dict[str, tuple[Json, str]] = {
    "a field more": ({"approved": True}, "approved"),
    "scheme": ({"scheme": "other"}, "scheme"),
    "a float": ({"values": {"label": 1.0}}, "values.label.constrained-int"),
    "true": ({"values": {"label": True}}, "values.label.constrained-int"),
    "beyond 2^53": ({"values": {"label": 1 << 53}}, "values.label.constrained-int"),
    "a name in capitals": ({"values": {"Label": 1}}, "values.Label"),
    "an empty challenge": ({"challenge": ""}, "challenge"),
    "a long challenge": ({"challenge": "x" * 201}, "challenge"),
    "a challenge with an escape": ({"challenge": "\x1b[2J"}, "challenge"),
    "time with a zone": ({"made_at": "2026-11-21T12:00:00+01:00"}, "made_at"),
    **{
        f"the time {text}": ({"made_at": text}, "made_at")
        for text in (
            "2026-99-21T12:00:00Z",
            "2026-02-30T12:00:00Z",
            "2026-11-21T24:00:00Z",
            "2026-11-21T12:00:60Z",
            "0000-01-01T00:00:00Z",
            "2026-11-21T12:00:0٣Z",
        )
    },
    "a short commitment": ({"commitments": {"model": "00"}}, "commitments.model"),
    "a parent": ({"parent": "0" * 96}, ""),
    "an accuracy without a dataset": ({"scheme": "accuracy"}, ""),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_is_no_proof_document(inferred: ProofDocument, case: str) -> None:
    change, field = UNREADABLE[case]
    refused(json.dumps(change(inferred.model_dump())), field)


@pytest.mark.parametrize("case", UNREADABLE_STATEMENTS)
def test_what_is_no_statement(inferred: ProofDocument, case: str) -> None:
    changes, field = UNREADABLE_STATEMENTS[case]
    document = inferred.model_dump()
    document["statement"] |= changes
    refused(json.dumps(document), f"statement.{field}".rstrip("."))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b"\xff",
        b'{"format":NaN}',
        b"[" * 100_000,
        b"1" * 5000,
        b'{"a":"\\ud800"}',
        b"[1e400]",
    ],
)
def test_what_is_no_json_object(text: bytes) -> None:
    limit = sys.getrecursionlimit()
    # As py_ecc leaves it, which a verifier may have loaded: nesting must not overflow the stack.
    sys.setrecursionlimit(100_000)
    try:
        with pytest.raises(FileFormatError) as refusal:
            read(ProofDocument, text)
    finally:
        sys.setrecursionlimit(limit)
    assert refusal.value.code == "file.json"


def test_a_field_given_twice(inferred: ProofDocument) -> None:
    text = canonical(inferred).replace(b'"challenge":', b'"challenge":null,"challenge":')
    with pytest.raises(FileFormatError, match="twice"):
        read(ProofDocument, text)


def refused(text: str, field: str) -> None:
    with pytest.raises(FileFormatError) as refusal:
        read(ProofDocument, text)
    assert (refusal.value.code, refusal.value.field) == ("file.json", field)
    assert refusal.value.message.startswith(f"{field}: ")


def test_openings_go_with_public_datasets(assessed: ProofDocument) -> None:
    dataset = assessed.statement.dataset
    assert dataset is not None
    fields = dataset.model_dump()
    for changes in ({"sha256": None}, {"shards": [shard | {"opening": None} for shard in fields["shards"]]}):
        with pytest.raises(FileFormatError, match="openings"):
            checked(Dataset, fields | changes)


def test_statements_are_made_for_the_values_of_their_circuit(inferrer: Maker) -> None:
    key = inferrer.key_file

    def make(values: Any) -> Statement:
        return make_statement(key, values=values, commitments={}, made_at=MADE_AT)

    assert make({"label": 2, "logits": [0, -1, 2]}).values == {"label": 2, "logits": [0, -1, 2]}
    for wrong in ({}, {"label": 2}, {"label": 3, "logits": [0, -1, 2]}, {"label": 2, "logits": [0, -1]}):
        with pytest.raises(ValueError, match="values"):
            make(wrong)
