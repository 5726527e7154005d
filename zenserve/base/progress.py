"""Progress of long computations: the reports, and the way to stop them."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with the name of a stage and the fraction of it that is done, 0 to 1, on the calling thread.
Whatever it raises (``zenserve.errors.Cancelled`` by convention) stops the computation and reaches the caller.

"""


def silent(stage: str, fraction: float) -> None:
    """A ``Progress`` that listens to nothing."""


def part(report: Progress, stage: str, index: int, parts: int) -> Callable[[float], None]:
    """Maps the fraction of part ``index`` out of ``parts`` equal ones to the fraction of ``stage``."""
    return lambda fraction: report(stage, (index + fraction) / parts)
