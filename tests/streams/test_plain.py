"""A verifier of another make, written from the page alone, agrees on every recorded stream and course."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Final

import pytest

from tests.streams import plain
from tests.streams.record import Case
from tests.streams.test_vectors import VECTORS, recorded_file, verdict_of
from tests.vectors import plain_verifier

Judge = Callable[[Case, Case], None]

FOR_ALL: Final = [case for case in VECTORS["cases"] if "expected" not in case]
"""It compares with nothing: its reader does."""


@cache
def files() -> Case:
    """The keys of the vectors by their ids."""
    return {key["id"]: plain_verifier.read_key(json.dumps(key).encode()) for key in VECTORS["keys"]}


def check_proof(frame: Case, key: Case) -> None:
    plain_verifier.judge(json.dumps(frame).encode(), key, {})


def verdict(case: Case, judge: Judge) -> Case:
    return plain.verify(recorded_file(case), files(), judge)


@pytest.mark.parametrize("case", FOR_ALL, ids=lambda case: case["name"])
def test_streams_are_judged_alike(case: Case) -> None:
    if case["reason"] != "ok":
        kind = case["reason"].partition("_")[0]
        if kind == "pairing":
            with pytest.raises(plain_verifier.Refused, match="does not prove"):
                verdict(case, check_proof)
            return
        with pytest.raises(plain_verifier.Refused, match=rf"^frame {case['frame']} .*'{kind}'"):
            verdict(case, plain_verifier.check_statement)
        return
    said = verdict(case, plain_verifier.check_statement)
    assert said["link"] == case["link"]
    if case["name"].startswith("the whole stream"):
        assert said == {name: verdict_of(case)[name] for name in said}


@pytest.mark.large
def test_every_proof_is_judged() -> None:
    verdict(VECTORS["cases"][0], check_proof)


@pytest.mark.parametrize("each", VECTORS["networks"], ids=lambda each: each["name"])
def test_networks_fit_alike(each: Case) -> None:
    try:
        assert plain.adds_prior(each["described"], each["classes"], each["margin"]) == each["fits"]
    except (KeyError, TypeError, ValueError):
        assert not each["fits"]


@pytest.mark.parametrize("each", VECTORS["courses"], ids=range(len(VECTORS["courses"])))
def test_courses_are_alike(each: Case) -> None:
    course, changes, plans = plain.Course(each["head"]), [], {}
    size = each["head"]["rules"].get("batch", 1)
    for number in range(0, len(each["labels"]), size):
        before = course.model, course.prior
        changes += [number + place for place in course.sees(each["labels"][number : number + size])]
        if (course.model, course.prior) != before:
            plans[str(number + size)] = {"model": course.model, "prior": course.prior}
    assert (changes, plans) == (each["changes"], each["plans"])
