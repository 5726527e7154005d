"""A dataset cut into the batches that proofs of accuracy take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from zenserve.circuits.schemes.accuracy import SAMPLES, Parts
from zenserve.service.encryption import Integers, Secret
from zenserve.verifier.schemes import kind_of


@dataclass(frozen=True, eq=False)
class Batch:
    """``samples``: int64[batch, *shape], quantised, of several inputs by their names, in the network's order;
    ``labels``: int64[batch]; ``targets``: int64[batch, outputs], quantised, where there are any. ``size`` of
    them are the dataset's; the others are zeros and the least targets, with a label that says so.
    """

    samples: Integers | Mapping[str, Integers]
    labels: Integers
    targets: Integers | None
    size: int

    @property
    def committed(self) -> tuple[Integers, ...]:
        """In the order in which they are committed to."""
        samples = self.samples.values() if isinstance(self.samples, Mapping) else [self.samples]
        return (*samples, *([] if self.targets is None else [self.targets]), self.labels)

    @property
    def parts(self) -> Parts:
        """As ``zenserve.circuits.Accuracy`` takes them."""
        parts = self.samples, self.labels
        return parts if self.targets is None else (*parts, self.targets)


def cut(dataset: Mapping[str, Secret], batch: int, fills: Mapping[str, int]) -> list[Batch]:
    """All batches of ``samples``, of several inputs ``samples/NAME`` each, ``labels`` and, where there are
    any, ``targets``, the last one filled up with ``fills`` (``intake.fillings``)."""
    size = len(dataset["labels"].values)
    parts = {name: _filled(part.values, batch, fills[kind_of(name)]) for name, part in dataset.items()}

    def made(start: int) -> Batch:
        own = {name: part[start : start + batch] for name, part in parts.items()}
        several = {name.partition("/")[2]: part for name, part in own.items() if "/" in name}
        samples = several or own[SAMPLES]
        return Batch(samples, own["labels"], own.get("targets"), min(batch, size - start))

    return [made(start) for start in range(0, size, batch)]


def even(size: int, most: int) -> int:
    """The batch that cuts ``size`` samples into as few as ``most`` allows, with the least to fill up."""
    shards = -(-size // most)
    return -(-size // shards)


def _filled(values: Integers, batch: int, fill: int) -> Integers:
    """As many more, of ``fill`` alone, as make whole batches."""
    more = np.full((-len(values) % batch, *values.shape[1:]), fill, dtype=np.int64)
    return np.concatenate([values, more])
