"""How far a job is, and how long it will take."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.service.support import work_on
from zenserve.client import Client, Model
from zenserve.service.jobs.claims import Claims
from zenserve.service.jobs.progress import Overall, overall
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.repositories.resources import learned

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
EXPECTED = {"starting": 1.0, "witness": 3.0, "msm": 6.0}


def job(**values: Any) -> Job:
    fields = {"state": "running", "worker": "w", "percent": 0.0, "expected": EXPECTED, "started_at": NOON}
    return Job(**(fields | values))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"stage": "starting"}, Overall(0.0, 10.0, 0.0)),
        ({"stage": "witness", "percent": 50.0}, Overall(25.0, 7.5, 0.0)),
        ({"stage": "msm", "percent": 100.0}, Overall(100.0, 0.0, 0.0)),
        ({"stage": "another"}, Overall()),
        ({"stage": "msm", "expected": None}, Overall()),
        ({"state": "queued", "stage": None}, Overall()),
        ({"state": "succeeded", "stage": "done"}, Overall(100.0, 0.0, 0.0)),
        ({"worker": None, "stage": "shards", "percent": 0.0}, Overall(0.0, None)),
        ({"worker": None, "stage": "shards", "percent": 25.0}, Overall(25.0, 180.0)),
    ],
)
def test_what_is_said(values: dict[str, Any], expected: Overall) -> None:
    assert overall(job(**values), NOON + timedelta(seconds=60)) == expected


def test_keys_that_are_to_be_made_are_told_apart() -> None:
    expected = {"starting": 1.0, "key_g1": 4.0, "store": 1.0, "msm": 2.0}
    seen = [overall(job(stage=stage, percent=50.0, expected=expected), NOON) for stage in expected]
    assert [each.eta_seconds for each in seen] == [7.5, 5.0, 2.5, 1.0]
    assert [each.setup_seconds for each in seen] == [5.0, 3.0, 0.5, 0.0]


def test_a_first_proof_is_foretold_with_its_setup(
    with_model: Runtime, api: Client, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    foretold: list[dict[str, float]] = []
    monkeypatch.setattr(Claims, "expect", lambda _jobs, _claim, seconds: foretold.append(seconds))
    for reveal in ("label", "logits"):
        work_on(with_model, api.create_proof(model.id, [0.1, 0.2, 0.3, 0.4], reveal=reveal).id)
    known, due = foretold
    assert "key_g1" not in known
    assert list(due)[:2] == ["starting", "load model"]
    assert min(due["key_g1"], due["msm_quotient"], known["msm_quotient"]) > 0
    proof = next(iter(api.proofs()))
    assert set(due) - {"key_links"} <= set(proof.timings)


def test_what_is_expected_follows_what_was_seen() -> None:
    first = learned(None, {"a": 1.0, "b": 2.0})
    assert first == {"a": 1.0, "b": 2.0}
    assert learned(first, {"a": 3.0, "c": 1.0}) == {"a": 2.0, "c": 1.0}


def test_a_proof_is_expected_to_take_what_the_last_one_took(
    with_model: Runtime, api: Client, model: Model
) -> None:
    first, second = (api.create_proof(model.id, [0.1, 0.2, 0.3, 0.4]) for _ in range(2))
    for proof in (first, second):
        work_on(with_model, proof.id)
    took = api.get_proof(first.id).timings
    with with_model.database.read() as session:
        expected = session.get_one(Job, second.id).expected
    assert expected == took
    # As the second goes through its stages, its percentage only grows, and its end only comes nearer.
    seen = [
        overall(job(stage=stage, percent=percent, expected=expected), NOON)
        for stage in api.get_proof(second.id).timings
        for percent in (0.0, 50.0, 100.0)
    ]
    assert [each.percent for each in seen] == sorted(each.percent or 0.0 for each in seen)
    assert seen[-1].percent == 100.0
