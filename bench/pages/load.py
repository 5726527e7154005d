"""The plan of a million proofs a day, from measured proofs, submissions and verifications."""

from __future__ import annotations

import math
import re
from typing import Final

from bench.pages.performance import LARGE, SCHEMES, SCHEMES_AVX512, SERVICE, SPARTAN_AVX2_SINCE
from bench.pages.tables import rows, table
from bench.report import Row, number
from bench.service_jobs import SUBMISSIONS
from zenserve.service.settings import Settings

RATE: Final = 1_000_000 / 86_400
"""Proofs a second."""
PEAK: Final = 3.0
"""The busiest minute's rate over the day's."""
BUSY: Final = 0.7
"""The share of its time that a worker, or a core of the API, may be at work."""
CORES: Final = 2
"""Of each machine that the figures are of, and so of a worker."""
CARDS: Final = "witness-proofs-2026-11-28-h100"
_CHOSEN: Final = (
    ("shallownet", "Groth16", "two cores, AVX2", SCHEMES, "shallownet", "inference"),
    ("shallownet", "Groth16", "two cores, AVX-512", SCHEMES_AVX512, "shallownet", "inference"),
    ("lenet-small", "Groth16", "two cores, AVX-512", SCHEMES_AVX512, "lenet-small", "inference"),
    ("lenet-medium", "Groth16", "two cores, AVX-512", SCHEMES_AVX512, "lenet-medium", "inference"),
    ("lenet-medium", "Spartan", "two cores, AVX2", SPARTAN_AVX2_SINCE, "Inferences", "lenet-medium"),
    ("resnet18", "Spartan", "two cores, AVX-512", LARGE, "Networks", "resnet18, inference"),
    ("lenet-face-small", "Groth16", "an H100", CARDS, "From an input", "lenet-face-small"),
    ("resnet18-cifar", "Spartan", "an H100", CARDS, "From an input", "resnet18-cifar"),
)


def workers(seconds: float, rate: float) -> int:
    """Return how many are needed for ``rate`` jobs a second that take a worker ``seconds`` each."""
    return math.ceil(rate * seconds / BUSY)


def job_seconds() -> float:
    """Return the most that a job takes a worker of two cores beside its proof: all that the API left of the
    machine while both were at work, over the small proofs that were made."""
    row = _row(SERVICE, "submissions", "PostgreSQL")
    proven = re.search(r"(\d+) proven meanwhile", row.name)
    assert proven is not None
    took, asked = SUBMISSIONS / row.more["per_s"], SUBMISSIONS * row.more["cpu_ms"] / 1000
    return float((CORES * took - asked) / CORES / int(proven[1]))


def proofs() -> str:
    lines = []
    for network, system, machine, *place in _CHOSEN:
        row = _row(*place, system=system.lower())
        each = row.median + row.more.get("witness_s", 0.0) + job_seconds()
        size = row.more.get("proof_bytes")
        counts = (workers(each, rate) for rate in (RATE, PEAK * RATE))
        a_day = number(size and size / 1000)  # a million of them in GB
        lines.append((network, system, machine, number(row.size), number(each), *map(number, counts), a_day))
    headings = ("network", "system", "worker", "constraints", "s a job", "workers", "at the peak", "GB a day")
    return table(lines, headings)


def others() -> str:
    """What the API takes of cores, and the limits that have to be raised."""
    default = Settings.model_fields
    asked = _row(SERVICE, "submissions", "PostgreSQL").more["cpu_ms"] / 1000
    verified = _row(SERVICE, "verify", "verify").more["cpu_ms"] / 1000
    needed = {
        "cores of the API, submissions": (asked / BUSY, None),
        "cores of the API, verifications": (verified / BUSY, None),
        "`ZENSERVE_RATE_PER_MINUTE`, if one tenant asks once a proof": (60, "rate_per_minute"),
        "`ZENSERVE_MAX_QUEUED`, for ten minutes without workers": (600, "max_queued"),
    }
    lines = [
        (
            what,
            *(number(math.ceil(each * rate) if limit else each * rate) for rate in (RATE, PEAK * RATE)),
            number(default[limit].default) if limit else "",
        )
        for what, (each, limit) in needed.items()
    ]
    return table(lines, ("what is needed", "all day", "at the peak", "default"))


def _row(file: str, topic: str, name: str, *, system: str | None = None) -> Row:
    """The first row of the topic whose name begins so, of the system where the rows tell."""
    return next(
        row
        for row in rows(file, topic)
        if row.name.startswith(name) and row.more.get("system", system) == system
    )


TABLES: Final = {"load of proofs": proofs, "load of others": others}
