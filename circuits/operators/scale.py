"""A factor and a term for each channel, as batch norm and constants of the file are: folded away."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from zenserve.circuits.graphs import formula
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Node, dims
from zenserve.circuits.graphs.rewriting import fresh, join, movers_before
from zenserve.circuits.graphs.types import FloatArray, Shape
from zenserve.circuits.onnx.naming import require_finite, where
from zenserve.circuits.onnx.step import Data, Operator, Step, Value, typed_shape
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.moving import broadcast
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.operators.transpose import Transpose
from zenserve.circuits.operators.weighted import Parametric


@dataclass(frozen=True, eq=False)
class Scale(Parametric):
    """``y = weight x + bias`` along the first axis: weight[channels], bias[channels].

    ``fuse`` leaves none: it has no integer node.
    """

    dimensions = (1,)

    def shape(self, *shapes: Shape) -> Shape:
        if len(self.weight) != shapes[0][0]:
            raise self.refuse(f"scales {len(self.weight)} channels but reads {shapes[0][0]}")
        return shapes[0]

    def run(self, *inputs: FloatArray) -> FloatArray:
        along = (-1,) + (1,) * (inputs[0].ndim - 2)
        return inputs[0] * self.weight.reshape(along) + self.bias.reshape(along)

    def formula(self, *inputs: str) -> str | None:
        """Return the formula if all channels have the same factor and term, else None."""
        factor, term = float(self.weight[0]), float(self.bias[0])
        if (self.weight != factor).any() or (self.bias != term).any():
            return None
        made = inputs[0] if factor == 1 else f"({inputs[0]}) * {formula.number(factor)}"
        return made if term == 0 else f"({made}) + {formula.number(term)}"


def scale_before_movers(graph: Graph) -> Graph:
    """In front of what only moves values, where a layer or another Scale is there to take it, and all that
    come of one of its channels have one factor and one term."""
    taken, readers, shapes = set(graph.shapes), graph.readers, dict(graph.shapes)
    made: dict[str, Node] = {}
    for node in graph.nodes:
        made[node.name] = node
        if not isinstance(node, Scale):
            continue
        chain = movers_before(graph, made, readers, node.inputs[0])
        source = chain[0].inputs[0] if chain else ""
        before = made.get(source)
        if before is None or readers[source] > 1 or source in graph.declared:
            continue
        scaled = _of_channels(fresh(f"{node.name}.channels", taken), node, chain, shapes[source])
        if scaled is None or not (isinstance(before, Scale) or _scaled_outputs(graph, before, scaled)):
            continue
        for each in (*chain, node):
            del made[each.name]
        made[scaled.name], shapes[scaled.name], readers[scaled.name] = scaled, shapes[source], 1
        chain[0] = replace(chain[0], inputs=(scaled.name,))
        made |= {each.name: each for each in (*chain[:-1], replace(chain[-1], name=node.name))}
    return replace(graph, nodes=tuple(made.values()))


def _of_channels(name: str, node: Scale, chain: Sequence[Node], shape: Shape) -> Scale | None:
    """Return the Scale that does before the chain what ``node`` does behind it to a tensor of this shape,
    which the chain moves; None unless ``node`` treats all values of a channel alike."""
    channels = _wide(np.arange(float(shape[0])), shape)
    for each in chain:
        channels = each.run(channels)
    places, vectors = channels[0].astype(np.int64), []
    for vector, default in ((node.weight, 1.0), (node.bias, 0.0)):
        wanted, found = _wide(vector, places.shape)[0], np.full(shape[0], default)
        found[places] = wanted
        if (found[places] != wanted).any():
            return None
        vectors.append(found)
    return Scale(name, chain[0].inputs, *vectors)


def _wide(vector: FloatArray, shape: Shape) -> FloatArray:
    """A number of each channel for all of its values, [1, *shape]."""
    return np.broadcast_to(vector.reshape(-1, *(1 for _ in shape[1:])), shape)[np.newaxis]


def scale_into_all_next(graph: Graph) -> Graph:
    """A Scale into the weights of all layers after it, if they alone read it, through what only moves values
    or not."""
    readers: dict[str, list[Node]] = {name: [] for name in graph.shapes}
    for node in graph.nodes:
        for name in node.inputs:
            readers[name].append(node)
    seen = {*graph.outputs.values(), *graph.declared}
    layers, gone = dict[str, Node](), dict[str, str]()
    for node in graph.nodes:
        made = _scaled_layers(graph, readers, seen, node) if isinstance(node, Scale) else None
        if made:
            layers |= made
            gone[node.name] = node.inputs[0]
    nodes = [layers.get(node.name, node) for node in graph.nodes if node.name not in gone]
    read = [tuple(gone.get(name, name) for name in node.inputs) for node in nodes]
    renamed = [replace(node, inputs=inputs) for node, inputs in zip(nodes, read, strict=True)]
    return replace(graph, nodes=tuple(renamed)) if gone else graph


def _scaled_layers(
    graph: Graph, readers: Mapping[str, Sequence[Node]], seen: Collection[str], node: Scale
) -> dict[str, Node] | None:
    """All that read what ``node`` makes, moved or not, made for what it reads; None where others do, too."""
    shape, layers = graph.shapes[node.name], dict[str, Node]()
    reached = [(node.name, _wide(node.weight, shape), _wide(node.bias, shape))]
    for name, factors, terms in reached:
        if name in seen:
            return None
        for each in readers[name]:
            if each.permutes:
                reached.append((each.name, each.run(factors), each.run(terms)))
                continue
            rows = [wide.reshape(wide.shape[1], -1) for wide in (factors, terms)]
            if any((row != row[:, :1]).any() for row in rows):
                return None
            scaled = replace(node, weight=rows[0][:, 0], bias=rows[1][:, 0])
            layer = _scaled_inputs(graph, scaled, each)
            if layer is None:
                return None
            layers[each.name] = replace(layer, inputs=each.inputs)
    return layers


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
    """Replace each remaining Scale by a depthwise 1x1 convolution."""
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
    if not isinstance(node, Scale):
        return None
    if not isinstance(before, Conv | Dense) or before.declared_weight:
        factor = float(node.weight[0])
        uniform = factor > 0 and (node.weight == factor).all() and not node.bias.any()
        return before.times(factor) if uniform else None
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
    whole = step.whole()
    channels = whole[1:2] or (1,)
    if not gamma.shape == beta.shape == mean.shape == variance.shape == channels:
        raise step.refuse("shape", f"needs four vectors of {channels[0]} numbers, one for each channel")
    with np.errstate(all="ignore"):
        factor = gamma / np.sqrt(variance + step.attributes.get("epsilon", 1e-5))
        shift = beta - mean * factor
    along = (-1,) + (1,) * (len(whole) - 2)
    return affine(step, 0, factor.reshape(along), shift.reshape(along))


def affine(step: Step, position: int, factor: FloatArray | float, shift: FloatArray | float) -> Data:
    """``factor · x + shift`` for the computed input x, broadcast as ONNX does."""
    return affine_of(step, Data(step.floats(position), shape=step.whole(position)), factor, shift)


def affine_of(step: Step, data: Data, factor: FloatArray | float, shift: FloatArray | float) -> Data:
    """The same for another tensor."""
    constants, whole = [np.asarray(each) for each in (factor, shift)], data.shape or ()
    try:
        shape = np.broadcast_shapes(whole, *(each.shape for each in constants))
    except ValueError:
        raise step.refuse(
            "shape", f"combines shape [{dims(whole)}] with a constant of another shape"
        ) from None
    data, typed = broadcast(step, data, shape), typed_shape(shape)
    fitted = [each.reshape(((1,) * len(typed) + each.shape)[-len(typed) :]) for each in constants]
    varying = [axis for axis in range(len(typed)) if any(each.shape[axis] > 1 for each in fitted)] or [0]
    sizes = [size if axis in varying else 1 for axis, size in enumerate(typed)]
    vectors = [np.broadcast_to(each, sizes).ravel() for each in fitted]
    return Data(_along(step, data.tensor, varying, *vectors), shape=shape)


def _along(step: Step, tensor: str, axes: Sequence[int], factor: FloatArray, shift: FloatArray) -> str:
    """A factor and a term for each place along these axes, which become the first one for it: as many
    parameters as the file has."""
    shape = step.building.shapes[tensor]
    order = (*axes, *(axis for axis in range(len(shape)) if axis not in axes))
    turned, sizes = order != tuple(range(len(shape))), tuple(shape[axis] for axis in order)
    if turned:
        tensor = step.emit(Transpose, (tensor,), order)
    if len(axes) > 1:
        rest = math.prod(sizes[len(axes) :])
        tensor = step.emit(Reshape, (tensor,), (len(factor), rest) if rest > 1 else (len(factor),))
    tensor = _scaled(step, tensor, factor, shift)
    if len(axes) > 1:
        tensor = step.emit(Reshape, (tensor,), sizes)
    if turned:
        tensor = step.emit(Transpose, (tensor,), tuple(order.index(axis) for axis in range(len(shape))))
    return tensor


def scale(step: Step, tensor: str, factor: FloatArray | float, shift: FloatArray | float) -> str:
    """``factor · tensor + shift`` for constants of a channel or of all, [batch, channels, ..] in shape."""
    channels = step.building.shapes[tensor][0]
    vectors = [np.asarray(array).ravel() for array in (factor, shift)]
    if any(len(vector) not in (1, channels) for vector in vectors):
        raise step.refuse("unsupported_operator", "combines a tensor with a constant that is not per channel")
    return _scaled(step, tensor, *(np.broadcast_to(vector, (channels,)) for vector in vectors))


def _scaled(step: Step, tensor: str, factor: FloatArray, shift: FloatArray) -> str:
    for constant in (factor, shift):
        step.spend(constant.size)
        require_finite(f"the constant of {where(step.node)}", constant)
    return step.emit(Scale, (tensor,), factor, shift)


_BATCH_NORMALIZATION = {"epsilon": "f", "momentum": "f", "spatial": "i", "training_mode": "i"}

ENTRY = Entry(
    onnx={
        "BatchNormalization": Operator(_batch_normalization, _BATCH_NORMALIZATION, 5, 5),
    },
    passes=(
        scale_before_movers,
        merge_scales,
        scale_into_previous,
        scale_into_next,
        scale_into_all_next,
        scale_to_conv,
    ),
)
