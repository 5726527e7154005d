"""Convolutions, matrix products and pools."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from circuits.graphs.graph import (
    AveragePool,
    Conv,
    Declared,
    Dense,
    FloatArray,
    MaxPool,
    Reshape,
    Shape,
    Transpose,
    dims,
)
from circuits.onnx.constants import Constant
from circuits.onnx.step import Data, Operator, Step, Value
from relations.planes import Padding, Pair


def _conv(step: Step) -> Value:
    weight = step.weights(1)
    bias = step.weights(2).array if step.has(2) else np.zeros(len(weight.array))
    return Data(conv(step, step.floats(), weight, bias))


def conv(step: Step, tensor: str, weight: Constant, bias: FloatArray) -> str:
    if weight.array.ndim != 4:
        raise step.refuse(
            "shape",
            f"has a weight of shape {weight.array.shape}; only 2-D convolutions are supported: use Conv2d",
        )
    kernel = (weight.array.shape[2], weight.array.shape[3])
    stated = step.attributes.get("kernel_shape", [*kernel])
    if stated != [*kernel]:
        raise step.refuse("shape", f"has kernel_shape {stated} but a weight for {[*kernel]}")
    stride, padding = _windows(step, step.building.shapes[tensor], kernel)
    groups = step.attributes.get("group", 1)
    return step.emit(
        Conv, (tensor,), weight.array, bias, stride, padding, groups, _declared_for_rows(step, weight)
    )


def _gemm(step: Step) -> Value:
    bias = np.zeros(1)
    if step.has(2):
        bias = step.times(step.weights(2).array, step.attributes.get("beta", 1.0))
    return Data(gemm(step, step.data(), step.weights(1), bias))


def gemm(step: Step, data: Data, weight: Constant, bias: FloatArray) -> str:
    if step.attributes.get("transA", 0):
        raise step.refuse(
            "unsupported_attribute", "has transA=1, which would transpose the batch; export it with transA=0"
        )
    alpha = step.attributes.get("alpha", 1.0)
    if weight.declared and alpha != 1:
        raise step.refuse(
            "quantisation", f"scales quantised weights by alpha={alpha}; export it with alpha=1"
        )
    array = step.times(weight.array, alpha)
    turned = not step.attributes.get("transB", 0)
    return dense(step, data.tensor, _turned(weight, array) if turned else _with(weight, array), bias)


def dense(step: Step, tensor: str, weight: Constant, bias: FloatArray) -> str:
    """A Dense node with weight[out, in] and a bias that broadcasts to [out]."""
    array = weight.array
    if array.ndim != 2 or 0 in array.shape:
        raise step.refuse("shape", f"needs a weight matrix, not shape {array.shape}")
    if bias.shape not in ((), (1,), (len(array),), (1, 1), (1, len(array))):
        raise step.refuse("shape", f"adds a bias of shape {bias.shape} to {len(array)} outputs")
    bias = np.broadcast_to(bias.ravel(), (len(array),))
    return step.emit(Dense, (tensor,), array, bias, _declared_for_rows(step, weight))


def _matmul(step: Step) -> Value:
    if step.is_data(0) and step.is_data(1):
        raise step.refuse(
            "unsupported_operator",
            "multiplies two computed tensors; one of them must be a constant in the file",
        )
    if step.is_data(0):
        return Data(matmul(step, step.floats(0), step.weights(1)))
    tensor, weight, shape = step.floats(1), step.weights(0), step.shape(1)
    if len(shape) != 2:
        raise step.refuse(
            "shape",
            f"multiplies shape [batch, {dims(shape)}] by weights on its left, which would sum over the "
            "batch; put the weights on the right",
        )
    return Data(_pointwise(step, tensor, weight))


def matmul(step: Step, tensor: str, weight: Constant) -> str:
    """``tensor @ weight``, the weight [in, out] transposed into a Dense or, row by row, a 1x1 Conv."""
    turned = _turned(weight, weight.array)
    if len(step.building.shapes[tensor]) != 2:
        return dense(step, tensor, turned, np.zeros(1))
    columns = step.emit(Transpose, (tensor,), (1, 0))
    return step.emit(Transpose, (_pointwise(step, columns, turned),), (1, 0))


def _pointwise(step: Step, tensor: str, weight: Constant) -> str:
    """weight[out, in] applied to every column of a tensor [in, columns]."""
    if weight.array.ndim != 2 or 0 in weight.array.shape:
        raise step.refuse("shape", f"needs a weight matrix, not shape {weight.array.shape}")
    rows, columns = step.building.shapes[tensor]
    image = step.emit(Reshape, (tensor,), (rows, columns, 1))
    kernel, bias = weight.array[:, :, None, None], np.zeros(len(weight.array))
    image = step.emit(Conv, (image,), kernel, bias, declared_weight=_declared_for_rows(step, weight))
    return step.emit(Reshape, (image,), (len(weight.array), columns))


def _turned(weight: Constant, array: FloatArray) -> Constant:
    return Constant(array.T, weight.kind, weight.declared, weight.array.ndim - 1 - weight.axis)


def _with(weight: Constant, array: FloatArray) -> Constant:
    return Constant(array, weight.kind, weight.declared, weight.axis)


def _declared_for_rows(step: Step, weight: Constant) -> Declared | None:
    if weight.declared and weight.declared.scale.ndim and weight.axis != 0:
        raise step.refuse(
            "quantisation",
            "has weights quantised per input channel; quantise them per tensor or per output channel",
        )
    return weight.declared


def _windows(step: Step, shape: Shape, kernel: Sequence[int]) -> tuple[Pair, Padding]:
    """The stride and padding that the attributes ask for."""
    if len(shape) != 3 or len(kernel) != 2:
        raise step.refuse(
            "shape",
            f"slides a kernel of {len(kernel)} dimensions over shape [batch, {dims(shape)}]; only 2-D over "
            "[batch, channels, height, width] is supported",
        )
    said = step.attributes
    stride, pads = said.get("strides", [1, 1]), said.get("pads", [0] * 4)
    if any(size != 1 for size in said.get("dilations", [])):
        raise step.refuse("unsupported_attribute", "has dilations; only dilation 1 is supported")
    if len(stride) != 2 or len(pads) != 4 or min(*stride, *kernel) < 1 or min(pads) < 0:
        raise step.refuse(
            "shape", f"has kernel {[*kernel]}, strides {stride} and pads {pads}; it takes two, two and four"
        )
    across = [
        _along(step, size, kernel[axis], stride[axis], pads[axis], pads[axis + 2])
        for axis, size in enumerate(shape[1:])
    ]
    (top, bottom), (left, right) = across
    return (stride[0], stride[1]), (top, left, bottom, right)


def _along(step: Step, size: int, kernel: int, stride: int, before: int, after: int) -> Pair:
    """The padding before and after one axis, under auto_pad and ceil_mode."""
    mode = step.attributes.get("auto_pad", b"NOTSET")
    if mode == b"VALID":
        before = after = 0
    elif mode in (b"SAME_UPPER", b"SAME_LOWER"):
        total = max(0, (-(-size // stride) - 1) * stride + kernel - size)
        before, after = total // 2, total - total // 2
        if mode == b"SAME_LOWER":
            before, after = after, before
    elif mode not in (b"NOTSET", b""):
        raise step.refuse("unsupported_attribute", f"has auto_pad {mode[:20]!r}; use explicit pads")
    if not step.attributes.get("ceil_mode", 0):
        return before, after
    # A window that sticks out at the end counts, unless it starts beyond the input and the padding before it.
    last = -(-(before + size + after - kernel) // stride)
    if last * stride >= before + size:
        last -= 1
    more = max(0, last * stride + kernel - before - size - after)
    if more and step.attributes.get("count_include_pad", 0):
        raise step.refuse(
            "unsupported_attribute",
            "averages over windows that stick out (ceil_mode=1 with count_include_pad=1); "
            "export it with ceil_mode=0",
        )
    return before, after + more


def _max_pool(step: Step) -> Value:
    if step.attributes.get("storage_order", 0):
        raise step.refuse("unsupported_attribute", "has storage_order=1; use 0")
    kernel = step.attributes.get("kernel_shape", [])
    stride, padding = _windows(step, step.shape(), kernel)
    if _sees_single_values(kernel, stride, padding):
        return step.data()
    return step.moved(step.emit(MaxPool, (step.data().tensor,), tuple(kernel), stride, padding))


def _sees_single_values(kernel: Sequence[int], stride: Pair, padding: Padding) -> bool:
    """Whether a pool changes nothing, as PyTorch's adaptive pools often do."""
    return tuple(kernel) == stride == (1, 1) and not any(padding)


