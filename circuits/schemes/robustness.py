"""Robustness: that a network gives every input near the given one the same label.

The statement: for every input q' of the network's type with ``|q'_i - q_i| <= radius`` for all i, or, of the
norm "2", with ``sum_i (q'_i - q_i)^2 <= radius^2``, the output ``label`` is larger than every other. It is
about the network of integers, all of it: what is committed and proven is that intervals and lines hold
(``zenserve.circuits.certificates``), from which that follows. Where it does not follow there is no proof,
though the label may be the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.certificates.certificate import Certificate, certified
from zenserve.circuits.lowering import Lowering, Plan, arithmetic, best_plan
from zenserve.circuits.lowering.arithmetic import Arithmetic
from zenserve.circuits.quantised import QuantGraph
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.schemes.certifying import (
    certificate_cost,
    checked_radius,
    described_norm,
    hold_chosen,
    hold_parameters,
    hold_radius,
    near,
    radius_group,
)
from zenserve.circuits.schemes.circuit import (
    Circuit,
    Values,
    public_group,
    require_classes,
    require_known,
    require_one,
)
from zenserve.circuits.schemes.inputs import begin, input_wires, inputs_cost
from zenserve.errors import StatementError
from zenserve.kernels import FrArray, fr
from zenserve.prover.backends import Backend
from zenserve.prover.backends.cpu import CPU
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Norm, Privacy

# Of a course, and the radius itself.
_POINTS: Final = 9


@dataclass(frozen=True, eq=False)
class Robustness(Circuit):
    """The circuit of one certificate."""

    certificate: Certificate
    scheme = "robustness"

    @property
    def claim(self) -> str:
        return (
            "The prover knows an input of this type such that {network} gives the label to every input of"
            f" integers of this type {near(self.certificate.norm, 'its own')}: the label's output is larger"
            " than every other there."
        )

    @property
    def public_layout(self) -> list[dict[str, Any]]:
        graph = self.qgraph
        return self._layout(
            radius_group(self.certificate, graph.input),
            public_group("label", (), 0, graph.classes - 1),
        )

    def describe(self) -> dict[str, Any]:
        return super().describe() | described_norm(self.certificate)

    def values(self, q: NDArray[np.integer[Any]], radius: int) -> Values:
        """Return the public values of a proof, by the names of ``public_layout``. Raises ``TensorError``."""
        given = self._given(q, radius)
        shown = self._shown_inputs(self.checked(q))
        return shown | {"radius": radius, "label": int(given["label"][0])}

    def margins(self, q: NDArray[np.integer[Any]], radius: int) -> IntArray:
        """Return the lead of the label over each of the other labels that the certificate guarantees, in
        order, int64, at a scale of its own. There is a proof if all are positive."""
        found: IntArray = self.assign(q, radius)[self.layout["output/margins"].ravel()]
        return found

    def lead(self, q: NDArray[np.integer[Any]], radius: int) -> float:
        """The least of these, in integers of the output."""
        return math.ldexp(int(self.margins(q, radius).min()), self.certificate.exponent)

    def course(self, q: NDArray[np.integer[Any]], radius: int) -> list[tuple[int, float]]:
        """Radii from 0 to twice this one, as far as there are any, and the lead within each."""
        top = self.certificate.radius.bound.interval[1]
        radii = {radius, *np.linspace(0, min(2 * radius, top), _POINTS).astype(int).tolist()}
        return [(each, self.lead(q, each)) for each in sorted(radii)]

    def witness(
        self,
        q: NDArray[np.integer[Any]],
        radius: int,
        *,
        statement: int = 0,
        threads: int = 1,
        on: Backend = CPU,
    ) -> FrArray:
        """The satisfying assignment, uint64[variables, 4], Montgomery. Raises ``TensorError``, and
        ``StatementError`` (``statement.not_certified``) where a margin is not positive."""
        z = self._witness(self._given(q, radius), statement, threads, on)
        margins = fr.to_ints(z[self.layout["output/margins"].ravel()])
        if not all(0 < margin < fr.modulus // 2 for margin in margins):
            raise StatementError(
                "statement.not_certified",
                f"there is no certificate that the label is the same within {radius} steps: ask for a smaller"
                " radius (zenserve robustness says how far it goes), or train the network for this",
                field="radius",
            )
        return z

    def assign(self, q: NDArray[np.integer[Any]], radius: int) -> IntArray:
        """``witness`` as plain integers, int64[variables], whether margins are positive or not."""
        return self.program.assign(self._given(q, radius))

    def public_inputs(self, q: NDArray[np.integer[Any]], radius: int, *, statement: int = 0) -> list[int]:
        """The statement's public inputs in order, as ``public_layout`` describes them."""
        return self._listed(self.values(q, radius), statement)

    def _given(self, q: NDArray[np.integer[Any]], radius: int) -> dict[str, IntArray]:
        checked = self.checked(q)["input"]
        return {
            "input": checked.ravel(),
            "radius": checked_radius(self.certificate, radius),
            "label": np.array([self.qgraph.execute(checked).label]),
        }


