"""The weights and biases of a network as wires of the prover."""

from __future__ import annotations

import numpy as np

from zenserve.circuits.lowering.arithmetic import Arithmetic
from zenserve.circuits.lowering.cost import Cost
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import Linear, Weighted
from zenserve.circuits.r1cs.steps import Constant
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Parameter

# The linked segment of a committed model: its architecture, then for each node the weights and the biases.
MODEL = "model"
# A SHA-256 as so many integers, lowest first: below 2^62, like all others.
DIGEST_LIMBS, _LIMB_BITS = 5, 52
# Between -1 and 1, which have nothing between them.
_SIGNS = 2


def digest_limbs(digest: bytes) -> IntArray:
    """int64[DIGEST_LIMBS]."""
    number = int.from_bytes(digest, "big")
    shifts = range(0, DIGEST_LIMBS * _LIMB_BITS, _LIMB_BITS)
    return np.array([number >> shift & (1 << _LIMB_BITS) - 1 for shift in shifts], dtype=np.int64)


def committed_constants(builder: Builder, segment: str, name: str, limbs: IntArray) -> None:
    """Begin a linked segment with the ``digest_limbs`` of what its values are of."""
    begun = builder.segment(segment, linked=True, lasting=segment == MODEL)
    wires = builder.committed(begun, name, DIGEST_LIMBS)
    builder.zero(f"{segment}/{name}", Linear.wires(wires).shift(-limbs))
    builder.fill(Constant(name, wires, limbs))


def hold(tools: Arithmetic, *parameters: Parameter) -> list[IntArray]:
    """Wires for parameters that are not public, int64 of their shapes: those of a committed model, or chosen
    in this proof. They are proven to be of their types where their bounds ask for it here."""
    held = [_take(tools, parameter) for parameter in parameters]
    for parameter, wires in zip(parameters, held, strict=True):
        if parameter.bound.proof == "range":
            _check(tools, parameter, wires)
    return held


def parameters_cost(*parameters: Parameter) -> Cost:
    """Of those that are proven to be of their types."""
    return Cost.sum(
        Cost(rows=each.values.size)
        if each.bound.step == _SIGNS
        else Cost.range_checks(each.bound.bits, each.values.size)
        for each in parameters
        if each.bound.proof == "range"
    )


def _take(tools: Arithmetic, parameter: Parameter) -> IntArray:
    if parameter.privacy == "committed":
        wires = tools.builder.committed(MODEL, parameter.name, *parameter.shape)
    else:
        wires = tools.chosen(parameter.name, *parameter.shape)

    tools.builder.fill(Constant(parameter.name, wires, parameter.values))
    return wires


def _check(tools: Arithmetic, parameter: Parameter, wires: IntArray) -> None:
    """Range checks; a row for each of those that are -1 or 1: its square is 1."""
    low, bits, values = parameter.bound.low, parameter.bound.bits, Weighted.wires(wires.ravel())
    if parameter.bound.step == _SIGNS:
        tools.builder.multiply(parameter.name, values, values, Linear.constant(np.ones_like(wires.ravel())))
    elif low.ndim == 0:
        tools.ranged(parameter.name, values, bits, int(low))
    else:
        tools.ranged(parameter.name, values.shift(-np.broadcast_to(low, wires.shape).ravel()), bits)