def _average_pool(step: Step) -> Value:
    return Data(average_pool(step, step.floats()))


def average_pool(step: Step, tensor: str) -> str:
    kernel = step.attributes.get("kernel_shape", [])
    stride, padding = _windows(step, step.building.shapes[tensor], kernel)
    if _sees_single_values(kernel, stride, padding):
        return tensor
    counts = bool(step.attributes.get("count_include_pad", 0))
    return step.emit(AveragePool, (tensor,), tuple(kernel), stride, padding, counts)


def _global_average_pool(step: Step) -> Value:
    return Data(global_average_pool(step, step.floats()))


def global_average_pool(step: Step, tensor: str) -> str:
    shape = step.building.shapes[tensor]
    if len(shape) != 3:
        raise step.refuse(
            "shape", f"averages shape [batch, {dims(shape)}], not [batch, channels, height, width]"
        )
    return step.emit(AveragePool, (tensor,), shape[1:], shape[1:])


def _reduce_mean(step: Step) -> Value:
    """The mean over height and width, as PyTorch's exporter writes an adaptive average pool."""
    tensor, shape = step.floats(), step.shape()
    axes = step.axes(step.integers("axes", 1) or [], len(shape) + 1)
    if len(shape) != 3 or sorted(axes) != [2, 3]:
        raise step.refuse(
            "unsupported_attribute", "must average over height and width, axes [2, 3]; use GlobalAveragePool"
        )
    pooled = global_average_pool(step, tensor)
    if step.attributes.get("keepdims", 1):
        return Data(pooled)
    return Data(step.emit(Reshape, (pooled,), shape[:1]))


CONV = {
    "auto_pad": "s",
    "dilations": "ints",
    "group": "i",
    "kernel_shape": "ints",
    "pads": "ints",
    "strides": "ints",
}
_POOL = {
    "auto_pad": "s",
    "ceil_mode": "i",
    "dilations": "ints",
    "kernel_shape": "ints",
    "pads": "ints",
    "strides": "ints",
}
AVERAGE_POOL = {**_POOL, "count_include_pad": "i"}
GEMM = {"alpha": "f", "beta": "f", "transA": "i", "transB": "i"}

LAYERS = {
    "AveragePool": Operator(_average_pool, AVERAGE_POOL),
    "Conv": Operator(_conv, CONV, 2, 3),
    "Gemm": Operator(_gemm, GEMM, 2, 3),
    "GlobalAveragePool": Operator(_global_average_pool),
    "MatMul": Operator(_matmul, {}, 2, 2),
    "MaxPool": Operator(_max_pool, {**_POOL, "storage_order": "i"}),
    "ReduceMean": Operator(
        _reduce_mean, {"axes": "ints", "keepdims": "i", "noop_with_empty_axes": "i"}, 1, 2
    ),
}
