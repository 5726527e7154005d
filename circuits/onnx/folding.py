"""Nodes whose inputs are all constants: ONNX's reference evaluator computes them when the file is read.

The file is untrusted. ``FOLDED`` lists the operators that the evaluator may compute: all are deterministic,
and each has a bound on the elements that its computation touches, found from the shapes of its inputs and
from its attributes before anything is allocated. Operators that only move entries are not listed: their own
readers move those of constants, too. LRN is not: the evaluator of onnx 1.23 normalises the first channels
alone. Arithmetic is that of the file's element types: float32 where the file has float32.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnx import AttributeProto, TensorProto, helper

from zenserve.circuits.onnx.constants import FLOATS, INTEGERS, Allowance, Constant, Element
from zenserve.circuits.onnx.naming import where
from zenserve.errors import ModelError

if TYPE_CHECKING:
    from onnx import NodeProto

# The evaluator's functions in Python, and its loops, take as long for an entry as NumPy takes for so many.
_FUNCTION: Final = 1 << 5
_LOOP: Final = 1 << 10
# So many multiplications of a matrix product take as long as an entry.
_MULTIPLIED: Final = 1 << 6
_LONGEST_REASON: Final = 160
_MOST_WHOLE: Final = 2.0**62
_KINDS: Final = (
    *(*FLOATS, *INTEGERS, Element.BOOL, Element.INT32, Element.INT64),
    *(TensorProto.UINT32, TensorProto.UINT64),
)
# The attributes that the evaluator may see: no tensors, which may name files, and no graphs.
_ATTRIBUTES: Final = (
    AttributeProto.INT,
    AttributeProto.FLOAT,
    AttributeProto.STRING,
    AttributeProto.INTS,
    AttributeProto.FLOATS,
    AttributeProto.STRINGS,
)


@dataclass(frozen=True)
class _Call:
    """A node and the constants that it reads; None for an input that is left out."""

    node: NodeProto
    inputs: Sequence[Constant | None]

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        return {each.name: helper.get_attribute_value(each) for each in self.node.attribute}

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """Of the inputs that are there."""
        return [each.array.shape for each in self.inputs if each is not None]

    @property
    def size(self) -> int:
        return sum(map(math.prod, self.shapes))

    def shape(self, position: int) -> tuple[int, ...]:
        """Empty of an input that is left out."""
        value = self.inputs[position] if position < len(self.inputs) else None
        return value.array.shape if value is not None else ()

    def number(self, position: int) -> float:
        """An input of one number."""
        value = self.inputs[position] if position < len(self.inputs) else None
        if value is None or value.array.size != 1:
            raise ValueError(f"input {position} must be a single number")
        return float(value.array.item())

    def integers(self, attribute: str) -> list[int]:
        return [int(value) for value in self.attributes.get(attribute, ())]


class _Cost(NamedTuple):
    """The elements in memory at one time, and how many the computation touches."""

    elements: int
    time: int

    def slower(self, factor: int) -> _Cost:
        return self._replace(time=self.time * factor)


def _elements(count: float) -> _Cost:
    return _Cost(int(count), int(count))


def _broadcast(call: _Call) -> _Cost:
    return _elements(math.prod(np.broadcast_shapes(*call.shapes)))


def _all(call: _Call) -> _Cost:
    """Of operators that make no more than they read, for each axis at most."""
    return _elements(call.size * max(1, *map(len, call.shapes)))


def _channels(call: _Call) -> _Cost:
    """Of an image and vectors of its channels."""
    channels = call.shape(0)[1]
    if any(math.prod(shape) > channels for shape in call.shapes[1:]):
        raise ValueError(f"{channels} channels have vectors of other lengths")
    return _elements(call.size)


def _sloped(call: _Call) -> _Cost:
    """By a number of each entry, or of each channel."""
    x, slope = call.shape(0), call.shape(1)
    of_channels = len(slope) == 1 and x[1:2] == slope
    return _elements(call.size * max(slope)) if of_channels else _broadcast(call)


def _slowly(bound: Callable[[_Call], _Cost], factor: int) -> Callable[[_Call], _Cost]:
    return lambda call: bound(call).slower(factor)


def _product(call: _Call) -> _Cost:
    """Of two matrices, either turned, or of stacks of them."""
    (*left, m, k), (*right, n) = (1, 1, *call.shape(0)), call.shape(1) or (1,)
    if call.attributes.get("transA", 0):
        m, k = k, m
    if call.attributes.get("transB", 0) and right:
        n = right[-1]
    groups = np.broadcast_shapes(tuple(left), tuple(right[:-1]))
    made = math.prod(np.broadcast_shapes((*groups, m, n), call.shape(2)))
    return _Cost(call.size + made, call.size + made * (1 + k // _MULTIPLIED))


def _windows(call: _Call) -> _Cost:
    """Of a kernel at each place of a padded image, dilated or spread by strides."""
    image, kernel = call.shape(0)[2:], call.integers("kernel_shape") or [*call.shape(1)[2:]]
    pads = [*map(abs, call.integers("pads"))] or [0] * 2 * len(image)
    by = {name: [*map(abs, call.integers(name))] or [1] * len(image) for name in ("dilations", "strides")}
    spread = by["strides"] if call.node.op_type == "ConvTranspose" else [1] * len(image)
    wanted = [abs(size) for name in ("output_padding", "output_shape") for size in call.integers(name)]
    reach = [abs(size) * dilation for size, dilation in zip(kernel, by["dilations"], strict=True)]
    padded = [
        size * factor + before + after + most
        for size, factor, before, after, most in zip(
            image, spread, pads[: len(image)], pads[len(image) :], reach, strict=True
        )
    ]
    channels = (math.prod(call.shape(1)[:2]) or 1) * (1 + math.prod(call.shape(2)))
    entries = math.prod(call.shape(0)[:2]) * math.prod(padded) * (1 + sum(wanted))
    return _elements(entries * channels * math.prod(reach)).slower(_FUNCTION)


def _unrolled(call: _Call) -> _Cost:
    """A step of a recurrent layer multiplies by all weights."""
    steps = math.prod(call.shape(0)[:2])
    return _Cost(call.size * (1 + steps), call.size + steps * (_LOOP + call.size))


def _attended(call: _Call) -> _Cost:
    """A score for each query, key and head."""
    if any(call.inputs[3:]):
        raise ValueError("a mask or a cache of constants is not read")
    (batch, *query), (_, *key) = call.shape(0), call.shape(1)
    heads = abs(call.attributes.get("q_num_heads", 1)) * math.prod(query[:-2])
    scores = batch * heads * query[-2] * key[-2]
    return _elements(8 * (scores + call.size)).slower(1 + query[-1] // _MULTIPLIED)


def _turned(call: _Call) -> _Cost:
    """Cosines and sines of each position."""
    return _elements(4 * (call.size + math.prod(call.shape(3)) * call.shape(1)[-1]))


def _placed(call: _Call) -> _Cost:
    """A slice of the data for each index."""
    slices = math.prod(call.shape(1)[:-1]) * math.prod(call.shape(0)[call.shape(1)[-1] :])
    return _Cost(call.size, _LOOP * call.size + slices)


def _hot(call: _Call) -> _Cost:
    places = (call.size + 1) * (1 + int(abs(call.number(1))))
    return _elements(places * max(1, math.prod(call.shape(2)) // 2))


def _range(call: _Call) -> _Cost:
    start, limit, delta = (call.number(position) for position in range(3))
    return _elements(max(0, math.ceil((limit - start) / delta)))


def _numbered(position: int) -> Callable[[_Call], _Cost]:
    """As many as the numbers of an input multiply to, and a few coordinates each."""

    def bound(call: _Call) -> _Cost:
        sizes = call.inputs[position]
        assert sizes is not None  # noqa: S101  what is left out raises
        numbers = math.prod(map(abs, map(int, sizes.array.ravel())))
        return _elements(call.size + 8 * numbers * math.prod(call.shape(0)[:2]))

    return bound


def _largest(call: _Call) -> _Cost:
    k = call.attributes.get("k", 0) or call.number(1)
    return _elements(call.size * (2 + len(call.shape(0)) + 2 * int(abs(k)))).slower(4)


def _padded(call: _Call) -> _Cost:
    pads = call.attributes.get("pads") or (call.inputs[1].array.ravel() if call.inputs[1] else ())
    around = 2 * max(map(abs, map(int, pads)), default=0)
    return _elements(math.prod(size + around for size in call.shape(0)))


def _transformed(call: _Call) -> _Cost:
    length = int(abs(call.number(1))) if len(call.inputs) > 1 and call.inputs[1] else 0
    return _elements(4 * call.size * (1 + length)).slower(8)


_UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Cast CastLike Ceil Celu Cos Cosh Elu Exp Floor "
    "HardSigmoid HardSwish IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink Sigmoid "
    "Sign Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu"
)
_BROADCAST = (
    "Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual "
    "LayerNormalization Less LessOrEqual Max Mean Min Mod Mul Or Pow RMSNormalization Sub Sum Where Xor"
)
_ROWS = (
    "ArgMax ArgMin CumProd CumSum DynamicQuantizeLinear GlobalAveragePool GlobalMaxPool Hardmax LogSoftmax "
    "LpNormalization MeanVarianceNormalization NonZero ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp "
    "ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Softmax Unique"
)
_BOUNDS: Final[Mapping[Callable[[_Call], _Cost], str]] = {
    lambda call: _elements(call.size): _UNARY,
    _all: _ROWS,
    _broadcast: _BROADCAST,
    _channels: "BatchNormalization GroupNormalization InstanceNormalization",
    _sloped: "PRelu",
    _slowly(_all, _FUNCTION): "Erf Gelu",
    _slowly(_all, _LOOP): "ScatterElements",
    _placed: "ScatterND",
    _product: "Gemm MatMul",
    lambda call: _elements(call.size * call.shape(0)[-1]): "Det",
    _windows: "Conv ConvTranspose",
    _slowly(_windows, _LOOP // _FUNCTION): "AveragePool LpPool MaxPool",
    _unrolled: "GRU LSTM RNN",
    _attended: "Attention",
    _range: "Range",
    lambda call: _elements(8 * abs(call.number(0))): "BlackmanWindow HammingWindow HannWindow",
    _numbered(1): "AffineGrid",
    _slowly(_numbered(1), _FUNCTION): "Col2Im",
    _largest: "TopK",
    _padded: "Pad",
    _transformed: "DFT",
    _hot: "OneHot",
    _turned: "RotaryEmbedding",
    lambda call: _elements((abs(call.number(0)) + 2) * (abs(call.number(1)) + 2)).slower(_FUNCTION): (
        "MelWeightMatrix"
    ),
}
FOLDED: Final[Mapping[str, Callable[[_Call], _Cost]]] = {
    name: bound for bound, names in _BOUNDS.items() for name in names.split()
}
"""A bound on what each operator's computation takes, by ``op_type``."""

