"""Operators that move values, on computed tensors and on constants; and the shapes that files compute."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from circuits.graphs.graph import Concat, Pad, Reshape, Shape, Transpose, dims
from circuits.onnx.constants import FLOATS, Constant, decode_tensor
from circuits.onnx.message import where
from circuits.onnx.step import BATCH, Data, Operator, Step, Value


def _constant(step: Step) -> Value:
    if len(step.attributes) != 1:
        raise step.refuse("unsupported_attribute", "must hold exactly one value")
    ((name, value),) = step.attributes.items()
    if name == "value":
        return decode_tensor(value, f"in {where(step.node)}", step.allowance, None)
    kind = TensorProto.FLOAT if "float" in name else TensorProto.INT64
    return step.folded(np.array(value), kind)


def _constant_of_shape(step: Step) -> Value:
    shape = step.numbers("shape", 0)
    value = Constant(np.zeros(1), TensorProto.FLOAT)
    if "value" in step.attributes:
        value = decode_tensor(step.attributes["value"], f"in {where(step.node)}", step.allowance, None)
    if value.array.size != 1 or min(shape, default=1) < 0:
        raise step.refuse("shape", f"fills the shape {shape} with {value.array.size} values")
    step.allowance.spend(math.prod(shape), where(step.node))
    return Constant(np.full(shape, value.array.item()), value.kind)


def _shape(step: Step) -> Value:
    value = step.value(0)
    shape = value.array.shape if isinstance(value, Constant) else (BATCH, *step.shape())
    start, end = step.attributes.get("start", 0), step.attributes.get("end", len(shape))
    return step.folded(np.array(shape[start:end], dtype=np.int64), TensorProto.INT64)


def _identity(step: Step) -> Value:
    return step.passed()


def _dropout(step: Step) -> Value:
    if step.number(2, 0):
        raise step.refuse(
            "unsupported_attribute", "is in training mode; export the model after module.eval()"
        )
    return step.passed()


def _cast(step: Step) -> Value:
    kind, value = step.attributes.get("to", 0), step.passed()
    if isinstance(value, Constant):
        if kind not in (*FLOATS, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL):
            raise step.refuse(
                "tensor_type", "casts a constant to a type that is neither float, int32 nor int64"
            )
        array = step.plain(0).array
        if kind not in FLOATS and not (np.abs(array) <= 2.0**62).all():
            raise step.refuse("tensor_type", "casts a constant to integers that it exceeds")
        return step.folded(array, kind)
    if value.integer or (kind not in FLOATS and value.after != "ArgMax"):
        raise step.refuse(
            "unsupported_operator", "casts a computed tensor to or from integers; remove the Cast"
        )
    return value


def _reshape(step: Step) -> Value:
    target = step.numbers("shape", 1)
    if step.attributes.get("allowzero", 0) and 0 in target:
        raise step.refuse("shape", f"reshapes to {target}, which holds nothing")
    value = step.value(0)
    if isinstance(value, Constant):
        return step.folded(step.plain(0).array.reshape(_sizes(step, target, value.array.shape)), value.kind)
    if target[:1] not in ([0], [1], [-1], [BATCH]) or target.count(-1) > 1:
        raise step.refuse(
            "shape",
            f"reshapes to {_readable(target)}; the first dimension must stay the batch (0, 1 or -1), and at "
            "most one dimension may be -1",
        )
    return _reshaped(step, _sizes(step, target[1:], step.shape()))


def _sizes(step: Step, target: list[int], shape: Shape) -> Shape:
    """``target`` with 0 replaced by the size that stood there, and -1 by what is left."""
    if len(target) > _MOST_DIMENSIONS:
        raise step.refuse("shape", f"reshapes to {len(target)} dimensions")
    if any(size == 0 and axis >= len(shape) for axis, size in enumerate(target)):
        raise step.refuse("shape", "copies a dimension that the input does not have")
    sizes = [shape[axis] if size == 0 else size for axis, size in enumerate(target)]
    if sizes.count(-1) == 1:
        known = -math.prod(sizes)
        sizes[sizes.index(-1)] = math.prod(shape) // known if known > 0 else 0
    if min(sizes, default=1) < 1 or math.prod(sizes) != math.prod(shape):
        raise step.refuse("shape", f"reshapes [{dims(shape)}] to {_readable(sizes)}, the batch apart")
    return tuple(sizes)


def _readable(target: Sequence[int]) -> str:
    return f"[{', '.join('batch' if size == BATCH else str(size) for size in target)}]"


def _reshaped(step: Step, shape: Shape) -> Data:
    data = step.data()
    if shape == step.shape():
        return data
    return step.moved(step.emit(Reshape, (data.tensor,), shape))


def _flatten(step: Step) -> Value:
    shape = step.shape()
    if step.attributes.get("axis", 1) not in (1, -len(shape)):
        raise step.refuse("unsupported_attribute", "flattens the batch into the data; export it with axis=1")
    return _reshaped(step, (math.prod(shape),))


def _transpose(step: Step) -> Value:
    value = step.value(0)
    rank = value.array.ndim if isinstance(value, Constant) else 1 + len(step.shape())
    axes = step.axes(step.integers("perm") or range(rank)[::-1], rank)
    if len(axes) != rank:
        raise step.refuse("shape", f"permutes {len(axes)} axes of a tensor with {rank}")
    if isinstance(value, Constant):
        step.allowance.spend(value.array.size, where(step.node))
        return Constant(
            value.array.transpose(axes), value.kind, value.declared, axes.index(value.axis) if axes else 0
        )
    if axes[0] != 0:
        raise step.refuse(
            "unsupported_attribute", f"moves the batch, perm={axes}; it must stay the first axis"
        )
    if axes == sorted(axes):
        return value
    return step.moved(step.emit(Transpose, (value.tensor,), tuple(axis - 1 for axis in axes[1:])))


def _squeeze(step: Step) -> Value:
    value = step.value(0)
    old = list(value.array.shape) if isinstance(value, Constant) else [BATCH, *step.shape()]
    given = step.integers("axes", 1)
    if given is None and isinstance(value, Data):
        raise step.refuse("unsupported_attribute", "names no axes, which might drop the batch; name them")
    axes = step.axes(
        [axis for axis, size in enumerate(old) if size == 1] if given is None else given, len(old)
    )
    if any(old[axis] != 1 for axis in axes):
        raise step.refuse("shape", f"drops axes {axes} of shape {_readable(old)}; only axes of size 1 can go")
    return _with_axes(step, [size for axis, size in enumerate(old) if axis not in axes])


def _unsqueeze(step: Step) -> Value:
    value = step.value(0)
    old = list(value.array.shape) if isinstance(value, Constant) else [BATCH, *step.shape()]
    given = step.numbers("axes", 1)
    axes, sizes = step.axes(given, len(old) + len(given)), iter(old)
    if len(old) + len(given) > _MOST_DIMENSIONS:
        raise step.refuse("shape", f"reshapes to {len(old) + len(given)} dimensions")
    return _with_axes(step, [1 if axis in axes else next(sizes) for axis in range(len(old) + len(given))])


def _with_axes(step: Step, shape: list[int]) -> Value:
    """The values under a shape that gained or lost axes of size 1."""
    value = step.value(0)
    if isinstance(value, Constant):
        return step.folded(step.plain(0).array.reshape(shape), value.kind)
    if shape[0] != BATCH:
        raise step.refuse("unsupported_attribute", "puts an axis before the batch, which must stay the first")
    return _reshaped(step, tuple(shape[1:]))


def _concat(step: Step) -> Value:
    positions, axis = range(len(step.inputs)), step.attributes.get("axis", 0)
    if not any(step.is_data(position) for position in positions):
        constants = [step.plain(position) for position in positions]
        if len({constant.array.dtype for constant in constants}) > 1:
            raise step.refuse("tensor_type", "joins constants of different types")
        try:
            joined = np.concatenate([constant.array for constant in constants], axis=axis)
        except ValueError:
            raise step.refuse("shape", "joins constants whose shapes do not fit") from None
        return step.folded(joined, constants[0].kind)
    parts = [step.data(position) for position in positions]
    first = parts[0].integer
    if any(
        bool(first) != bool(part.integer) or (first and part.integer and not first.matches(part.integer))
        for part in parts
    ):
        raise step.refuse(
            "quantisation", "joins integers of different types; use QLinearConcat or requantise"
        )
    (across,) = step.axes([axis], 1 + len(step.shape()))
    if across == 0:
        raise step.refuse("unsupported_attribute", "joins along the batch; join along axis 1, the channels")
    if len(parts) == 1:
        return parts[0]
    return step.moved(step.emit(Concat, tuple(part.tensor for part in parts), across - 1))


def _pad(step: Step) -> Value:
    shape, pads = step.shape(), step.numbers("pads", 1)
    if step.attributes.get("mode", b"constant") != b"constant" or step.attributes.get(
        "value", step.number(2, 0.0)
    ):
        raise step.refuse("unsupported_attribute", "must pad with the constant 0")
    rank = 1 + len(shape)
    axes = step.axes(step.integers("axes", 3) or range(rank), rank)
    if len(pads) != 2 * len(axes) or min(pads) < 0:
        raise step.refuse("shape", f"pads {len(axes)} axes by {pads}; it takes two numbers >= 0 for each")
    around = {axis: (pads[i], pads[i + len(axes)]) for i, axis in enumerate(axes)}
    if any(around.pop(0, (0, 0))):
        raise step.refuse("unsupported_attribute", "pads the batch")
    tensor = step.floats()
    if not any(map(any, around.values())):
        return Data(tensor)
    return Data(step.emit(Pad, (tensor,), tuple(around.get(axis, (0, 0)) for axis in range(1, rank))))


def _gather(step: Step) -> Value:
    constant, indices = step.plain(0), step.plain(1)
    (axis,) = step.axes([step.attributes.get("axis", 0)], constant.array.ndim)
    size, wanted = constant.array.shape[axis], indices.array
    if wanted.dtype != np.int64 or not ((wanted >= -size) & (wanted < size)).all():
        raise step.refuse("shape", f"takes entries outside an axis of {size}")
    step.allowance.spend(wanted.size * constant.array.size // size, where(step.node))
    return Constant(constant.array.take(wanted, axis), constant.kind)


def _slice(step: Step) -> Value:
    constant = step.plain(0)
    starts, ends = step.numbers("starts", 1), step.numbers("ends", 2)
    axes = step.axes(step.integers("axes", 3) or range(len(starts)), constant.array.ndim)
    strides = step.integers("steps", 4) or [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(strides) or 0 in strides:
        raise step.refuse("shape", "needs one start, end and step for each axis, no step 0")
    where_ = [slice(None)] * constant.array.ndim
    for axis, start, end, stride in zip(axes, starts, ends, strides, strict=True):
        # An end before the first entry, in ONNX any number below -size, is None to Python.
        where_[axis] = slice(start, None if end < -constant.array.shape[axis] and stride < 0 else end, stride)
    return step.folded(constant.array[tuple(where_)], constant.kind)


def _softmax(step: Step) -> Value:
    """Softmax and LogSoftmax keep the order of the classes: the label is the same without them."""
    return _over_classes(step, step.attributes.get("axis", -1))


def _argmax(step: Step) -> Value:
    """The proof states the argmax itself, the first of equals."""
    if step.attributes.get("select_last_index", 0):
        raise step.refuse(
            "unsupported_attribute", "has select_last_index=1; the proof takes the first of equal classes"
        )
    return _over_classes(step, step.attributes.get("axis", 0))


def _over_classes(step: Step, axis: int) -> Data:
    data = step.passed()
    if isinstance(data, Constant) or data.after == "ArgMax":
        raise step.refuse("unsupported_operator", "may only stand at the end of the network, on its classes")
    if len(step.building.shapes[data.tensor]) != 1 or axis not in (1, -1):
        raise step.refuse(
            "unsupported_attribute", "must run over the classes of a [batch, classes] tensor: axis -1"
        )
    return Data(data.tensor, data.integer, "ArgMax" if step.node.op_type == "ArgMax" else "Softmax")


_MOST_DIMENSIONS = 8
_CONSTANT = {
    "value": "t",
    "value_float": "f",
    "value_floats": "floats",
    "value_int": "i",
    "value_ints": "ints",
}
_PAD = {"mode": "s", "pads": "ints", "value": "f"}

SHAPES = {
    "ArgMax": Operator(_argmax, {"axis": "i", "keepdims": "i", "select_last_index": "i"}),
    "Cast": Operator(_cast, {"round_mode": "s", "saturate": "i", "to": "i"}),
    "Concat": Operator(_concat, {"axis": "i"}, 1, 1 << 10),
    "Constant": Operator(_constant, _CONSTANT, 0, 0),
    "ConstantOfShape": Operator(_constant_of_shape, {"value": "t"}),
    "Dropout": Operator(_dropout, {"ratio": "f", "seed": "i"}, 1, 3),
    "Flatten": Operator(_flatten, {"axis": "i"}),
    "Gather": Operator(_gather, {"axis": "i"}, 2, 2),
    "Identity": Operator(_identity),
    "LogSoftmax": Operator(_softmax, {"axis": "i"}),
    "Pad": Operator(_pad, _PAD, 1, 4),
    "Reshape": Operator(_reshape, {"allowzero": "i"}, 2, 2),
    "Shape": Operator(_shape, {"end": "i", "start": "i"}),
    "Slice": Operator(_slice, {"axes": "ints", "ends": "ints", "starts": "ints"}, 1, 5),
    "Softmax": Operator(_softmax, {"axis": "i"}),
    "Squeeze": Operator(_squeeze, {"axes": "ints"}, 1, 2),
    "Transpose": Operator(_transpose, {"perm": "ints"}),
    "Unsqueeze": Operator(_unsqueeze, {"axes": "ints"}, 1, 2),
}
