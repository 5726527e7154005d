"""The measures of accuracies: each sample's contribution to its shard's counts, and the claim that totals
make.

Shares are of integers, and rounded down, so that programs in any language write the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, NamedTuple

import rfc8785
from pydantic import BaseModel, ConfigDict, Field

from zenserve.verifier.schemes import Measure

MOST_STEP: Final = 1e140
"""Of outputs that are measured: its square times any integer of a document is a finite number."""
_Exact = Annotated[int, Field(gt=-(1 << 53), lt=1 << 53)]
_PLACES: Final = 4
_ONE: Final = 10**_PLACES
_FINE: Final = 100
"""Shares are added up by so many finer parts than are said of their mean."""
_MOST_CLASSES: Final = 16
"""Of so many words say each: the statement's values have them all."""


class Targets(BaseModel):
    """The quantisation of a network's outputs and of the samples' targets: ``real = scale (q - zero_point)``.

    ``minimum``, ``maximum``: of the targets' integers; ``error``: the largest difference to an output.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    scale: float = Field(gt=0, le=MOST_STEP)
    zero_point: _Exact
    minimum: _Exact
    maximum: _Exact
    error: _Exact


class Count(NamedTuple):
    """A count over samples: a list of ``size`` integers, or one integer outside a list (None). ``least``,
    ``most``: the bounds of what a sample adds to each integer."""

    name: str
    size: int | None
    least: int
    most: int


class Measurement(NamedTuple):
    """``top``: among how many labels, of ``top-k``; ``outputs``: how many the network has; ``targets``: of
    measures of values, which take them (``takes_targets``)."""

    measure: Measure
    top: int
    outputs: int
    targets: Targets | None

    @property
    def counts(self) -> list[Count]:
        """The counts that a shard's commitment ``correct`` is to, in order."""
        targets, outputs = self.targets, self.outputs
        if self.measure == "f1":
            return [Count(name, outputs, 0, 1) for name in ("true_positives", "predicted", "actual")]
        if targets is None:
            return [Count("certified" if self.measure == "certified" else "correct", None, 0, 1)]
        low, high, error = targets.minimum, targets.maximum, targets.error
        match self.measure:
            case "mse":
                return [Count("squared_error", None, 0, outputs * error**2)]
            case "mae":
                return [Count("absolute_error", None, 0, outputs * error)]
        return [
            Count("squared_error", outputs, 0, error**2),
            Count("target_sum", outputs, min(0, low), max(0, high)),
            Count("target_square", outputs, 0, max(low**2, high**2)),
        ]

    def values(self, totals: Sequence[int]) -> dict[str, int | list[int]]:
        """The totals by the names of ``counts``, as statements have them."""
        values, first = dict[str, int | list[int]](), 0
        for count in self.counts:
            size = count.size or 1
            numbers = [*totals[first : first + size]]
            values[count.name] = numbers[0] if count.size is None else numbers
            first += size
        return values

    def claim(self, totals: Mapping[str, Sequence[int]], size: int) -> str:
        """Return the claim, in words, of the totals, by the names of ``counts``, over ``size`` samples."""
        match self.measure:
            case "accuracy":
                return f"The network gets {totals['correct'][0]} of {size} labels right."
            case "top-k":
                found = f"For {totals['correct'][0]} of {size} samples the label is among the network's"
                return f"{found} {self.top} likeliest."
            case "certified":
                found = f"At least {totals['certified'][0]} of {size} samples are labelled rightly"
                return f"{found}, and so is every input within the radius of them."
            case "f1":
                return _f1(*(totals[count.name] for count in self.counts), size=size)
            case "r2":
                return _r2(*(totals[count.name] for count in self.counts), size=size)
        scale = self.targets.scale if self.targets else 1.0
        squared = self.measure == "mse"
        kind, factor = ("squared", scale * scale) if squared else ("absolute", scale)
        mean = factor * (totals[f"{kind}_error"][0] / size / self.outputs)
        return (
            f"The network's mean {kind} error over {size} samples is {_written(mean)}, for outputs and"
            f" targets in steps of {_written(scale)}."
        )


def takes_targets(measure: Measure) -> bool:
    """Return whether the measure compares a network's values with targets, not its classes with labels."""
    return measure in ("mse", "mae", "r2")


def _f1(right: Sequence[int], predicted: Sequence[int], actual: Sequence[int], *, size: int) -> str:
    """Of no class that does not occur. What is divided by 0 is 0."""
    classes = [
        (index, (2 * both, said + there), (both, said), (both, there))
        for index, (both, said, there) in enumerate(zip(right, predicted, actual, strict=True))
        if said + there
    ]
    mean = _mean(f1 for _, f1, _, _ in classes)
    found = f"Over {size} samples the network's F1 is {mean}, the mean of {len(classes)} classes."
    if len(right) > _MOST_CLASSES:
        return found
    each = [f"{index}: {', '.join(_mean([share]) for share in shares)}" for index, *shares in classes]
    return f"{found} F1, precision and recall by class, rounded down: {'; '.join(each)}."


def _r2(errors: Sequence[int], sums: Sequence[int], squares: Sequence[int], *, size: int) -> str:
    """1 less the share of the squared errors in the targets' variance, the mean of all outputs."""
    spreads = [size * square - total**2 for total, square in zip(sums, squares, strict=True)]
    if min(spreads) <= 0:
        return f"The network's R² over {size} samples is none: the targets of an output are all the same."
    mean = _mean((spread - size * error, spread) for error, spread in zip(errors, spreads, strict=True))
    return f"The network's R² over {size} samples is {mean}, rounded down."


def _mean(shares: Iterable[tuple[int, int]]) -> str:
    """Of shares, each a part and the whole, 0 of 0 being 0: to four places, rounded down."""
    parts = [_FINE * _ONE * part // whole if whole else 0 for part, whole in shares]
    found = sum(parts) // max(1, len(parts)) // _FINE
    whole, places = divmod(abs(found), _ONE)
    return f"{'-' * (found < 0)}{whole}.{places:0{_PLACES}}"


def _written(number: float) -> str:
    """As RFC 8785 writes doubles: the same text in any language."""
    return rfc8785.dumps(number).decode()
