"""A key's transcript: who has the key alone sees that its secrets are its contributors'."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.prover.ceremony.support import Case
from zenserve.errors import CeremonyError, FileFormatError, ZenError
from zenserve.kernels import fr, g2
from zenserve.prover.groth16 import VerifyingKey, ceremony
from zenserve.verifier.groth16.setup_transcript import MOST_CONTRIBUTIONS, check

Document = dict[str, Any]


@pytest.fixture(scope="module")
def key(committed: Case) -> VerifyingKey:
    return ceremony.verifying_key(committed.state)


@pytest.fixture
def document(committed: Case) -> Document:
    through_json: Document = json.loads(json.dumps(committed.state.transcript))
    return through_json


def refused(document: Any, key: VerifyingKey, kind: type[ZenError] = CeremonyError) -> ZenError:
    with pytest.raises(kind) as error:
        check(document, key)
    return error.value


def test_an_honest_one_passes(case: Case) -> None:
    key = ceremony.verifying_key(case.state)
    assert len(key.contributions) == 3
    check(json.loads(json.dumps(case.state.transcript)), key)


def test_another_s_key_is_refused(document: Document, key: VerifyingKey, committed: Case) -> None:
    earlier = ceremony.verifying_key(committed.states[-2])
    assert refused(document, earlier).code == "ceremony.key"
    shorter = document | {"contributions": document["contributions"][:-1]}
    assert refused(shorter, key).field == "contributions"
    check(shorter, earlier)


def test_a_forger_who_knows_the_secrets_cannot_borrow_a_transcript(
    document: Document, key: VerifyingKey
) -> None:
    """The forged key names honest contributors, and has a δ, a σ, a k or a γ of the forger's."""
    first, *others = key.segments
    known = replace(first, knowledge_g2=key.delta_g2)
    swapped = [
        replace(segment, link_g2=segment.link_g2[::-1]) if segment.link_g2 else segment
        for segment in key.segments
    ]
    for field, forged in (
        ("key", replace(key, delta_g2=first.knowledge_g2, segments=(known, *others))),
        ("key", replace(key, segments=tuple(swapped))),
        ("gamma_g2", replace(key, gamma_g2=g2.compress(g2.mul(g2.generator[None], fr.from_ints([5]))))),
    ):
        assert refused(document, forged).field == field


@pytest.mark.parametrize("part", ["secrets", "nonces", "responses"])
def test_every_value_of_every_contribution_counts(document: Document, key: VerifyingKey, part: str) -> None:
    for contribution in document["contributions"]:
        values = contribution[part]
        for index in range(len(values) - 1):
            values[index], values[index + 1] = values[index + 1], values[index]
            assert refused(document, key).code == "ceremony.contribution"
            values[index], values[index + 1] = values[index + 1], values[index]
    check(document, key)


def test_names_origin_and_order_count(document: Document, key: VerifyingKey) -> None:
    first, second, *rest = document["contributions"]
    for other in (
        document | {"origin": "00" * 32},
        document | {"contributions": [second, first, *rest]},
        document | {"contributions": [first | {"name": "Eve"}, second, *rest]},
    ):
        assert refused(other, key).code == "ceremony.contribution"


def no_points(points: list[str]) -> list[list[str]]:
    infinity = "c0" + "00" * 95
    return [[infinity, *points[1:]], ["ff" * 96, *points[1:]], ["80" + "00" * 94, *points[1:]]]


def test_what_is_no_transcript(document: Document, key: VerifyingKey) -> None:
    first, *rest = document["contributions"]
    changed: list[Callable[[], Any]] = [
        lambda: None,
        lambda: [],
        lambda: {},
        lambda: document | {"version": 2},
        lambda: document | {"origin": "00"},
        lambda: document | {"contributions": []},
        lambda: document | {"contributions": [first] * (MOST_CONTRIBUTIONS + 1)},
        lambda: document | {"contributions": [1, *rest]},
        lambda: document | {"contributions": [first | {"more": 1}, *rest]},
        lambda: document | {"contributions": [first | {"name": 1}, *rest]},
        lambda: document | {"contributions": [first | {"secrets": first["secrets"][1:]}, *rest]},
        lambda: (
            document | {"contributions": [first | {"responses": ["ff" * 32, *first["responses"][1:]]}, *rest]}
        ),
        lambda: (
            document | {"contributions": [first | {"responses": ["ff" * 31, *first["responses"][1:]]}, *rest]}
        ),
    ]
    for change in changed:
        assert refused(change(), key, FileFormatError).code == "file.json"
    for part in ("secrets", "nonces"):
        for points in no_points(first[part]):
            other = document | {"contributions": [first | {part: points}, *rest]}
            assert refused(other, key).code == "ceremony.contribution"
    for name in ("", " Ada", "a\nb", "x" * 81, "\ud800"):
        other = document | {"contributions": [first | {"name": name}, *rest]}
        assert refused(other, key).code == "ceremony.name"