# Operators of which the evaluator has the first output alone right: onnx 1.23 numbers entries of MaxPool's
# windows wrongly where these overlap.
_FIRST: Final = ("MaxPool",)
# Inputs of one number, which the evaluator takes without axes alone and runtimes with one.
_NUMBERS: Final[Mapping[str, Sequence[int]]] = {"CumProd": (1,), "CumSum": (1,), "Range": (0, 1, 2)}
# Before opset 13 they take all axes from theirs on together, which the evaluator does not know.
_FLATTENED: Final = ("Hardmax", "LogSoftmax", "Softmax")
_ONE_AXIS: Final = 13


def fold(
    node: NodeProto, inputs: Sequence[Constant | None], allowance: Allowance, opset: int
) -> list[Constant]:
    """The outputs of a node of ``FOLDED``, up to the last that is named."""
    if node.op_type in _FIRST and any(node.output[1:]):
        raise ModelError("model.unsupported_operator", f"{where(node)} has outputs of which one is read")
    if any(each.type not in _ATTRIBUTES or each.ref_attr_name for each in node.attribute):
        raise ModelError("model.unsupported_attribute", f"{where(node)} has an attribute that is not read")
    call = _Call(node, inputs)
    try:
        cost = FOLDED[node.op_type](call)
        allowance.require(cost.elements, where(node))
        allowance.work(cost.time, where(node))
        _require_defined(call)
        made = [_constant(each) for each in _evaluated(call, opset)]
    except ModelError:
        raise
    except Exception as error:  # the evaluator raises anything for inputs that do not fit
        reason = str(error.__cause__ or error)[:_LONGEST_REASON]
        raise ModelError("model.shape", f"{where(node)} does not take its constants: {reason}") from error
    for each in made:
        allowance.hold(each.array, where(node))
    return made


