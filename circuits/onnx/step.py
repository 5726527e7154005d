"""One node at a time: what it reads, what it says, and the typed nodes that it becomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.graph import Input
from zenserve.circuits.graphs.node import Mover, Node, require_size
from zenserve.circuits.graphs.retyping import Retype
from zenserve.circuits.graphs.types import Declared, FloatArray, Shape
from zenserve.circuits.onnx.constants import FLOATS, Allowance, Constant, Element
from zenserve.circuits.onnx.naming import quote, require_finite, where
from zenserve.codes import Code
from zenserve.errors import ModelError

if TYPE_CHECKING:
    from onnx import NodeProto

MOST_NODES = 1 << 16
# More numbers than any shape or list of axes has.
_MOST_INTEGERS = 64
_LONGEST_NAME = 200

Refusal = Literal[
    "dynamic_shape", "quantisation", "shape", "tensor_type", "unsupported_attribute", "unsupported_operator"
]
_CODES: Final[Mapping[Refusal, Code]] = {
    "dynamic_shape": "model.dynamic_shape",
    "quantisation": "model.quantisation",
    "shape": "model.shape",
    "tensor_type": "model.tensor_type",
    "unsupported_attribute": "model.unsupported_attribute",
    "unsupported_operator": "model.unsupported_operator",
}


@dataclass(frozen=True)
class Data:
    """A tensor that is computed from the input: ``tensor`` names it in the typed graph.

    ``integer``: the ONNX tensor holds its quantised integers. ``shape``: that of the ONNX tensor for one
    input, where a batch is 1: the typed tensor's is ``typed_shape`` of it. None where a reader leaves it to
    the operator's ``elementwise``. ``kind``: the ``Element`` of the ONNX tensor, None where a reader leaves
    it to be that of the first input.
    """

    tensor: str
    integer: Declared | None = None
    shape: Shape | None = None
    kind: int | None = None


def typed_shape(shape: Shape) -> Shape:
    """Of the typed tensor for an ONNX tensor of this shape: without the batch, which is 1 and in front."""
    return shape[1:] if len(shape) > 1 and shape[0] == 1 else shape or (1,)


Value = Constant | Data


class Measured(Declared):
    """The type of integers whose scale is measured on each input: floats stand for them."""


@dataclass(frozen=True, eq=False)
class TensorList:
    """A sequence of tensors, or an optional, which has one or none."""

    tensors: tuple[Value, ...]


# What an ONNX name may stand for.
Held = Value | TensorList


# Where a tensor stays: a constant, or computed, 1 where it does. It broadcasts to the tensor's shape.
Kept = NDArray[np.bool_] | Data


class Masked(NamedTuple):
    """A tensor of this ONNX shape that is ``before``, nothing where that is None, in all places that all of
    ``kept`` say, and in all others so small that its exponential is 0."""

    before: Value | None
    kept: tuple[Kept, ...]
    shape: Shape = ()


def of_kind(value: Value, kind: int | None) -> Value:
    """Return the value with elements of this kind if it is computed; a constant as it is."""
    return replace(value, kind=kind) if isinstance(value, Data) else value


@dataclass(frozen=True)
class Operator:
    """An operator: what it means, its attributes and the fields that hold them, how many inputs it takes.

    ``read`` gives one value, or those of several outputs in order. ``elementwise``: what it makes has the
    ONNX shape of what it reads; else a batch is in front of it. ``folds``: it makes constants alone.
    """

    read: Callable[[Step], Held | Sequence[Held]]
    attributes: Mapping[str, str] = field(default_factory=dict)
    least: int = 1
    most: int = 1
    elementwise: bool = False
    folds: bool = False


class Building:
    """The typed graph so far. ``ranked``: for what a Softmax or ArgMax made, the tensor of classes whose
    largest entry is the same. ``masked``: of a tensor that a mask was added to, what a softmax sees.
    ``makers``: the node of each tensor. ``tied``, ``integers``, ``measured``: as ``Graph`` has them."""

    def __init__(self, inputs: Sequence[Input]) -> None:
        for entry in inputs:
            require_size(entry.name, entry.shape)
        self.inputs = tuple(inputs)
        self.shapes = {entry.name: entry.shape for entry in inputs}
        self.makers: dict[str, Node] = {}
        self.masked: dict[str, Masked] = {}
        self.declared: dict[str, Declared] = {}
        self.ranked: dict[str, str] = {}
        self.tied: dict[str, str] = {}
        self.integers: set[str] = set()
        self.measured = False
        self._taken: Counter[str] = Counter(self.shapes.keys())

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(self.makers.values())

    def add(self, node: Node) -> str:
        if len(self.makers) == MOST_NODES:
            raise ModelError("model.too_large", f"the network unrolls to more than {MOST_NODES} nodes")
        shape = node.shape(*(self.shapes[name] for name in node.inputs))
        require_size(node.name, shape)
        self.makers[node.name] = node
        self.shapes[node.name] = shape
        if node.keeps_declared:
            first, *others = (self.declared.get(name) for name in node.inputs)
            if first and all(other and other.matches(first) for other in others):
                self.declared[node.name] = first
        return node.name

    def as_numbers(self, data: Data) -> str:
        """The tensor itself or, of quantised integers, one that has these as numbers. Raises ``ModelError``
        (``model.quantisation``) for those whose scale each input has for itself."""
        declared = data.integer
        if declared is None:
            return data.tensor
        if isinstance(declared, Measured):
            raise ModelError(
                "model.quantisation",
                f"the integers that DynamicQuantizeLinear makes of {quote(data.tensor)} are read by another "
                "node than a product of integers, or are an output: their scale is another one for each "
                "input; quantise the network statically, or end it in floats",
            )
        whole = declared.whole
        if declared.matches(whole):
            return data.tensor
        made = self.add(
            Retype(self.fresh(f"{data.tensor}.integers"), (data.tensor,), declared.affine, whole.affine)
        )
        self.declared[made] = whole
        self.integers.add(made)
        return made

    def is_given(self, tensor: str) -> bool:
        """Return whether the tensor holds nothing but integers or booleans of inputs, which nodes at most
        moved."""
        maker = self.makers.get(tensor)
        if maker is None:
            return any(entry.name == tensor and entry.values != "real" for entry in self.inputs)
        return isinstance(maker, Mover) and all(map(self.is_given, maker.inputs))

    def tie(self, first: Sequence[Node], again: Sequence[Node]) -> None:
        """Nodes of a step that is repeated have the types of the first one's."""
        pairs = zip(first, again, strict=True)
        self.tied.update((node.name, one.name) for one, node in pairs if node is not one)

    def fresh(self, name: str) -> str:
        """``name``, or it with a number behind if a tensor has it already."""
        base = unique = name[:_LONGEST_NAME]
        while unique in self.shapes:
            self._taken[base] += 1
            unique = f"{base}.{self._taken[base]}"
        return unique


