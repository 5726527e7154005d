"""Circuits that are planned, and not built: their constraints exactly, and about how large they will be.

A plan takes a fraction of the time and of the memory: what is too large is known before either is spent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from zenserve.circuits.lowering import Plan
from zenserve.circuits.quantised import QuantGraph
from zenserve.circuits.schemes.accuracy import measured_output, plan_accuracy
from zenserve.circuits.schemes.inference import plan_inference
from zenserve.circuits.schemes.inputs import sample_values
from zenserve.circuits.schemes.registration import parameters, plan_registration
from zenserve.circuits.schemes.robustness import plan_robustness
from zenserve.prover.size import Size
from zenserve.verifier.measures import takes_targets
from zenserve.verifier.schemes import Compared, Measure, Norm, Privacy


@dataclass(frozen=True)
class Planned:
    constraints: int
    size: Size


def registration(qgraph: QuantGraph) -> Planned:
    """Plan the circuit of ``compile_registration``. Raises as it does; the other functions raise as their
    compilers do."""
    plan = plan_registration(qgraph)
    return Planned(plan.rows, Size.planned(plan.rows, linked=len(parameters(qgraph)), chosen=0))


def inference(qgraph: QuantGraph, weight_privacy: Privacy, batch: int = 1) -> Planned:
    """Plan the circuit of ``compile_inference`` for private inputs and the default outputs."""
    plan = plan_inference(qgraph, weight_privacy=weight_privacy, batch=batch)
    return _planned(plan, qgraph, weight_privacy)


def registered(qgraph: QuantGraph, weight_privacy: Privacy) -> list[Planned]:
    """The circuits that a registration makes keys of."""
    more = [registration(qgraph)] if weight_privacy == "committed" else []
    return [inference(qgraph, weight_privacy), *more]


def accuracy(
    qgraph: QuantGraph,
    weight_privacy: Privacy,
    batch: int,
    measure: Measure,
    top: int = 1,
    output: str | None = None,
    norm: Norm = "inf",
) -> Planned:
    """Plan the circuit of ``compile_accuracy``."""
    plan = plan_accuracy(
        qgraph,
        batch=batch,
        weight_privacy=weight_privacy,
        measure=measure,
        top=top,
        output=output,
        norm=norm,
    )
    compared: Compared = "targets" if takes_targets(measure) else "labels"
    inputs = qgraph.inputs_of(measured_output(qgraph, compared, output))
    samples = len(sample_values(inputs)) + batch * sum(math.prod(entry.shape) for entry in inputs)
    return _planned(plan, qgraph, weight_privacy, samples)


def robustness(qgraph: QuantGraph, weight_privacy: Privacy, norm: Norm = "inf") -> Planned:
    """Plan the circuit of ``compile_robustness``."""
    plan = plan_robustness(qgraph, weight_privacy=weight_privacy, norm=norm)
    return _planned(plan, qgraph, weight_privacy)


def _planned(plan: Plan, qgraph: QuantGraph, weight_privacy: Privacy, others: int = 0) -> Planned:
    weights = len(parameters(qgraph)) if weight_privacy == "committed" else 0
    return Planned(plan.rows, Size.planned(plan.rows, linked=weights + others, chosen=plan.rows))
