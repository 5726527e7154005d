"""The weights and biases of a network as wires of the prover."""

from __future__ import annotations

import numpy as np

from circuits.lowering.arithmetic import Arithmetic
from circuits.lowering.cost import Cost
from circuits.quantised import Conv, Dense
from circuits.r1cs.builder import Builder
from circuits.r1cs.linear import Linear, Weighted
from circuits.r1cs.steps import Constant
from relations.integers import IntArray

# The linked segment of a committed model: its architecture, then for each node the weights and the biases.
MODEL = "model"
# A SHA-256 as so many integers, lowest first: below 2^62, like all others.
DIGEST_LIMBS, _LIMB_BITS = 5, 52


def digest_limbs(digest: bytes) -> IntArray:
    """int64[DIGEST_LIMBS]."""
    number = int.from_bytes(digest, "big")
    shifts = range(0, DIGEST_LIMBS * _LIMB_BITS, _LIMB_BITS)
    return np.array([number >> shift & (1 << _LIMB_BITS) - 1 for shift in shifts], dtype=np.int64)


def committed_constants(builder: Builder, segment: str, name: str, limbs: IntArray) -> None:
    """Begin a linked segment with the ``digest_limbs`` of what its values are of."""
    wires = builder.committed(builder.segment(segment, linked=True), name, DIGEST_LIMBS)
    builder.zero(f"{segment}/{name}", Linear.wires(wires).shift(-limbs))
    builder.fill(Constant(f"{segment}/{name}", wires, limbs))


def chosen_parameters(tools: Arithmetic, node: Conv | Dense) -> tuple[IntArray, IntArray]:
    """Wires [outputs, taps] for ``q_w - z_w`` and [outputs] for biases, proven to be of their types."""
    outputs = len(node.weight)
    weight = tools.chosen(f"{node.name}/weight", outputs, node.weight[0].size)
    bias = tools.chosen(f"{node.name}/bias", outputs)
    _fill(tools.builder, node, weight, bias)
    _check(tools, node, weight, bias)
    return weight, bias


def committed_parameters(
    builder: Builder, node: Conv | Dense, tools: Arithmetic | None = None
) -> tuple[IntArray, IntArray]:
    """The same as part of a committed model. Their types are proven with ``tools``, in the one proof of its
    registration: all others link to the same commitment, entry by entry."""
    outputs = len(node.weight)
    weight = builder.committed(MODEL, f"{node.name}/weight", outputs, node.weight[0].size)
    bias = builder.committed(MODEL, f"{node.name}/bias", outputs)
    _fill(builder, node, weight, bias)
    if tools is not None:
        _check(tools, node, weight, bias)
    return weight, bias


def parameters_cost(node: Conv | Dense) -> Cost:
    """Of the proof that they are of their types."""
    weights = Cost.range_checks(node.weight_type.bits, node.weight.size)
    return weights + Cost.range_checks(node.bias_bits + 1, len(node.bias))


def _fill(builder: Builder, node: Conv | Dense, weight: IntArray, bias: IntArray) -> None:
    builder.fill(Constant(f"{node.name}/weight", weight, node.centred_weight.reshape(weight.shape)))
    builder.fill(Constant(f"{node.name}/bias", bias, node.bias))


def _check(tools: Arithmetic, node: Conv | Dense, weight: IntArray, bias: IntArray) -> None:
    outputs, taps = weight.shape
    zero = np.repeat(np.broadcast_to(node.weight_type.zero_point, outputs), taps)
    lifted = Weighted.wires(weight.ravel()).shift(zero)
    tools.ranged(f"{node.name}/weight", lifted, node.weight_type.bits)
    tools.ranged(f"{node.name}/bias", Weighted.wires(bias), node.bias_bits + 1, -(1 << node.bias_bits))