Made = TypeVar("Made", bound=Node)


@dataclass(frozen=True)
class Step:
    """A node with its inputs looked up; an input that is left out is None. ``opset``: of the file.
    ``graphs``: by attribute the graphs inside the node, each a function of its inputs' values."""

    node: NodeProto
    inputs: Sequence[Held | None]
    attributes: Mapping[str, Any]
    building: Building
    allowance: Allowance
    opset: int
    graphs: Mapping[str, Callable[[Sequence[Held]], list[Held]]] = field(default_factory=dict)

    def refuse(self, why: Refusal, reason: str) -> ModelError:
        return ModelError(_CODES[why], f"{where(self.node)} {reason}")

    def has(self, position: int) -> bool:
        return position < len(self.inputs) and self.inputs[position] is not None

    def value(self, position: int) -> Value:
        value = self.inputs[position] if self.has(position) else None
        if value is None:
            raise self.refuse("shape", f"needs input {position}, which is left out")
        if isinstance(value, TensorList):
            raise self.refuse("tensor_type", f"takes a tensor, not the list {self._input(position)}")
        return value

    def graph(self, attribute: str) -> Callable[[Sequence[Held]], list[Held]]:
        """A graph inside the node, as a function of its inputs' values."""
        if attribute not in self.graphs:
            raise self.refuse("shape", f"needs its graph {attribute}")
        return self.graphs[attribute]

    def tensors(self, position: int = 0) -> tuple[Value, ...]:
        """Return the tensors of an input that is a list of tensors."""
        value = self.inputs[position] if self.has(position) else None
        if not isinstance(value, TensorList):
            raise self.refuse("tensor_type", f"takes a list of tensors as its input {position}")
        return value.tensors

    def is_data(self, position: int) -> bool:
        return isinstance(self.value(position), Data)

    def is_whole(self, position: int) -> bool:
        """Return whether an input has integers or booleans."""
        kind = self.value(position).kind
        return kind is not None and kind not in FLOATS

    def data(self, position: int = 0) -> Data:
        """An input that is computed, as floats or as integers."""
        value = self.value(position)
        if isinstance(value, Constant):
            raise self.refuse(
                "unsupported_operator",
                f"takes the constant {self._input(position)} as its input {position}, which must be computed "
                "from the network's input; have the exporter fold constants, or swap the operands",
            )
        return value

    def floats(self, position: int = 0) -> str:
        """The name of the typed tensor of an input that is computed, of quantised integers as numbers."""
        return self.building.as_numbers(self.data(position))

    def shape(self, position: int = 0) -> Shape:
        """The typed tensor's."""
        return self.building.shapes[self.data(position).tensor]

    def whole(self, position: int = 0) -> Shape:
        """The ONNX tensor's, a batch being 1; of constants, too."""
        value = self.value(position)
        if isinstance(value, Constant):
            return value.array.shape
        return (1, *self.shape(position)) if value.shape is None else value.shape

    def constant(self, position: int) -> Constant:
        value = self.value(position)
        if isinstance(value, Data):
            raise self.refuse(
                "unsupported_operator",
                f"computes its input {position}, {self._input(position)}, from the network's input; it must "
                "be a constant in the file",
            )
        return value

    def plain(self, position: int) -> Constant:
        """A constant to compute with: not one of integers that stand for floats."""
        constant = self.constant(position)
        if constant.declared:
            raise self.refuse(
                "quantisation",
                f"computes with the quantised weight {self._input(position)}; fold it before export",
            )
        return constant

    def weights(self, position: int) -> Constant:
        """A constant of finite floats, whole numbers where the file holds these."""
        constant = self.constant(position)
        if constant.array.dtype != np.float64:
            constant = replace(constant, array=constant.array.astype(np.float64))
        require_finite(f"the weight {self._input(position)} of {where(self.node)}", constant.array)
        return constant

    def number(self, position: int, default: float) -> float:
        if not self.has(position):
            return default
        constant = self.constant(position)
        if constant.array.size != 1:
            raise self.refuse("shape", f"needs a single number as {self._input(position)}")
        return float(constant.array.item())

    def integers(self, attribute: str, position: int | None = None) -> list[int] | None:
        """A short list of integers, or one, an attribute in some operator sets and an input in others."""
        if attribute in self.attributes:
            said = self.attributes[attribute]
            values: Any = said if isinstance(said, list) else [said]
        elif position is not None and self.has(position):
            constant = self.constant(position)
            if constant.kind not in (Element.INT64, Element.INT32) or constant.array.ndim > 1:
                raise self.refuse("tensor_type", f"needs {self._input(position)} as a vector of int64")
            values = constant.array.ravel()
        else:
            return None
        if len(values) > _MOST_INTEGERS:
            raise self.refuse("shape", f"has {len(values)} numbers in its {attribute}")
        return [int(value) for value in values]

    def numbers(self, attribute: str, position: int) -> list[int]:
        """``integers`` that may not be left out."""
        values = self.integers(attribute, position)
        if values is None:
            raise self.refuse("shape", f"needs its {attribute}")
        return values

    def vector(self, attribute: str, size: int | None = None) -> FloatArray:
        """An attribute of finite floats, of this many."""
        array = np.array(self.attributes.get(attribute, []), np.float64)
        if not array.size or len(array) != (size or len(array)):
            raise self.refuse("shape", f"has {len(array)} numbers as its {attribute}, not {size or 'any'}")
        require_finite(f"{attribute} of {where(self.node)}", array)
        self.spend(array.size)
        return array

    def axes(self, values: Sequence[int], rank: int) -> list[int]:
        """Axes of a tensor with ``rank`` dimensions as numbers from zero, all different."""
        axes = [axis + rank if axis < 0 else axis for axis in values]
        if len(set(axes)) < len(axes) or not all(0 <= axis < rank for axis in axes):
            raise self.refuse("shape", f"names the axes {list(values)} of a tensor with {rank} dimensions")
        return axes

    def emit(self, kind: Callable[..., Made], *arguments: Any, **fields: Any) -> str:
        """Add a typed node, named after this one; its arguments after the name."""
        name = self.node.name or next(iter(self.node.output), "") or self.node.op_type
        return self.building.add(kind(self.building.fresh(name), *arguments, **fields))

    def moved(self, tensor: str, shape: Shape | None = None) -> Data:
        """The result of an operator that moves values without changing them: of this ONNX shape."""
        return Data(tensor, self.data().integer, shape=shape)

    def folded(self, array: NDArray[Any], kind: int) -> Constant:
        """A constant computed from constants."""
        made = Constant(np.array(array, np.float64 if kind in FLOATS else np.int64), kind)
        self.allowance.hold(made.array, where(self.node))
        return made

    def spend(self, elements: int) -> None:
        """Count weights that are computed."""
        self.allowance.spend(elements, where(self.node))

    def times(self, array: FloatArray, factor: float) -> FloatArray:
        """``array · factor``, the array itself for one: it may be large."""
        if factor == 1:
            return array
        with np.errstate(over="ignore", invalid="ignore"):
            product = array * factor
        require_finite(f"a weight of {where(self.node)} times {factor}", product)
        return product

    def _input(self, position: int) -> str:
        """Its name; what a node makes of its attributes has none in the file."""
        names = self.node.input
        return quote(names[position] if position < len(names) else self.node.name)
