"""The wires of certificates, and what these cost beside their relations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zenserve.circuits.certificates.certificate import Certificate
from zenserve.circuits.lowering import Cost, Lowering
from zenserve.circuits.lowering.arithmetic import Arithmetic
from zenserve.circuits.lowering.parameters import hold, parameters_cost
from zenserve.circuits.quantised import QuantInput
from zenserve.circuits.r1cs.linear import Linear
from zenserve.circuits.r1cs.steps import Constant
from zenserve.circuits.schemes import measures
from zenserve.circuits.schemes.circuit import checked_integers, public_group
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Absolute, Equal, Parameter, Relations, Square, Tensor, Total
from zenserve.verifier.schemes import Norm


def hold_parameters(
    lowering: Lowering, tools: Arithmetic, network: Relations, certificate: Certificate
) -> None:
    """All parameters of the network, in order, and those that are on wires of theirs."""
    hidden = _hidden(network)
    for parameter in hidden:
        lowering.hold(parameter, *hold(tools, parameter))
    if not hidden:
        return
    zero = tools.builder.private("zero", 1)
    tools.builder.zero("zero", Linear.wires(zero))
    tools.builder.fill(Constant("zero", zero, np.zeros(1, np.int64)))
    for parameter, view in certificate.views.items():
        wires = zero if view.of is None else lowering.wires[view.of].ravel()
        lowering.hold(parameter, wires[view.places])


def near(norm: Norm, those: str) -> str:
    """Return the words for the inputs within the radius of an input, whose entries are called ``those``."""
    if norm == "2":
        return (
            f"whose entries' differences from {those}, squared and added up, are no more than the radius"
            " squared"
        )
    return f"none of whose entries differs from {those} by more than the radius"


def described_norm(certificate: Certificate) -> dict[str, Any]:
    """Return the part of a description that names the certificate's norm; empty for the norm ``inf``."""
    return {"norm": certificate.norm} if certificate.norm != "inf" else {}


def radius_group(certificate: Certificate, entry: QuantInput) -> dict[str, Any]:
    """The public input."""
    most = certificate.radius.bound.interval[1]
    return public_group("radius", (), 0, most, {"scale": entry.type.scale})


def checked_radius(certificate: Certificate, radius: int) -> IntArray:
    """int64[1]. Raises ``TensorError``."""
    return checked_integers(np.array([radius]), (1,), certificate.radius.bound.interval[1], "radius")


def hold_radius(lowering: Lowering, tools: Arithmetic, certificate: Certificate) -> None:
    """One public input, that of all samples."""
    radius = certificate.radius
    lowering.hold(radius, np.full(radius.shape, tools.builder.public(radius.name, 1)))


def hold_chosen(lowering: Lowering, tools: Arithmetic, certificate: Certificate) -> None:
    """Hold the tensors that are made and those that the prover chooses, and range-check the radius and the
    tensors that need it."""
    for tensor in certificate.chosen:
        lowering.hold(tensor, tools.chosen(tensor.name, math.prod(tensor.shape)))
    for tensor in certificate.made:
        lowering.hold(tensor, tools.builder.private(tensor.name, math.prod(tensor.shape)))
    radius = certificate.radius
    wire = Linear.wires(lowering.wires[radius].ravel()[:1])
    tools.ranged(f"{radius.name}/range", wire, radius.bound.bits)
    for tensor in certificate.ranged:
        low, bits = tensor.bound.interval[0], tensor.bound.bits
        tools.ranged(f"{tensor.name}/range", lowering.values(tensor), bits, low)


def certificate_cost(tools: Arithmetic, network: Relations, certificate: Certificate) -> Cost:
    """Of all that, and of the relations that no plan has the cost of."""
    relations, hidden = certificate.relations, _hidden(network)
    beside = {*hidden} - {*relations.parameters}
    kinds = Absolute | Equal | Square
    unplanned = (
        each
        for each in relations.relations
        if isinstance(each, kinds) or (isinstance(each, Total) and each.out in relations.given)
    )
    return Cost.sum(
        [
            parameters_cost(*beside),
            Cost(rows=sum(math.prod(tensor.shape) for tensor in certificate.made) + bool(hidden)),
            Cost.range_checks(certificate.radius.bound.bits, 1),
            *(_ranged(tensor) for tensor in certificate.ranged),
            *(measures.cost(tools, each) for each in unplanned),
        ]
    )


def _ranged(tensor: Tensor) -> Cost:
    return Cost.range_checks(tensor.bound.bits, math.prod(tensor.shape))


def _hidden(network: Relations) -> list[Parameter]:
    return [parameter for parameter in network.parameters if parameter.privacy != "public"]
