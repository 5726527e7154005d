"""A factor and a term for each channel, as batch norm and constants of the file are: folded away."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from circuits.graphs import formula
from circuits.graphs.graph import Graph
from circuits.graphs.node import Node, dims
from circuits.graphs.rewriting import fresh, join
from circuits.graphs.types import FloatArray, Shape
from circuits.onnx.naming import require_finite, where
from circuits.onnx.step import Data, Operator, Step, Value
from circuits.operators.convolution import Conv
from circuits.operators.dense import Dense
from circuits.operators.entry import Entry
from circuits.operators.reshape import Reshape
from circuits.operators.weighted import Parametric


@dataclass(frozen=True, eq=False)
class Scale(Parametric):
    """``y = weight x + bias`` along the first axis: weight[channels], bias[channels].

    ``fuse`` leaves none: it has no integer node.
    """

    dimensions = 1

    def shape(self, *shapes: Shape) -> Shape:
        if len(self.weight) != shapes[0][0]:
            raise self.refuse(f"scales {len(self.weight)} channels but reads {shapes[0][0]}")
        return shapes[0]

    def run(self, *inputs: FloatArray) -> FloatArray:
        along = (-1,) + (1,) * (inputs[0].ndim - 2)
        return inputs[0] * self.weight.reshape(along) + self.bias.reshape(along)

    def formula(self, *inputs: str) -> str | None:
        """Where all channels have the same factor and term."""
        factor, term = float(self.weight[0]), float(self.bias[0])
        if (self.weight != factor).any() or (self.bias != term).any():
            return None
        made = inputs[0] if factor == 1 else f"({inputs[0]}) * {formula.number(factor)}"
        return made if term == 0 else f"({made}) + {formula.number(term)}"


def merge_scales(graph: Graph) -> Graph:
    """A Scale of a Scale is one."""
    return join(graph, _merged_scales)


def scale_into_previous(graph: Graph) -> Graph:
    """Batch norm and constant factors and terms into the weights of the layer before them."""
    return join(graph, _scaled_outputs)


def scale_into_next(graph: Graph) -> Graph:
    """A Scale into the weights of the layer after it, but no shift into a padded one: its zeros stay."""
    return join(graph, _scaled_inputs)


def scale_to_conv(graph: Graph) -> Graph:
    """What is left of Scale becomes a depthwise 1x1 convolution."""
    nodes: list[Node] = []
    taken = set(graph.shapes)
    for node in graph.nodes:
        nodes += _depthwise(node, graph.shapes[node.name], taken) if isinstance(node, Scale) else [node]
    return replace(graph, nodes=tuple(nodes))


def _merged_scales(graph: Graph, before: Node, node: Node) -> Node | None:
    if not isinstance(before, Scale) or not isinstance(node, Scale):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        weight, bias = before.weight * node.weight, before.bias * node.weight + node.bias
    return Scale(node.name, before.inputs, weight, bias)


def _scaled_outputs(graph: Graph, before: Node, node: Node) -> Node | None:
    if not isinstance(before, Conv | Dense) or before.declared_weight or not isinstance(node, Scale):
        return None
    rows = (-1,) + (1,) * (before.weight.ndim - 1)
    with np.errstate(over="ignore", invalid="ignore"):
        weight, bias = before.weight * node.weight.reshape(rows), before.bias * node.weight + node.bias
    return replace(before, weight=weight, bias=bias)


def _scaled_inputs(graph: Graph, before: Node, node: Node) -> Node | None:
    if not isinstance(before, Scale) or not isinstance(node, Conv | Dense) or node.declared_weight:
        return None
    groups, rest = 1, node.weight.shape[2:]
    if isinstance(node, Conv):
        groups = node.groups
        if any(node.padding) and before.bias.any():
            return None
    # The channels that each group of outputs reads, beside each of its outputs.
    rows = (groups, len(node.weight) // groups, -1)
    factor, shift = (
        np.broadcast_to(vector.reshape(groups, 1, -1), (*rows[:2], len(vector) // groups))
        for vector in (before.weight, before.bias)
    )
    rows = (*node.weight.shape[:2], *(1 for _ in rest))
    with np.errstate(over="ignore", invalid="ignore"):
        weight = node.weight * factor.reshape(rows)
        moved = (node.weight * shift.reshape(rows)).reshape(len(node.weight), -1).sum(axis=1)
        return replace(node, inputs=before.inputs, weight=weight, bias=node.bias + moved)


def _depthwise(node: Scale, shape: Shape, taken: set[str]) -> list[Node]:
    """The Scale as a convolution, between Reshapes where the tensor is no image."""
    channels, weight = shape[0], node.weight[:, None, None, None]
    if len(shape) == 3:
        return [Conv(node.name, node.inputs, weight, node.bias, groups=channels)]
    image = Reshape(fresh(f"{node.name}.image", taken), node.inputs, (channels, math.prod(shape[1:]), 1))
    scaled = Conv(fresh(f"{node.name}.scale", taken), (image.name,), weight, node.bias, groups=channels)
    return [image, scaled, Reshape(node.name, (scaled.name,), shape)]


def _batch_normalization(step: Step) -> Value:
    if step.attributes.get("training_mode", 0) or not step.attributes.get("spatial", 1):
        raise step.refuse(
            "unsupported_attribute",
            "is in training mode or not per channel; export the model after module.eval()",
        )
    gamma, beta, mean, variance = (step.weights(position).array for position in range(1, 5))
    if not gamma.shape == beta.shape == mean.shape == variance.shape == step.shape()[:1]:
        raise step.refuse("shape", f"needs four vectors of {step.shape()[0]} numbers, one for each channel")
    with np.errstate(all="ignore"):
        factor = gamma / np.sqrt(variance + step.attributes.get("epsilon", 1e-5))
        shift = beta - mean * factor
    channels = (-1,) + (1,) * (len(step.shape()) - 1)
    return Data(scale(step, step.floats(), factor.reshape(channels), shift.reshape(channels)))


def scale(step: Step, tensor: str, factor: FloatArray | float, shift: FloatArray | float) -> str:
    """``factor · tensor + shift``, both broadcast as ONNX does and constant in each channel."""
    weight, bias = (_per_channel(step, tensor, np.asarray(array)) for array in (factor, shift))
    return step.emit(Scale, (tensor,), weight, bias)


def _per_channel(step: Step, tensor: str, array: FloatArray) -> FloatArray:
    """``array`` against [batch, channels, ...] as a vector [channels]."""
    require_finite(f"the constant of {where(step.node)}", array)
    channels, *rest = shape = step.building.shapes[tensor]
    missing = 1 + len(shape) - array.ndim
    if missing >= 0:
        aligned = array.reshape((1,) * missing + array.shape)
        if aligned.shape in {(1, count, *[1] * len(rest)) for count in (1, channels)}:
            step.spend(channels)
            return np.broadcast_to(aligned.ravel(), (channels,))
    raise step.refuse(
        "unsupported_operator",
        f"combines shape [batch, {dims(shape)}] with a constant of shape {array.shape}; only constants per "
        "channel (or per output of a dense layer) are supported",
    )


_BATCH_NORMALIZATION = {"epsilon": "f", "momentum": "f", "spatial": "i", "training_mode": "i"}

ENTRY = Entry(
    onnx={
        "BatchNormalization": Operator(_batch_normalization, _BATCH_NORMALIZATION, 5, 5),
    },
    passes=(merge_scales, scale_into_previous, scale_into_next, scale_to_conv),
)
