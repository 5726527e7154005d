"""A dataset cut into the batches that proofs of accuracy take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from service.encryption import Integers, Secret


@dataclass(frozen=True, eq=False)
class Batch:
    """``samples``: int64[batch, *shape], quantised; ``labels``: int64[batch]. ``size`` of them are the
    dataset's; the others are zeros, with a label that no network gives.
    """

    samples: Integers
    labels: Integers
    size: int


def cut(dataset: Mapping[str, Secret], batch: int, classes: int) -> list[Batch]:
    """All batches of ``samples`` and ``labels``, the last one filled up."""
    samples, labels = dataset["samples"].values, dataset["labels"].values
    return [
        _filled(samples[start : start + batch], labels[start : start + batch], batch, classes)
        for start in range(0, len(labels), batch)
    ]


def even(size: int, most: int) -> int:
    """The batch that cuts ``size`` samples into as few as ``most`` allows, with the least to fill up."""
    shards = -(-size // most)
    return -(-size // shards)


def _filled(samples: Integers, labels: Integers, batch: int, classes: int) -> Batch:
    size = len(labels)
    zeros = np.zeros((batch - size, *samples.shape[1:]), dtype=np.int64)
    nothing = np.full(batch - size, classes, dtype=np.int64)
    return Batch(np.concatenate([samples, zeros]), np.concatenate([labels, nothing]), size)
