"""ZENinfer at level 2 of DESIGN 5.3: a quantised network to the constraints of one classification.

The statement: for these public inputs, the network's label is the public label. A layer with public weights
costs no product constraints: its accumulators are linear combinations, substituted where they are read. With
private weights every product of a weight and an input is one constraint.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from circuits.builder import Builder
from circuits.circuit import Circuit
from circuits.gadgets import argmax, range_check, requantise
from circuits.integers import IntArray, Interval
from circuits.linear import Linear
from circuits.quantgraph import QuantGraph
from circuits.quantlayer import QuantLayer
from zenerrors import StatementError

Privacy = Literal["public", "private"]


def compile_inference(
    qgraph: QuantGraph, *, input_privacy: Privacy = "private", weight_privacy: Privacy = "public"
) -> Circuit:
    """The circuit of ``qgraph``. Deterministic; with private weights it depends on their types only.

    Raises ``StatementError``: ``statement.could_wrap`` where the integers leave their bounds, and
    ``statement.privacy`` for a privacy it does not know.
    """
    for name, privacy in (("input_privacy", input_privacy), ("weight_privacy", weight_privacy)):
        if privacy not in get_args(Privacy):
            raise StatementError("statement.privacy", f"{name} must be public or private", field=name)
    builder = Builder()
    size = math.prod(qgraph.input_shape)
    # The input's range is proven in the circuit even where it is public: the verifying key alone then says
    # what a proof means, and no verifier can forget the check.
    x = builder.public("input", size) if input_privacy == "public" else None
    label = builder.public("label", 1)
    x = builder.private("input", size) if x is None else x
    range_check(builder, "input/value", x, qgraph.bits)
    for index, layer in enumerate(qgraph.layers):
        input_zero = qgraph.input_zero(index)
        lower = _public_layer if weight_privacy == "public" else _private_layer
        acc, bounds = lower(builder, layer, x, input_zero, qgraph.bits)
        if layer.rescale is not None:
            x = requantise(builder, layer.name, acc, bounds, layer.rescale, qgraph.bits)
            acc, bounds = Linear.wires(x), (0, qgraph.top)
    argmax(builder, "output/argmax", acc, bounds, label)
    return Circuit(qgraph, input_privacy, weight_privacy, builder.program())


def _public_layer(
    builder: Builder, layer: QuantLayer, x: IntArray, input_zero: int, bits: int
) -> tuple[Linear, Interval]:
    """``sum_j w_j (x_j - z_x) + b`` as a linear combination of the input wires. No rows."""
    constant = layer.bias - input_zero * layer.centred_weight.sum(axis=1)
    acc = Linear.weighted(x, layer.centred_weight) + Linear.constant(constant)
    return acc, layer.weight_bounds(input_zero, bits)


def _private_layer(
    builder: Builder, layer: QuantLayer, x: IntArray, input_zero: int, bits: int
) -> tuple[Linear, Interval]:
    """The same sum over product wires. Weight wires hold ``q_w - z_w``, bias wires the bias.

    Rows: per weight ``bits + 1``, per bias ``bias_bits + 1``.
    """
    outputs, inputs = layer.weight.shape
    weight = builder.private(f"{layer.name}/weight", outputs, inputs)
    bias = builder.private(f"{layer.name}/bias", outputs)
    product = builder.private(f"{layer.name}/product", outputs, inputs)
    columns = np.tile(x, outputs)

    def fill_parameters(z: IntArray) -> None:
        z[weight], z[bias] = layer.centred_weight, layer.bias

    def fill_products(z: IntArray) -> None:
        z[product] = z[weight] * z[x]

    builder.fill(fill_parameters)
    builder.fill(fill_products)
    range_check(builder, f"{layer.name}/weight", weight.ravel(), bits, -layer.weight_type.zero_point)
    range_check(builder, f"{layer.name}/bias", bias, layer.bias_bits + 1, -(1 << layer.bias_bits))
    builder.product(f"{layer.name}/product", weight.ravel(), columns, product.ravel())
    acc = Linear.ones(product) - Linear.ones(weight).scale(input_zero) + Linear.wires(bias)
    return acc, layer.type_bounds(input_zero, bits)
