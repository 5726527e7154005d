"""What a proof shows: its answer, its input as a picture, its file."""

from __future__ import annotations

import math
import re
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from tests.service import shown
from tests.service.busy import fill_certificate
from tests.service.dashboard.site import Site, first, site
from zenserve.service.access.principal import SCOPES
from zenserve.service.dashboard.formats import estimated, rounded, told, words
from zenserve.service.dashboard.inputs import public_inputs
from zenserve.service.dashboard.pictures import Picture
from zenserve.service.dashboard.results import brief, result
from zenserve.service.dashboard.timeline import Spent, ranked, timeline
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.records.jobs import Job, JobEvent
from zenserve.service.storage.records.resources import Proof


def proof_of(busy: Site, form: str) -> tuple[str, dict[str, Any]]:
    """A proof of this form, and the values that it shows."""
    with busy.database.read() as session:
        rows = session.scalars(select(Proof).where(Proof.document.is_not(None))).all()
        proof = next(row for row in rows if row.request.items() >= shown.FORMS[form].items())
        return proof.id, (proof.document or {})["statement"]["values"]


def test_a_proof_shows_its_result(busy: Site) -> None:
    client = busy.visitor(*SCOPES)
    job_id, values = proof_of(busy, "logits")
    page = client.get(f"/admin/jobs/{job_id}").text
    assert f">Label {values['label']}</p>" in page
    assert "<q>lunch at twelve</q>" in page
    assert f'data-verify="/admin/jobs/{job_id}/proof"' in page
    for logit in values["logits"]:
        assert f">{logit:,}</td>" in page
    largest = max(values["logits"])
    weight, image = 0.005631092716665829, 0.14071362061981654  # of the last layer, in the description
    assert f">{largest * weight * image:.4g}</td>" in page
    assert f'src="/admin/jobs/{job_id}/input.png?name=input" width="8" height="8"' in page
    job_id, values = proof_of(busy, "top")
    page = client.get(f"/admin/jobs/{job_id}").text
    assert f">Labels {', '.join(map(str, values['top']))}</p>" in page
    assert "input.png" not in page


def test_values_are_shown_in_their_order_with_what_they_stand_for() -> None:
    statement = {"scheme": "inference", "values": {"values": [3, -5, 0]}, "commitments": {}}
    group = {"name": "values", "first": 1, "count": 3, "shape": [3], "minimum": -9, "maximum": 9}
    for more, reals in (({"scale": 0.5, "zero_point": 1}, [1.0, -3.0, -0.5]), ({}, [None] * 3)):
        found = result({"statement": statement}, {"public_inputs": [group | more]})
        (table,) = found.tables
        assert (found.answer, table.logits) == ("3 outputs", ())
        assert [(each.integer, each.real) for each in table.values] == [*zip([3, -5, 0], reals, strict=True)]
        assert [each.width for each in table.values] == [375, 625, 0]


def test_a_certificate_says_how_far_it_reaches() -> None:
    for radius, said in ((1, "7, within 1 step too"), (2000, "7, within 2,000 steps too")):
        values = {"radius": radius, "label": 7}
        statement = {"scheme": "robustness", "values": values, "commitments": {}}
        assert result({"statement": statement}, {"public_inputs": []}).answer == said


def test_how_far_a_label_leads_is_shown_to_its_owner_alone(tmp_path: Path) -> None:
    """An operator sees the proof, and not that."""
    title = "How far the label leads"
    with site(tmp_path / "data", jobs=1) as some:
        job_id, plain = fill_certificate(some.runtime), proof_of(some, "logits")[0]
        owner, operator = some.visitor("read"), some.visitor("read", "admin", tenant="tnt_acme")
        page, seen = (each.get(f"/admin/jobs/{job_id}").text for each in (owner, operator))
        chart = page.partition(f">{title}</h2>")[2].partition("</figure>")[0]
        assert len(re.findall("<circle", chart)) == 9
        for text in (page, seen):
            assert "within 16 steps too</p>" in text
        assert title not in seen
        assert title not in owner.get(f"/admin/jobs/{plain}").text


