"""Recorded streams are judged as they were, as in other languages (``tests/streams/record.py``)."""

from __future__ import annotations

import json
from typing import Final

import pytest

from tests.streams.record import COURSES, FILE, USUAL, Case, course_of, file_of, judged
from zenserve.verifier.bank import adds_prior
from zenserve.verifier.documents import KeyFile, checked
from zenserve.verifier.keys import opened

VECTORS: Final = json.loads(FILE.read_text())
KEYS: Final = {key["id"]: opened(checked(KeyFile, key)) for key in VECTORS["keys"]}


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_streams_are_judged_as_they_were(case: Case) -> None:
    answer = judged(case, recorded_file(case), KEYS)
    assert (answer.frame, answer.reason, answer.link) == (case["frame"], case["reason"], case["link"])
    if case["name"].startswith("the whole stream"):
        assert answer.model_dump(mode="json") == verdict_of(case)


@pytest.mark.parametrize("each", VECTORS["networks"], ids=lambda each: each["name"])
def test_networks_fit_as_they_did(each: Case) -> None:
    assert adds_prior(each["described"], each["classes"], each["margin"]) == each["fits"]


@pytest.mark.parametrize("seed", range(len(COURSES)))
def test_courses_are_what_they_were(seed: int) -> None:
    made = json.loads(json.dumps(course_of(seed, *COURSES[seed])))
    assert made == VECTORS["courses"][seed]
    if seed < USUAL or seed == len(COURSES) - 1:
        assert len(made["changes"]) == 3
        assert len({plan["model"] for plan in made["plans"].values()}) > 1


def recorded_file(case: Case) -> Case:
    return file_of(case, VECTORS)


def verdict_of(case: Case) -> Case:
    """On the whole stream."""
    found: Case = (VECTORS["batched"] if case.get("batched") else VECTORS)["verdict"]
    return found
