"""The integers that are to be proven beside the float network that they were made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

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
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.quantisation.labels import is_of_classes
from zenserve.circuits.quantisation.plan import input_names, output_names, plan, quantised_samples
from zenserve.circuits.quantised import QuantGraph
from zenserve.verifier.schemes import Reveal


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
        first_labels |= {
            name: ranked[each] for name, each in called.items() if each in ranked and qgraph.size(each) > 1
        }
    found = _reals(graph, qgraph, samples)
    gaps = gaps_of(
        outputs_of(graph, samples), found, exact_outputs(graph), tolerance, first_labels, steps_of(graph)
    )
    difference = furthest("quantisation", "the float network", gaps, own=own)
    if is_near(difference, tolerance):
        return difference
    first = int(np.argmax(gaps[difference.output].differs))
    one = {name: values[first : first + 1] for name, values in samples.items()}
    return replace(difference, node=_parting_of_integers(graph, qgraph, one))


def _reals(graph: Graph, qgraph: QuantGraph, samples: Samples) -> dict[str, FloatArray]:
    """Return the real numbers that the integers' outputs represent, by the float network's names; the
    integers themselves for outputs without a scale."""
    reals = dict[str, FloatArray]()
    q = quantised_samples(qgraph, input_names(graph), samples)
    made = qgraph.run_all(q, {*qgraph.outputs.values()})
    for name, called in output_names(graph).items():
        tensor = qgraph.outputs[called]
        scale, zero = qgraph.scale_of(tensor) or (1.0, 0)
        reals[name] = scale * (made[tensor].reshape(len(made[tensor]), -1) - zero).astype(np.float64)
    return reals


def _parting_of_integers(graph: Graph, qgraph: QuantGraph, sample: Samples) -> str:
    """The first integer node whose tensor is off, on this sample."""
    q = quantised_samples(qgraph, input_names(graph), sample)
    with np.errstate(all="ignore"):
        floats = dict(graph.tensors(sample))
    sources = {step.name: step for step in plan(graph)}
    last = ""
    for name, values in qgraph.tensors(q):
        kind, step = qgraph.types[name], sources.get(name)
        if step is None:
            continue
        last = f"{name!r} ({step.node.operator()}, tensor {step.tensor[:80]!r})"
        if kind and is_off(floats[step.tensor], kind.real(values), TOLERANCES["quantisation"].value):
            return last
    return last
