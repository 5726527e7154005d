"""Answers of two computations on the same samples, compared output by output."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.comparison.differences import Difference, Stage, Tolerance
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.tensors import as_samples
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.tuning import work_of

Samples = Mapping[str, FloatArray]

MAX_SAMPLES: Final = 16
"""Samples that a stage compares, spread evenly over those that there are."""
# Of all samples of a stage together (``work_of``).
_MAX_WORK: Final = 1 << 32
_MAX_SHARE: Final = 0.05
# Tolerances: another function is that far off, and where it is, on most samples.
_FAR: Final = 10
_ONE: Final = 1.01
# Float32 ends there, and masks by its least number are as good as infinite.
_HUGE: Final = 1e37


def chosen(graph: Graph, samples: Samples, own: Samples | None = None) -> dict[str, FloatArray]:
    """At most ``MAX_SAMPLES`` of ``samples``, spread evenly, behind the one that is proven, ``own`` [*shape].
    Raises ``TensorError`` where they do not fit the network's inputs."""
    if own is not None:
        given = {name: np.asarray(each)[np.newaxis] for name, each in own.items()}
        own = as_samples(given, graph.entries, field="input")
    samples = as_samples(samples, graph.entries, field="calibration")
    count, most = len(next(iter(samples.values()))), _MAX_WORK // work_of(graph)
    kept = max(1, min(count, MAX_SAMPLES - 1, most))
    places = np.linspace(0, count - 1, kept).astype(np.int64)
    picked = {name: values[places] for name, values in samples.items()}
    if own is None:
        return picked
    return {name: np.concatenate([own[name], values]) for name, values in picked.items()}


class Gap(NamedTuple):
    """Of one output: whether each sample ``differs`` [n], and the largest ``error`` (``Difference``)."""

    measure: Literal["label", "value"]
    differs: NDArray[np.bool_]
    error: float


def gaps_of(
    expected: Mapping[str, FloatArray],
    found: Mapping[str, FloatArray],
    exact: Collection[str],
    tolerance: Tolerance,
    ranked: Mapping[str, int] = MappingProxyType({}),
    steps: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, Gap]:
    """By output. ``exact``: those of whole numbers. ``ranked``: of how many first labels others are.
    ``steps``: of those that are rounded."""
    return {
        name: by_labels(values, found[name], ranked[name])
        if name in ranked
        else by_values(
            values,
            found[name],
            None if name in exact else tolerance.value,
            steps.get(name, 0.0),
            strict=tolerance.strict,
        )
        for name, values in expected.items()
    }


def by_labels(expected: FloatArray, found: FloatArray, count: int) -> Gap:
    """By the first ``count`` labels in their order."""
    first, second = (np.argsort(-each, axis=1, kind="stable")[:, :count] for each in (expected, found))
    differs: NDArray[np.bool_] = np.any(first != second, axis=1)
    return Gap("label", differs, float(differs.mean()))


def by_values(
    expected: FloatArray,
    found: FloatArray,
    tolerance: float | None,
    step: float = 0.0,
    *,
    strict: bool = False,
) -> Gap:
    """``tolerance``: None where values are whole numbers, which are the same or not. ``step``: an error of
    one is none. ``strict``: no single value may be far off on most samples."""
    if expected.shape != found.shape:
        return Gap("value", np.ones(len(expected), np.bool_), float("inf"))
    expected, found = map(_with_infinities, (expected, found))
    with np.errstate(invalid="ignore"):
        errors = np.where(expected == found, 0.0, np.abs(found - expected))
    errors = np.where(np.isnan(expected) & np.isnan(found), 0.0, np.nan_to_num(errors, nan=np.inf))
    span = reach(expected)
    if tolerance is None:
        return Gap("value", np.any(errors >= 0.5, axis=1), float(errors.max()) / span)
    end = max(tolerance * span, _ONE * step)
    far = errors > _FAR * end
    always = far & (far.mean(axis=0) > 0.5) & (len(far) > 1)
    differs: NDArray[np.bool_] = (np.mean(errors > end, axis=1) > _MAX_SHARE) | (strict & always.any(axis=1))
    return Gap("value", differs, float(errors.max()) / span)


def _with_infinities(values: FloatArray) -> FloatArray:
    return np.where(np.abs(values) > _HUGE, np.copysign(np.inf, values), values)


def reach(values: FloatArray) -> float:
    """Return the width of the interval of the finite values and zero; at least the smallest normal
    float32."""
    finite = values[np.isfinite(values)]
    span = float(np.ptp(np.append(finite, 0.0)))
    return max(span, float(np.finfo(np.float32).tiny))


def furthest(stage: Stage, reference: str, gaps: Mapping[str, Gap], *, own: bool) -> Difference:
    """Of the output on which most samples differ. One that is to be proven, the first, counts as all."""

    def share(gap: Gap) -> float:
        return 1.0 if own and gap.differs[0] else float(gap.differs.mean())

    name, worst = max(gaps.items(), key=lambda each: (share(each[1]), each[1].error))
    return Difference(stage, reference, len(worst.differs), name, worst.measure, worst.error, share(worst))


def is_near(difference: Difference, tolerance: Tolerance) -> bool:
    few = tolerance.few if difference.samples > tolerance.few else 0
    return difference.differing <= max(tolerance.samples, few / difference.samples)


def exact_outputs(graph: Graph) -> set[str]:
    """The names of outputs that are whole numbers, and not rounded to be some."""
    whole = graph.integers - graph.declared.keys()
    return {name for name, tensor in graph.outputs.items() if tensor in whole}


def steps_of(graph: Graph) -> dict[str, float]:
    """The steps of outputs that the file rounds: whoever rounds elsewhere may be off by one."""
    return {
        name: float(graph.declared[tensor].scale)
        for name, tensor in graph.outputs.items()
        if tensor in graph.declared
    }


def outputs_of(graph: Graph, samples: Samples) -> dict[str, FloatArray]:
    """The outputs by their names, float64[n, values]."""
    with np.errstate(all="ignore"):
        made = graph.run_all(samples, {*graph.outputs.values()})
    return {name: made[tensor].reshape(len(made[tensor]), -1) for name, tensor in graph.outputs.items()}


def is_off(expected: FloatArray, found: FloatArray, tolerance: float) -> bool:
    finite = np.isfinite(expected) & np.isfinite(found)
    if not finite.any():
        return False
    errors = np.abs(found[finite] - expected[finite])
    return bool((errors > tolerance * reach(expected)).mean() > _MAX_SHARE)
