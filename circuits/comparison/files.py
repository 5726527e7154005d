"""The float network that was read beside its file in other programs, and beside the model in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.comparison.differences import TOLERANCES, Difference
from zenserve.circuits.comparison.gaps import (
    Samples,
    exact_outputs,
    furthest,
    gaps_of,
    is_near,
    is_off,
    outputs_of,
    steps_of,
)
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.networks.files import load_onnx, trace_onnx
from zenserve.circuits.onnx import runtime
from zenserve.circuits.onnx.frames.exported import Tabular
from zenserve.circuits.onnx.message import decode, entries
from zenserve.circuits.onnx.predictions import predictions
from zenserve.circuits.onnx.runtime import File
from zenserve.circuits.tuning import work_of

# Of all samples that onnx's reference, in Python, runs (``work_of``).
_MAX_REFERENCE_WORK: Final = 1 << 28
# Of a file that declares its own integers: runtimes round these in other places.
_DECLARED: Final = 0.02


class Exported(NamedTuple):
    """A model in memory, an example of each of its inputs, and the names that its exporter gave to its
    outputs, both in order. ``rows``: of entries [n, …] of the network what the model takes, where these are
    rows of a table with words or gaps."""

    model: Any
    examples: tuple[NDArray[Any], ...]
    outputs: Sequence[str]
    rows: Callable[[NDArray[Any]], Any] | None = None

    @classmethod
    def of(cls, model: Any, examples: tuple[NDArray[Any], ...], file: bytes) -> Exported:
        """``file``: that the model was exported to, with all outputs."""
        return cls(model, examples, [each.name for each in decode(file).graph.output])

    @classmethod
    def of_table(cls, made: Tabular) -> Exported:
        """A model of tables with names, words or gaps (``export_tabular``)."""
        return cls.of(made.model, (np.zeros(made.schema.size),), made.file)._replace(rows=made.asked)

    def answers(self, file: File, samples: Samples) -> Mapping[str, NDArray[Any]]:
        """Return the answers of the model itself to the samples, by the names of outputs."""
        count = len(next(iter(samples.values())))
        given = [
            samples[name].reshape(count, *x.shape).astype(x.dtype)
            if name in samples
            else np.broadcast_to(x, (count, *x.shape))
            for name, x in zip(entries(file), self.examples, strict=False)
        ]
        if self.rows is not None:
            given = [self.rows(given[0])]
        return predictions(self.model, *given, names=self.outputs)


def compare_source(
    file: File, sizes: Mapping[str, int], exported: Exported | None, samples: Samples, *, own: bool
) -> tuple[Difference, ...]:
    """Compare the network read from ``file`` with the model that the file was exported from, if any, and with
    other programs. Arguments as for ``compare_file``."""
    graph = load_onnx(file, sizes, whole=True)
    found = [compare_file(graph, file, sizes, samples, own=own)]
    if exported is not None:
        name, answers = f"the {type(exported.model).__name__} itself", exported.answers(file, samples)
        found.insert(0, compare_model(name, answers, graph, samples, own=own))
    return tuple(each for each in found if each is not None)


def compare_file(
    graph: Graph, file: File, sizes: Mapping[str, int], samples: Samples, *, own: bool
) -> Difference | None:
    """The float network, ``graph``, that was read from the whole ``file`` (``load_onnx``) beside other
    programs' answers; None where none runs it.

    ``sizes``: of dimensions that the file only names. ``samples``: float64[n, *shape] by inputs. ``own``:
    whether the first of them is the one to be proven. Where onnxruntime and onnx's reference differ, either
    may be right.
    """
    tolerance = TOLERANCES["import"]
    if graph.declared or graph.measured:
        tolerance = tolerance._replace(value=_DECLARED)
    exact, found = exact_outputs(graph), outputs_of(graph, samples)
    nearest: Difference | None = None
    small = len(next(iter(samples.values()))) * work_of(graph) <= _MAX_REFERENCE_WORK
    for theirs in runtime.answers(file, samples, sizes, graph.outputs, runtime.PROGRAMS[: 1 + small]):
        gaps = gaps_of(theirs.outputs, found, exact, tolerance, steps=steps_of(graph))
        difference = furthest("import", theirs.by, gaps, own=own)
        if nearest is None or difference.differing < nearest.differing:
            nearest = difference
        if is_near(difference, tolerance):
            return difference
    if nearest is None:
        return None
    node = _parting_of_file(file, sizes, samples)
    return replace(nearest, node=node or nearest.output)


def compare_model(
    reference: str, expected: Mapping[str, NDArray[Any]], graph: Graph, samples: Samples, *, own: bool
) -> Difference | None:
    """The float ``graph`` of a whole file (``load_onnx``) beside the answers of the model in memory that it
    was exported from, [n, …] by outputs; None where the model has none that the file has."""
    outputs = {name: values for name, values in expected.items() if name in graph.outputs}
    if not outputs:
        return None
    flat = {name: values.reshape(len(values), -1).astype(np.float64) for name, values in outputs.items()}
    gaps = gaps_of(flat, outputs_of(graph, samples), exact_outputs(graph), TOLERANCES["export"])
    made = furthest("export", reference, gaps, own=own)
    if is_near(made, TOLERANCES["export"]):
        return made
    return replace(made, node=made.output)


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
            if expected.shape != found.shape or is_off(expected, found, TOLERANCES["import"].value):
                return each.node
    return None