def compile_robustness(
    qgraph: QuantGraph,
    *,
    input_privacy: Privacy = "public",
    weight_privacy: Privacy = "public",
    norm: Norm = "inf",
) -> Robustness:
    """The circuit of ``qgraph``, whose outputs are classes, within a radius of this norm. Linked segments:
    "model" and "input", where they are committed.

    Raises ``StatementError`` as ``compile_inference``, and ``ModelError`` (``model.unsupported_operator``)
    for operators that there are no certificates of.
    """
    builder = Builder()
    tools = arithmetic(builder, 5)
    typed, certificate, plan = _planned(qgraph, input_privacy, weight_privacy, norm, tools)
    network = typed.relations
    lowering = Lowering(tools, certificate.relations, 5, plan)
    begin(builder, typed)
    hold_parameters(lowering, tools, network, certificate)
    lowering.hold(network.input, input_wires(tools, typed, qgraph.input.name))
    hold_radius(lowering, tools, certificate)
    lowering.hold(certificate.label, builder.public("label", 1))
    hold_chosen(lowering, tools, certificate)
    lowering.lower()
    return Robustness(
        typed, 5, builder.program(), plan, certificate.relations, lowering.wires, certificate=certificate
    )


def plan_robustness(
    qgraph: QuantGraph,
    *,
    input_privacy: Privacy = "public",
    weight_privacy: Privacy = "public",
    norm: Norm = "inf",
) -> Plan:
    """The rows of ``compile_robustness``, without building anything. Raises as it does."""
    return _planned(qgraph, input_privacy, weight_privacy, norm, arithmetic(Builder(), 5))[2]


def _planned(
    qgraph: QuantGraph, input_privacy: Privacy, weight_privacy: Privacy, norm: Norm, tools: Arithmetic
) -> tuple[TypedGraph, Certificate, Plan]:
    require_known(5, input_privacy=input_privacy, weight_privacy=weight_privacy)
    _require_classes(qgraph)
    typed = TypedGraph(qgraph, input_privacy, weight_privacy)
    certificate = certified(typed.relations, norm)
    others = inputs_cost(typed) + certificate_cost(tools, typed.relations, certificate)
    return typed, certificate, best_plan(tools, certificate.relations, 5, others)


def require_certificates(qgraph: QuantGraph, norm: Norm = "inf") -> None:
    """Check that certificates of the network exist. Raises as ``compile_robustness``."""
    _require_classes(qgraph)
    certified(TypedGraph(qgraph, "public", "public").relations, norm)


def _require_classes(qgraph: QuantGraph) -> None:
    require_one(qgraph, "a certificate")
    require_classes(qgraph.classes, "scheme", "there is no label to keep")