def test_a_stream_s_stages_stand_before_its_frames() -> None:
    """Not at its end: in between it waits."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    at = {"begun": start + timedelta(seconds=1), "over": start + timedelta(seconds=90)}
    job = Job(kind="stream", state="succeeded", attempt=1, created_at=start, started_at=start)
    job.finished_at, job.timings = at["over"], {"profile": 1.0}
    events = [
        JobEvent(state="running", stage="profile", attempt=1, at=start),
        JobEvent(state="running", stage="frames", attempt=1, at=at["begun"]),
        JobEvent(state="succeeded", stage="done", attempt=1, at=at["over"]),
    ]
    found = timeline(job, events, at["over"])
    assert [(each.name, each.start, each.seconds) for each in found.stretches] == [
        ("profile", 0.0, 1.0),
        ("frames", 1.0, 89.0),
    ]


def test_hidden_values_are_shown_by_where_they_lie() -> None:
    bounds = {"name": "bounds/a", "first": 1, "count": 2, "shape": [2], "scale": 0.25, "zero_point": 0}
    places = {"name": "interval/a", "first": 3, "count": 9, "shape": [9]}
    statement = {
        "scheme": "inference",
        "values": {"bounds/a": [2, 10], "interval/a": [0, 1, 2, *[1] * 6]},
        "commitments": {},
    }
    found = result({"statement": statement}, {"public_inputs": [bounds, places]})
    assert found.answer == "a: each in an interval"
    (table,) = found.tables
    assert table.places[:3] == ["below 0.5", "at least 0.5 and below 2.5", "at least 2.5"]
    assert rounded("is 0.0357909450020638, of 3.5 in steps of 1.25e-05") == (
        "is 0.03579, of 3.5 in steps of 1.25e-05"
    )
    assert told({"image": "private", "mask": [1, 2]}) == "image: private; mask: 1, 2"


@pytest.mark.parametrize(
    ("group", "integers", "said"),
    [
        ({"shape": [3], "scale": 0.5, "zero_point": 2}, [2, 3, 0], {"places": ["0", "0.5", "-1"]}),
        ({"shape": [2, 2], "scale": 2.0}, [1, 2, 3, 4], {"rows": [["2", "4"], ["6", "8"]]}),
        ({"shape": [1, 4], "scale": 1.0}, [101, 7592, 2088, 102], {"run": "101 7592 2088 102"}),
        ({"shape": [300], "scale": 1.0}, [7] * 300, {"run": " ".join(["7"] * 200), "hidden": 100}),
        ({"shape": [30], "scale": 0.1}, [0] * 30, {"places": ["0"] * 20, "hidden": 10}),
        ({"shape": [20, 2, 15], "scale": 0.1}, [0] * 600, {"rows": [["0"] * 10] * 12, "hidden": 480}),
        ({"shape": [], "scale": 0.5}, 3, {"places": ["1.5"]}),
    ],
)
def test_public_inputs_are_runs_tables_and_lists(
    group: dict[str, Any], integers: list[int] | int, said: dict[str, Any]
) -> None:
    count = len(integers) if isinstance(integers, list) else 1
    of_circuit = {
        "public_inputs": [{"name": "input/left", "first": 1, "count": count, "maximum": 9999} | group]
    }
    (found,) = public_inputs({"statement": {"values": {"input/left": integers}}}, of_circuit)
    assert found.title == "Input left"
    shown = {name: getattr(found, name) for name in ("run", "places", "rows", "hidden")}
    assert {name: value for name, value in shown.items() if value} == said
    hidden = public_inputs({"statement": {"values": {"label": 3}}}, of_circuit)
    assert [*hidden] == [], "a private input was shown"


def test_estimates_say_no_more_than_they_know() -> None:
    for seconds, said in (
        (0.005, "less than a second"),
        (4.7, "about 5 s"),
        (14.72, "about 15 s"),
        (61, "about 1 min"),
        (9000, "about 2 h"),
    ):
        assert estimated(seconds) == said


def test_lists_have_a_sentence_where_a_number_does_not_do() -> None:
    claim = "The mean squared error is 0.1. More."
    assert brief("accuracy", {"mse": 3, "size": 9}, claim) == "The mean squared error is 0.1"
    assert brief("inference", {"label": 7}, "…") == "Label 7"
    assert brief("inference", None, None) == "–"


@pytest.mark.parametrize(
    ("kind", "scheme", "answer"),
    [("proof", "recognition", "A match within 400"), ("accuracy", "accuracy", "971 of 1,000 right, 97.1 %")],
)
def test_the_answer_of_other_schemes(busy: Site, kind: str, scheme: str, answer: str) -> None:
    with busy.database.read() as session:
        query = select(Proof.id).join(Job, Job.id == Proof.id)
        succeeded = query.where(Job.state == "succeeded", Job.kind == kind, Proof.scheme == scheme)
        job_id = session.scalars(succeeded).first()
    assert answer in busy.visitor(*SCOPES).get(f"/admin/jobs/{job_id}").text


def test_stages_are_ranked_over_all_shards(busy: Site) -> None:
    shards = [{"witness": 1.0, "quotient": 0.5}, {"quotient": 2.5, "commit": 0.0}]
    assert ranked(shards) == [Spent("quotient", 3.0, 0.75), Spent("witness", 1.0, 0.25)]
    assert ranked([{}]) == []
    page = busy.visitor("read").get(f"/admin/jobs/{first(busy, LOCAL_TENANT, 'succeeded')}").text
    with busy.database.read() as session:
        timings = session.get_one(Job, first(busy, LOCAL_TENANT, "succeeded")).timings
    _, _, shown = page.partition("Where the time went")
    places = [shown.index(words(name)) for name in sorted(timings, key=timings.__getitem__, reverse=True)[:3]]
    assert places == sorted(places)


def test_kernels_are_ranked_where_they_were_measured(busy: Site) -> None:
    job_id = first(busy, LOCAL_TENANT, "succeeded")
    page = f"/admin/jobs/{job_id}"
    assert "kernels took" not in busy.visitor("read").get(page).text
    with busy.database.write() as session:
        session.get_one(Job, job_id).kernels = {"add_pairs": 0.25, "recorded": 0.75}
    _, _, shown = busy.visitor("read").get(page).text.partition("kernels took")
    assert shown.index("recorded") < shown.index("add_pairs")


def test_a_public_input_is_a_picture_for_who_may_see_the_proof(busy: Site) -> None:
    job_id, values = proof_of(busy, "logits")
    answer = busy.visitor("read").get(f"/admin/jobs/{job_id}/input.png")
    assert answer.headers["Content-Type"] == "image/png"
    pixels = zlib.decompress(answer.content[41:-16])  # between the two other chunks
    assert [pixels[row * 9 + 1 : row * 9 + 9] for row in range(8)] == [
        bytes(values["input"][8 * row : 8 * row + 8]) for row in range(8)
    ]
    assert busy.visitor("read", tenant="tnt_acme").get(answer.url.path).status_code == 404
    secret, _ = proof_of(busy, "top")
    assert busy.visitor("read").get(f"/admin/jobs/{secret}/input.png").status_code == 404


@pytest.mark.parametrize(
    ("shape", "pixels"),
    [
        ((4, 5), bytes(range(20))),
        ((1, 4, 5), bytes(range(20))),
        ((3, 4, 4), bytes(shade for place in range(16) for shade in (place, 16 + place, 32 + place))),
    ],
)
def test_shapes_of_pictures(shape: tuple[int, ...], pixels: bytes) -> None:
    picture = Picture.of(range(math.prod(shape)), shape, 255)
    assert picture is not None
    assert b"".join(picture.rows) == pixels


@pytest.mark.parametrize("shape", [(784,), (2, 8, 8), (8, 3), (2000, 8), (1, 3, 8, 8)])
def test_shapes_of_no_pictures(shape: tuple[int, ...]) -> None:
    assert Picture.of([0] * math.prod(shape), shape, 255) is None


def test_a_proof_is_handed_out_as_a_file(busy: Site) -> None:
    client = busy.visitor("read")
    answer = client.get(f"/admin/jobs/{first(busy, LOCAL_TENANT, 'succeeded')}/proof")
    assert answer.json()["proofs"] == ["…"]
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert (
        client.get(f"/admin/jobs/{first(busy, LOCAL_TENANT, 'succeeded', 'model')}/proof").status_code == 409
    )
