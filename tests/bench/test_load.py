"""The plan of a million proofs a day is arithmetic over what was measured."""

from __future__ import annotations

import re

import pytest

from bench.pages import load
from zenserve.service.settings import Settings


def test_workers_are_idle_for_their_share_and_none_is_cut_in_two() -> None:
    assert load.workers(1.0, 0.7) == 1
    assert load.workers(1.0, 0.71) == 2
    assert load.workers(0.1, 70.0) == 10


def test_a_job_takes_no_more_than_the_machine_had_left() -> None:
    # 1000 submissions at 88.3 a second on two cores, 8.8 ms of one each, and 118 proofs meanwhile.
    assert load.job_seconds() == pytest.approx((2 * 1000 / 88.345 - 8.8) / 2 / 118, rel=1e-4)


def test_the_plan_counts_workers_of_what_proofs_take() -> None:
    lines = [re.split(r" \| ", line.strip("| ")) for line in load.proofs().splitlines()[2:]]
    assert len(lines) == len(load._CHOSEN)
    for line in lines:
        workers, at_the_peak = int(line[5]), int(line[6])
        assert workers == pytest.approx(load.RATE * float(line[4]) / load.BUSY, abs=1)
        assert workers <= at_the_peak <= load.PEAK * workers


def test_the_plan_says_which_limits_are_too_low() -> None:
    lines = {line.split("`")[1]: line for line in load.others().splitlines() if "`" in line}
    for name, line in lines.items():
        default = Settings.model_fields[name.removeprefix("ZENSERVE_").lower()].default
        all_day, at_the_peak, said = (
            int(cell.replace(",", "")) for cell in line.strip("| ").split(" | ")[1:]
        )
        assert said == default
        assert all_day < at_the_peak
        assert at_the_peak > default
