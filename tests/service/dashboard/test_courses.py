"""What a stream's page shows of its frames."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.service.busy import fill, fill_stream
from tests.service.dashboard.site import Site, send
from zenserve.service.dashboard.courses import course_of
from zenserve.service.storage.repositories.browsing import SeenFrame

BEGUN = datetime(2026, 11, 23, tzinfo=UTC)
BANK = ["mdl_full", "mdl_small"]


def frame(number: int, model: int | None, seen: int | None = 3, *, waits: float = 0.5) -> SeenFrame:
    """One that is handed in a second after the one before, and over when it has waited for so long."""
    made = BEGUN + timedelta(seconds=number)
    state = "failed" if model is None else "succeeded"
    over = made + timedelta(seconds=waits)
    seconds = 0.0 if model is None else 0.5 - 0.3 * model
    return SeenFrame(f"prf_{number}", number, model, seen, seen, state, made, over, seconds)


def test_few_frames_have_a_slot_each() -> None:
    course = course_of([frame(7, 0), frame(8, None, None), frame(9, 1, 4), frame(10, 1)], BANK)
    assert course is not None
    assert (course.first, course.missed, course.classes, course.size) == (7, 1, [3, 4], 1)
    assert [slot.classes for slot in course.slots] == [[1, 0, 0], [0, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert [list(slot.models) for slot in course.slots] == [[1, 0], [0, 0], [0, 1], [0, 1]]
    assert [slot.missed for slot in course.slots] == [0, 1, 0, 0]
    assert course.switches == [9], "what was missed is no switch"
    assert [(each.model_id, each.frames) for each in course.models] == [("mdl_full", 1), ("mdl_small", 2)]
    assert course.seconds == pytest.approx(0.3)
    assert [course.place(number) for number in (7, 9)] == [0, 500]


def test_many_frames_share_slots_and_colours() -> None:
    course = course_of([frame(number, 0, number % 12) for number in range(240)], BANK)
    assert course is not None
    assert (len(course.slots), course.size, len(course.classes)) == (60, 4, 8)
    assert (course.slots[-1].first, course.slots[-1].last) == (236, 239)
    for slot in course.slots:
        assert sum(slot.classes) == pytest.approx(1)


def test_frames_of_batches_are_told_from_others() -> None:
    frames = [replace(frame(number, 0), batch=4 if number >= 4 else None) for number in range(8)]
    course = course_of(frames, BANK)
    assert course is not None
    assert course.together == 4
    assert [slot.together for slot in course.slots] == [0] * 4 + [1] * 4


def test_frames_that_were_handed_in_and_not_over_waited() -> None:
    course = course_of([frame(0, 0, waits=2.5), frame(1, 0, waits=2.5), frame(2, 0)], BANK)
    assert course is not None
    assert [slot.waited for slot in course.slots] == [2, 1, 0]


def test_no_frames_no_course() -> None:
    assert course_of([], BANK) is None


def test_the_page_of_a_stream(empty: Site) -> None:
    fill(empty.runtime, 5)
    stream_id = fill_stream(empty.runtime)
    page = empty.visitor("read").get(f"/admin/jobs/{stream_id}")
    assert page.status_code == 200
    for part in (
        *("are over, of 425", "of 16 that may wait", "class 8", "Which model proves it", "missed"),
        *("of the last 420, 4 at a time", "in batches", "Batch from"),
    ):
        assert part in page.text
    assert page.text.count('<path class="switch" d="M') == 5 + 1, "and one in the legend"
    assert "Cancel" not in page.text, "one may only look"
    missed = empty.visitor("read", "prove").get("/admin/jobs/prf_5d1f0c7700a0")
    assert 'id="retry"' not in missed.text, "its place in the chain is its own"
    frame = 'href="/admin/jobs/prf_5d1f0c77'
    for asked, frames in (
        ("", False),
        ("?kind=stream", False),
        ("?kind=proof", True),
        ("?state=failed", True),
    ):
        listed = empty.visitor("read").get(f"/admin/jobs{asked}").text
        assert (frame in listed) == frames, asked
        assert (stream_id in listed) == (asked in ("", "?kind=stream"))
    file = empty.visitor("read").get(f"/admin/jobs/{stream_id}/proof")
    assert file.text.startswith('{"format":"zenserve stream"')
    assert empty.visitor("read", tenant="tnt_acme").get(f"/admin/jobs/{stream_id}").status_code == 404
    assert 'id="end"' not in page.text
    owner, other = empty.visitor("read", "prove"), empty.visitor("read", "prove", tenant="tnt_acme")
    assert 'id="end"' in owner.get(f"/admin/jobs/{stream_id}").text
    assert send(other, f"/admin/jobs/{stream_id}/end").status_code == 404
    assert send(owner, f"/admin/jobs/{stream_id}/end").status_code == 303
    assert "Takes no more since" in owner.get(f"/admin/jobs/{stream_id}").text