def _require_defined(call: _Call) -> None:
    """Refuse integers that ONNX leaves open: quotients by zero, and those of numbers that exceed them."""
    operator, first, second = call.node.op_type, call.inputs[0], (*call.inputs, None)[1]
    if operator in ("Div", "Mod") and second and second.kind not in FLOATS and not second.array.all():
        raise ModelError("model.tensor_type", f"{where(call.node)} divides integers by zero")
    if operator in ("Cast", "CastLike") and first:
        to = call.attributes.get("to", 0) or (second.kind if second else 0)
        if to not in (*FLOATS, Element.BOOL) and not (np.abs(first.array) <= _MOST_WHOLE).all():
            raise ModelError(
                "model.tensor_type", f"{where(call.node)} casts a constant to integers that it exceeds"
            )


def _evaluated(call: _Call, opset: int) -> list[NDArray[Any]]:
    from onnx.reference import ReferenceEvaluator  # a fifth of a second, which most files save

    arrays = {f"i{at}": _array(call, at) for at, each in enumerate(call.inputs) if each is not None}
    count = max(at + 1 for at, name in enumerate(call.node.output) if name)
    node = helper.make_node(
        call.node.op_type,
        [f"i{at}" if f"i{at}" in arrays else "" for at in range(len(call.inputs))],
        [f"o{at}" for at in range(count)],
    )
    node.attribute.extend(call.node.attribute)
    shape = call.shape(0)
    if opset < _ONE_AXIS and node.op_type in _FLATTENED:
        axis = call.attributes.get("axis", 1)
        arrays["i0"] = arrays["i0"].reshape(math.prod(shape[:axis]), -1)
        del node.attribute[:]
        opset = _ONE_AXIS
    graph = helper.make_graph(
        [node],
        "folded",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in arrays.items()
        ],
        [helper.make_empty_tensor_value_info(name) for name in node.output],
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        evaluator = ReferenceEvaluator(graph, opsets={"": opset})
        made = [np.asarray(each) for each in evaluator.run(None, arrays)]
    return [each.reshape(shape) for each in made] if node.op_type in _FLATTENED else made


def _array(call: _Call, position: int) -> NDArray[Any]:
    """An input in its own element type."""
    value = call.inputs[position]
    assert value is not None  # noqa: S101  the caller asks for inputs that are there
    array = value.array.astype(helper.tensor_dtype_to_np_dtype(value.kind))
    return array.reshape(()) if position in _NUMBERS.get(call.node.op_type, ()) else array


def _constant(array: NDArray[Any]) -> Constant:
    kind = int(helper.np_dtype_to_tensor_dtype(array.dtype))
    if kind not in _KINDS or (kind == TensorProto.UINT64 and (array > np.iinfo(np.int64).max).any()):
        raise TypeError(f"elements of type {array.dtype} are not read")
    return Constant(array.astype(np.float64 if kind in FLOATS else np.int64), kind)
