"""Min-max calibration: a float graph and sample inputs to an integer network."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from circuits.graph import Clip, Dense, FloatArray, Graph, Reshape
from circuits.quantgraph import LEAST_BITS, MOST_BITS, QuantGraph
from circuits.quantlayer import Affine, QuantLayer, Rescale, layer_name
from circuits.tensors import as_finite_tensor
from zenerrors import ModelError

# The multiplier has as few bits as it can while it makes a tensor's step at most 1/32 coarser than min-max
# calibration asks for: each bit of it costs one constraint per activation.
_COARSER = 1 + 2**-5


def quantise(graph: Graph, calibration: ArrayLike, bits: int = 8) -> QuantGraph:
    """Quantise ``graph`` to ``bits`` (2 to 8) per tensor element.

    ``calibration``: float[n, *input_shape], inputs that are typical; the range of each tensor is taken from
    them. Raises ``TensorError`` (``input.*``) for calibration data that do not fit the network, and
    ``ModelError`` (``model.*``) for a network that has no exact integer form.
    """
    if not LEAST_BITS <= bits <= MOST_BITS:
        raise ModelError("model.quantised", f"bits must be {LEAST_BITS} to {MOST_BITS}", field="bits")
    x = as_finite_tensor(calibration, (None, *graph.input_shape), field="calibration")
    input_type = _affine(x, bits, "the input")
    layers: list[QuantLayer] = []
    incoming = input_type
    for dense, relu in _dense_layers(graph):
        x = x.reshape(len(x), -1)
        x = relu.run(dense.run(x)) if relu else dense.run(x)
        layer = _layer(layer_name(len(layers)), dense, incoming, bits)
        rescale = _rescale(layer, incoming, x, bits, relu is not None)
        layers.append(replace(layer, rescale=rescale))
        incoming = rescale.output
    if relu is None:
        # Only the argmax reads these: a common scale changes nothing, so the accumulators stay as they are.
        layers[-1] = replace(layers[-1], rescale=None)
    return QuantGraph(bits, graph.input_shape, input_type, tuple(layers))


def _dense_layers(graph: Graph) -> list[tuple[Dense, Clip | None]]:
    """The dense nodes in order, each with the ReLU that follows it, if any."""
    pairs: list[tuple[Dense, Clip | None]] = []
    previous = graph.input_name
    for node in graph.nodes:
        if node.inputs != (previous,):
            raise ModelError(
                "model.unsupported_operator", f"{node.name!r} ends a branch: only chains can be proven yet"
            )
        previous = node.name
        if isinstance(node, Dense):
            pairs.append((node, None))
        elif isinstance(node, Clip) and (node.low, node.high) == (0.0, math.inf):
            if not pairs:
                raise ModelError(
                    "model.unsupported_operator",
                    f"the Relu {node.name!r} reads the input itself; clamp the inputs beforehand",
                )
            pairs[-1] = (pairs[-1][0], node)
        elif not isinstance(node, Reshape):
            raise ModelError(
                "model.unsupported_operator",
                f"the {type(node).__name__} {node.name!r} cannot be proven yet: only dense layers, Relu and "
                "reshapes can",
            )
    if previous != graph.output or graph.declared:
        raise ModelError(
            "model.unsupported_operator",
            "models that are quantised, or whose last node is not the output, cannot be proven yet",
        )
    return pairs


def _affine(values: FloatArray, bits: int, what: str) -> Affine:
    """The type that spans ``values`` and zero, which must itself be exact."""
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    if low == high:
        return Affine(1.0, 0)
    scale = (high - low) / ((1 << bits) - 1)
    if not math.isfinite(scale) or scale < np.finfo(np.float64).tiny:
        raise ModelError("model.scale", f"{what}: values from {low} to {high} have no usable scale")
    return Affine(scale, round(-low / scale))


def _layer(name: str, dense: Dense, incoming: Affine, bits: int) -> QuantLayer:
    weight_type = _affine(dense.weight, bits, f"the weights of {dense.name!r}")
    weight = weight_type.quantise(dense.weight, bits).astype(np.uint8)
    step = weight_type.scale * incoming.scale
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        bias = np.rint(dense.bias / step)
    if not np.all(np.abs(bias) < 2.0**61):
        raise ModelError(
            "model.range_too_wide",
            f"the biases of {dense.name!r} are out of proportion to its weights and inputs",
        )
    return QuantLayer(name, weight, weight_type, bias.astype(np.int64), None)


def _rescale(layer: QuantLayer, incoming: Affine, outputs: FloatArray, bits: int, relu: bool) -> Rescale:
    """The fixed-point scale to the type that spans ``outputs``.

    The output scale is the one that ``multiplier / 2^shift`` gives exactly, so the multiplier has no
    rounding error.
    """
    if not np.all(np.isfinite(outputs)):
        raise ModelError("model.scale", f"{layer.name} overflows on the calibration data")
    low, high = min(0.0, float(outputs.min())), max(0.0, float(outputs.max()))
    step = layer.weight_type.scale * incoming.scale
    # A finer step than the accumulators' own would carry no information.
    wanted = max((high - low) / ((1 << bits) - 1), step)
    if not math.isfinite(wanted) or step < np.finfo(np.float64).tiny:
        raise ModelError("model.scale", f"{layer.name}: outputs from {low} to {high} have no usable scale")
    multiplier, shift = _fixed_point(step / wanted)
    scale = math.ldexp(step / multiplier, shift)
    zero_point = 0 if relu else min(round(-low / scale), (1 << bits) - 1)
    return Rescale(multiplier, shift, Affine(scale, zero_point))


def _fixed_point(ratio: float) -> tuple[int, int]:
    """The shortest M, and k >= 1, with ``M / 2^k <= ratio <= (M / 2^k) _COARSER``, for 0 < ratio <= 1."""
    fraction, exponent = math.frexp(ratio)
    for precision in range(1, 7):
        multiplier, shift = math.floor(math.ldexp(fraction, precision)), precision - exponent
        if shift >= 1 and math.ldexp(fraction, precision) <= multiplier * _COARSER:
            return multiplier, shift
    raise AssertionError("six bits leave an error of at most 1/32")
