"""Compares a model's own answers with the integers that are to be proven, stage by stage
(``circuits.differences``). Each stage compares two computations on the same samples."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from circuits.differences import TOLERANCES, Difference, Stage, Tolerance
from circuits.graphs.graph import Graph
from circuits.graphs.tensors import as_samples
from circuits.graphs.types import FloatArray
from circuits.networks.files import load_onnx, trace_onnx
from circuits.onnx import runtime
from circuits.onnx.runtime import File
from circuits.quantisation.labels import is_of_classes
from circuits.quantisation.plan import input_names, output_names, plan
from circuits.quantised import QuantGraph
from circuits.tuning import work_of
from verifier.schemes import Reveal

Samples = Mapping[str, FloatArray]

MAX_SAMPLES: Final = 16
"""Samples that a stage compares, spread evenly over those that there are."""
# Of all samples of a stage together, and of those that onnx's reference, in Python, runs (``work_of``).
_MAX_WORK: Final = 1 << 32
_MAX_REFERENCE_WORK: Final = 1 << 28
# Of a file that declares its own integers: runtimes round these in other places.
_DECLARED: Final = 0.02
_MAX_SHARE: Final = 0.05


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


def compare_file(file: File, sizes: Mapping[str, int], samples: Samples, *, own: bool) -> Difference | None:
    """The float network that is read from ``file`` beside other programs' answers; None where none runs it.

    ``sizes``: of dimensions that the file only names. ``samples``: float64[n, *shape] by inputs. ``own``:
    whether the first of them is the one to be proven. Where onnxruntime and onnx's reference differ, either
    may be right.
    """
    graph = load_onnx(file, sizes, whole=True)
    tolerance = TOLERANCES["import"]
    if graph.declared:
        tolerance = tolerance._replace(value=_DECLARED)
    exact, found = _exact(graph), _floats(graph, samples)
    nearest: Difference | None = None
    small = len(next(iter(samples.values()))) * work_of(graph) <= _MAX_REFERENCE_WORK
    for theirs in runtime.answers(file, samples, sizes, graph.outputs, runtime.PROGRAMS[: 1 + small]):
        gaps = _gaps(theirs.outputs, found, exact, tolerance)
        difference = _difference("import", theirs.by, gaps, own=own)
        if nearest is None or difference.differing < nearest.differing:
            nearest = difference
        if _is_near(difference, tolerance):
            return difference
    if nearest is None:
        return None
    node = _parting_of_file(file, sizes, samples)
    return replace(nearest, node=node or nearest.output)


def compare_model(
    reference: str, expected: Mapping[str, FloatArray], graph: Graph, samples: Samples, *, own: bool
) -> Difference | None:
    """The float ``graph`` of a whole file (``load_onnx``) beside the answers of the model in memory that it
    was exported from, float64[n, …] by outputs; None where the model has none that the file has."""
    outputs = {name: values for name, values in expected.items() if name in graph.outputs}
    if not outputs:
        return None
    flat = {name: values.reshape(len(values), -1).astype(np.float64) for name, values in outputs.items()}
    gaps = _gaps(flat, _floats(graph, samples), _exact(graph), TOLERANCES["export"])
    made = _difference("export", reference, gaps, own=own)
    if _is_near(made, TOLERANCES["export"]):
        return made
    return replace(made, node=made.output)


def labels_shown(shown: Mapping[str, Reveal], top: int) -> dict[str, int]:
    """Of outputs of which a proof shows labels, by their names, how many."""
    counts = {"label": 1, "top": top}
    return {name: counts[reveal] for name, reveal in shown.items() if reveal in counts}


def compare_integers(
    graph: Graph, qgraph: QuantGraph, samples: Samples, ranked: Mapping[str, int] | None = None, *, own: bool
) -> Difference:
    """The integers, ``qgraph``, beside the float network that they were made of. ``ranked``: of how many
    first labels an output is, by its name there, where it is not of values (``labels_shown``); by default of
    one where it has a score for each of several classes, and of those without a scale."""
    called, tolerance = output_names(graph), TOLERANCES["quantisation"]
    first_labels = {name: 1 for name, each in called.items() if not qgraph.scale_of(qgraph.outputs[each])}
    if ranked is None:
        first_labels |= {name: 1 for name, each in graph.outputs.items() if is_of_classes(graph.shapes[each])}
    else:
        first_labels |= {name: ranked[each] for name, each in called.items() if each in ranked}
    found = _reals(graph, qgraph, samples)
    gaps = _gaps(_floats(graph, samples), found, _exact(graph), tolerance, first_labels)
    difference = _difference("quantisation", "the float network", gaps, own=own)
    if _is_near(difference, tolerance):
        return difference
    first = int(np.argmax(gaps[difference.output].differs))
    one = {name: values[first : first + 1] for name, values in samples.items()}
    return replace(difference, node=_parting_of_integers(graph, qgraph, one))


class _Gap(NamedTuple):
    """Of one output: whether each sample ``differs`` [n], and the largest ``error`` (``Difference``)."""

    measure: Literal["label", "value"]
    differs: NDArray[np.bool_]
    error: float


def _gaps(
    expected: Mapping[str, FloatArray],
    found: Mapping[str, FloatArray],
    exact: Collection[str],
    tolerance: Tolerance,
    ranked: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, _Gap]:
    """By output. ``exact``: those of whole numbers. ``ranked``: of how many first labels others are."""
    return {
        name: _labels(values, found[name], ranked[name])
        if name in ranked
        else _values(values, found[name], None if name in exact else tolerance.value)
        for name, values in expected.items()
    }


def _labels(expected: FloatArray, found: FloatArray, count: int) -> _Gap:
    """By the first ``count`` labels in their order."""
    first, second = (np.argsort(-each, axis=1, kind="stable")[:, :count] for each in (expected, found))
    differs: NDArray[np.bool_] = np.any(first != second, axis=1)
    return _Gap("label", differs, float(differs.mean()))


def _values(expected: FloatArray, found: FloatArray, tolerance: float | None) -> _Gap:
    """``tolerance``: None where values are whole numbers, which are the same or not."""
    if expected.shape != found.shape:
        return _Gap("value", np.ones(len(expected), np.bool_), float("inf"))
    with np.errstate(invalid="ignore"):
        errors = np.where(expected == found, 0.0, np.abs(found - expected))
    errors = np.where(np.isnan(expected) & np.isnan(found), 0.0, np.nan_to_num(errors, nan=np.inf))
    span = _range(expected)
    beyond = errors >= 0.5 if tolerance is None else errors > tolerance * span
    differs: NDArray[np.bool_] = np.mean(beyond, axis=1) > (0 if tolerance is None else _MAX_SHARE)
    return _Gap("value", differs, float(errors.max()) / span)


def _range(values: FloatArray) -> float:
    """How far the finite ones reach, zero included."""
    finite = values[np.isfinite(values)]
    span = float(np.ptp(np.append(finite, 0.0)))
    return max(span, float(np.finfo(np.float32).tiny))


def _difference(stage: Stage, reference: str, gaps: Mapping[str, _Gap], *, own: bool) -> Difference:
    """Of the output on which most samples differ. One that is to be proven, the first, counts as all."""

    def share(gap: _Gap) -> float:
        return 1.0 if own and gap.differs[0] else float(gap.differs.mean())

    name, worst = max(gaps.items(), key=lambda each: (share(each[1]), each[1].error))
    return Difference(stage, reference, len(worst.differs), name, worst.measure, worst.error, share(worst))


def _is_near(difference: Difference, tolerance: Tolerance) -> bool:
    return difference.differing <= tolerance.samples


def _exact(graph: Graph) -> set[str]:
    """The names of outputs that are whole numbers."""
    return {name for name, tensor in graph.outputs.items() if tensor in graph.integers}


def _reals(graph: Graph, qgraph: QuantGraph, samples: Samples) -> dict[str, FloatArray]:
    """What the integers' outputs stand for, by the float network's names; of those without a scale the
    integers."""
    names, reals = input_names(graph), dict[str, FloatArray]()
    q = {names[name]: qgraph.entries[names[name]].type.quantise(values) for name, values in samples.items()}
    made = qgraph.run_all(q, {*qgraph.outputs.values()})
    for name, called in output_names(graph).items():
        tensor = qgraph.outputs[called]
        scale, zero = qgraph.scale_of(tensor) or (1.0, 0)
        reals[name] = scale * (made[tensor].reshape(len(made[tensor]), -1) - zero).astype(np.float64)
    return reals


def _floats(graph: Graph, samples: Samples) -> dict[str, FloatArray]:
    """The outputs by their names, float64[n, values]."""
    with np.errstate(all="ignore"):
        made = graph.run_all(samples, {*graph.outputs.values()})
    return {name: made[tensor].reshape(len(made[tensor]), -1) for name, tensor in graph.outputs.items()}


def _parting_of_file(file: File, sizes: Mapping[str, int], samples: Samples) -> str | None:
    """The first node whose tensor is another in other programs, on the first sample."""
    traced = trace_onnx(file, sizes)
    first = {name: values[:1] for name, values in samples.items()}
    with np.errstate(all="ignore"):
        ours = dict(traced.graph.tensors(first))
    whole = runtime.with_outputs(file, [each.name for each in traced.tensors])
    if whole is None:
        return None
    names = [each.name for each in traced.tensors]
    for theirs in runtime.answers(whole, first, sizes, names, runtime.PROGRAMS[:1]):
        for each in traced.tensors:
            expected, found = theirs.outputs[each.name], each.of(ours)
            if expected.shape != found.shape or _is_off(expected, found, TOLERANCES["import"].value):
                return each.node
    return None


def _parting_of_integers(graph: Graph, qgraph: QuantGraph, sample: Samples) -> str:
    """The first integer node whose tensor is off, on this sample."""
    names = input_names(graph)
    q = {names[name]: qgraph.entries[names[name]].type.quantise(values) for name, values in sample.items()}
    with np.errstate(all="ignore"):
        floats = dict(graph.tensors(sample))
    sources = {step.name: step for step in plan(graph)}
    last = ""
    for name, values in qgraph.tensors(q):
        kind, step = qgraph.types[name], sources.get(name)
        if step is None:
            continue
        last = f"{name!r} ({step.node.operator()}, tensor {step.tensor[:80]!r})"
        if kind and _is_off(floats[step.tensor], kind.real(values), TOLERANCES["quantisation"].value):
            return last
    return last


def _is_off(expected: FloatArray, found: FloatArray, tolerance: float) -> bool:
    finite = np.isfinite(expected) & np.isfinite(found)
    if not finite.any():
        return False
    errors = np.abs(found[finite] - expected[finite])
    return bool((errors > tolerance * _range(expected)).mean() > _MAX_SHARE)
