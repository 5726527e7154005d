"""Data for a stream's page on its frames: classes, models, the times of proofs, the number that waited."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from zenserve.service.storage.repositories.browsing import SeenFrame

MOST: Final = 600
"""Frames on the page, the last ones that are over."""
_SLOTS: Final = 60
_CLASSES: Final = 8
"""The number of classes that have a colour of their own."""


@dataclass(frozen=True)
class Slot:
    """Some frames in a row, from ``first`` to ``last``. ``classes``: the share of each of ``Course.classes``
    among those that were proven, and of all others; ``models``: likewise, by their places. ``together``: the
    share that was proven in batches; ``seconds`` of a frame, in the mean; ``waited``: the most frames that
    had been handed in and were not over.
    """

    first: int
    last: int
    classes: Sequence[float]
    models: Sequence[float]
    missed: int
    together: float
    seconds: float
    waited: int


@dataclass(frozen=True)
class Used:
    """A model of the bank: how many of the frames it proved, and how long one took, in the mean."""

    model_id: str
    frames: int
    seconds: float


@dataclass(frozen=True)
class Course:
    """``classes``: those that were seen most, by their labels; ``switches``: the numbers of frames that had
    another model than the one before; ``size``: frames of a slot.
    """

    frames: Sequence[SeenFrame]
    classes: Sequence[int]
    slots: Sequence[Slot]
    models: Sequence[Used]
    switches: Sequence[int]
    size: int

    @property
    def first(self) -> int:
        return self.frames[0].number

    @property
    def proven(self) -> Sequence[SeenFrame]:
        return [frame for frame in self.frames if frame.model is not None]

    @property
    def missed(self) -> int:
        return len(self.frames) - len(self.proven)

    @property
    def together(self) -> int:
        """Frames that were proven in batches."""
        return sum(frame.batch is not None for frame in self.frames)

    @property
    def seconds(self) -> float:
        """Of a frame, in the mean."""
        return _mean(self.proven)

    def place(self, number: int) -> float:
        """Of a frame, on a scale of a thousand."""
        return 1000 * (number - self.first) / (self.size * len(self.slots))


def course_of(frames: Sequence[SeenFrame], models: Sequence[str]) -> Course | None:
    """Of these frames, in order; ``models``: the bank. None where there are no frames."""
    if not frames:
        return None
    proven = [frame for frame in frames if frame.model is not None]
    seen = Counter(frame.seen for frame in proven if frame.seen is not None)
    classes = sorted(label for label, _ in seen.most_common(_CLASSES))
    size = -(-len(frames) // _SLOTS)
    parts = [frames[start : start + size] for start in range(0, len(frames), size)]
    handed_in = sorted(frame.created_at for frame in frames)
    waited = [
        bisect_right(handed_in, frame.finished_at) - number if frame.finished_at else 0
        for number, frame in enumerate(frames, 1)
    ]
    return Course(
        frames,
        classes,
        [
            _slot(part, classes, len(models), max(waited[place * size : (place + 1) * size]))
            for place, part in enumerate(parts)
        ],
        [_used(model_id, [f for f in proven if f.model == place]) for place, model_id in enumerate(models)],
        [after.number for before, after in pairwise(proven) if after.model != before.model],
        size,
    )


def _slot(frames: Sequence[SeenFrame], classes: Sequence[int], models: int, waited: int) -> Slot:
    proven = [frame for frame in frames if frame.model is not None]
    labels, places = Counter(frame.seen for frame in proven), Counter(frame.model for frame in proven)
    own, count = [labels[label] for label in classes], max(1, len(proven))
    return Slot(
        first=frames[0].number,
        last=frames[-1].number,
        classes=[each / count for each in (*own, len(proven) - sum(own))],
        models=[places[place] / len(frames) for place in range(models)],
        missed=len(frames) - len(proven),
        together=sum(frame.batch is not None for frame in frames) / len(frames),
        seconds=_mean(proven),
        waited=waited,
    )


def _used(model_id: str, frames: Sequence[SeenFrame]) -> Used:
    return Used(model_id, len(frames), _mean(frames))


def _mean(frames: Sequence[SeenFrame]) -> float:
    return sum(frame.seconds for frame in frames) / max(1, len(frames))
