"""The robustness of labels near inputs, in one call (docs/robustness.md)."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import ArrayLike

from zenserve.bounds import Method, Norm
from zenserve.bounds.report import Report, assess, classes
from zenserve.circuits import Graph, QuantGraph
from zenserve.circuits.tuning import tune
from zenserve.onecall import networks


def robustness(
    network: Any,
    x: Any,
    labels: ArrayLike | None = None,
    *,
    eps: float,
    norm: Norm = "inf",
    method: Method = "crown",
    within: tuple[float, float] = (-math.inf, math.inf),
    where: ArrayLike | None = None,
    calibration: Any = None,
    bits: int | None = 8,
) -> Report:
    """Report which of the samples ``x`` [n, …] are certain to keep their label within ``eps``.

    ``network``: as ``prove`` takes it. ``labels``: int[n], by default those that the network gives.
    ``within``: the range of inputs, such as 0 to 1 for pixels. ``where``: booleans of the input's shape, the
    entries that may change, by default all. ``calibration``: typical inputs [n, …]; if given, the report is
    about the integers that proofs are about, of ``bits`` bits, else about floats. Raises ``ModelError``,
    ``TensorError`` and ``RequestError``.
    """
    graph = networks.load(network, networks.array(x)[:1]).graph
    (samples,) = networks.samples(graph, x).values()
    bounded: Graph | QuantGraph = graph
    if calibration is not None:
        bounded = tune(graph, networks.samples(graph, calibration), bits=bits).qgraph
    found = classes(graph, labels, len(samples))
    return assess(bounded, samples, found, eps=eps, norm=norm, method=method, domain=within, where=where)
