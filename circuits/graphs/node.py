"""The interface of an operator: as a node of a float network, and as a node of a network of integers.

Code that works on networks calls these methods of the nodes and knows no operator by name
(``zenserve.circuits.operators`` has all operators). Shapes and axes leave out the batch, which is the first
axis of arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.calibration import OUTLYING, Interval
from zenserve.circuits.graphs.rescaling import Clamp
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import (
    LEAST_BITS,
    MOST_BITS,
    MOST_COMPARED_BITS,
    Affine,
    FloatArray,
    Shape,
)
from zenserve.errors import ModelError
from zenserve.relations import planes
from zenserve.relations.bounds import Bound
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import Sizes
from zenserve.relations.relation import Move, Relation, Tensor
from zenserve.verifier.schemes import Privacy

MOST_ELEMENTS = 1 << 24
# Of all windows of a kernel that slides over a tensor.
MOST_UNROLLED = 1 << 28

Number = TypeVar("Number", np.float64, np.int64)
# (name, values) -> the name in the file of a constant that belongs to a node.
Constants = Callable[[str, FloatArray | IntArray | list[int]], str]


class Written(NamedTuple):
    """An ONNX operator, what it reads besides the node's inputs, and its attributes."""

    operator: str
    constants: Sequence[str] = ()
    attributes: Mapping[str, Any] = {}


class Winning(NamedTuple):
    """The ranges of ranked rows seen on calibration: the ``least`` entry that is no outlier, and the ends of
    the winning entries, ``low`` and ``high``."""

    least: float
    low: float
    high: float

    @classmethod
    def of(cls, x: FloatArray, count: int = 1) -> Winning | None:
        """The ``count`` largest entries of rows x[.., n] win, but for those that are as small as any in their
        row: they tie, wherever they lie. None where there are no others."""
        largest = np.partition(x, -count, axis=-1)[..., -count:]
        winners = largest[largest > x.min(axis=-1, keepdims=True)]
        if not winners.size:
            return None
        low, high = float(winners.min()), float(winners.max())
        reach = OUTLYING * max(high - low, float(np.abs(winners).max()))
        return cls(float(x[x >= low - reach].min()), low, high)


class Reading(NamedTuple):
    """``spans``: of what a node reads; ``bits``, ``made``: of the tensor that it makes, and what of that
    matters, None where nothing is known of it; ``winning``: as the node said on calibration."""

    spans: Sequence[Interval]
    bits: int
    made: Interval | None = None
    winning: Winning | None = None


@dataclass(frozen=True, eq=False)
class Named:
    """Makes the tensor ``name`` from the tensors ``inputs``.

    ``arity``: how many; None for any number. ``permutes``: it moves all values as they are, so that sums
    without a type can go through it.
    """

    name: str
    inputs: tuple[str, ...]
    arity: ClassVar[int | None] = 1
    permutes: ClassVar[bool] = False

    @classmethod
    def operator(cls) -> str:
        """Return the name in files, reports and errors, which a float node and its node of integers share."""
        return cls.__name__.removeprefix("Quant")

    def shape(self, *shapes: Shape) -> Shape:
        """The output's shape, here the input's. Raises ``ModelError`` (``model.shape``) where inputs do not
        fit."""
        return shapes[0]

    def refuse(self, reason: str) -> ModelError:
        return ModelError("model.shape", f"node {self.name[:80]!r} ({self.operator()}) {reason}")


@dataclass(frozen=True, eq=False)
class Node(Named):
    """Of a float network.

    ``called``: the name of its integer node, with a number behind it (names in files are anybody's); empty
    where there is none. ``adds``: its integer node rescales sums, so that a Clip after it costs nothing.
    ``multiplies``: it has weights, which are worth a proof. ``keeps_declared``: a type that the file
    prescribes for all that it reads is also the type of what it makes. ``curved``: it has a ``formula``, and
    only a table can make it. ``rounds``: it tells numbers on either side of whole ones and halves apart.
    ``compares``: it does nothing with what it reads but compare, and has ``compared`` and ``nearest``.
    ``least_bits``: of the tensor that it makes, unless it is given others. ``widest``: the most bits of whole
    numbers that it reads as they are. ``tells_apart``: it needs them as they are. ``names``: it makes names,
    as they are, however far they reach. ``origin``: the number that is zero behind it, of a node that shifts
    whole numbers.
    """

    called: ClassVar[str] = ""
    adds: ClassVar[bool] = False
    multiplies: ClassVar[bool] = False
    keeps_declared: ClassVar[bool] = False
    curved: ClassVar[bool] = False
    compares: ClassVar[bool] = False
    least_bits: ClassVar[int] = LEAST_BITS
    widest: ClassVar[int] = MOST_BITS

    @property
    def tells_apart(self) -> bool:
        return False

    @property
    def names(self) -> bool:
        return False

    @property
    def origin(self) -> int | None:
        return None

    @property
    def rounds(self) -> bool:
        return False

    def run(self, *inputs: FloatArray) -> FloatArray:
        """float64[n, *shape] from float64[n, *input shape] each."""
        raise NotImplementedError

    def twin(self, other: Node) -> bool:
        """Return whether the other node equals this one in all but name and inputs."""
        pairs = [(getattr(self, each.name), getattr(other, each.name)) for each in fields(self)[2:]]
        return type(self) is type(other) and all(
            one is two or (type(one) is type(two) and np.array_equal(one, two)) for one, two in pairs
        )

    def formula(self, *inputs: str) -> str | None:
        """Return the formula of each output entry (``zenserve.circuits.graphs.formula``), given the formulas
        of the inputs; None if the node does not treat all entries alike."""
        return None

    def times(self, factor: float) -> Node | None:
        """The node that makes ``factor``, above 0, times as much; None where that takes one more."""
        return None

    @property
    def clamp(self) -> Clamp | None:
        """For a Clip what it leaves."""
        return None

    def keeps_type(self, clamped: bool) -> bool:
        """Return whether the node's values lie between the values that it reads. ``clamped``: a Clip
        follows."""
        return False

    def needed(self, at: int, reading: Reading) -> Interval:
        """Return the interval of the input ``at`` this place that matters: values beyond it do not change the
        node's integers."""
        return reading.spans[at]

    def winning(self, x: FloatArray) -> Winning | None:
        """Of a node that ranks the rows of its input x[n, *shape] how far what can win reaches."""
        return None

    def compared(self, span: Interval) -> tuple[Interval, float]:
        """Return the interval that an input of the network with the span ``span`` is to cover, and the step
        that resolves the values with which the node compares the input."""
        raise NotImplementedError

    def nearest(self, x: FloatArray) -> float:
        """Return the smallest non-zero distance between inputs of the network, x[n, *input shape], and the
        values with which the node compares them."""
        raise NotImplementedError

    def quantise(self, site: Site) -> QuantNode:
        """The node of integers that takes its place."""
        raise NotImplementedError

    def written(self, constant: Constants) -> Written:
        """As a node of an ONNX file."""
        return Written(self.operator())


@dataclass(frozen=True, eq=False)
class QuantNode(Named):
    """Of a network of integers. Types are those of the inputs, None for sums that no type has.

    ``repeatable``: it may be there again (``Again``), whose relations share the parameters of the first.
    """

    repeatable: ClassVar[bool] = True

    def execute(self, inputs: Sequence[IntArray], types: Sequence[Affine | None]) -> IntArray:
        """The node's tensor, int64[n, *shape]. Exact."""
        raise NotImplementedError

    def output_type(self, types: Sequence[Affine | None]) -> Affine | None:
        """The tensor's type."""
        raise NotImplementedError

    def needs_zero(self, types: Sequence[Affine | None]) -> bool:
        """Return whether the zero points of these types must be among their integers."""
        return True

    def check(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> None:
        """``ModelError`` unless all integers, those of the constraints too, stay below 62 bits."""

    def relate(
        self, inputs: Sequence[Tensor], types: Sequence[Affine | None], privacy: Privacy
    ) -> list[Relation]:
        """Return the relations between ``inputs`` and the node's tensor, which is the last relation's
        ``out``.

        ``privacy``: of the weights.
        """
        raise NotImplementedError

    def _made(self, inputs: Sequence[Tensor], bound: Bound, bits: int | None) -> Tensor:
        """The node's tensor, or one of its shape."""
        shape = self.shape(*(tensor.shape[1:] for tensor in inputs))
        return Tensor(self.name, (inputs[0].shape[0], *shape), bound, bits)

    def tabulated(self, types: Sequence[Affine | None]) -> tuple[str, float] | None:
        """Of a node that is a table: the function that it stands for, and how far the table is from it at
        most, in steps of the node's tensor, which it saturates to. None of others."""
        return None

    def takes(self) -> NDArray[np.bool_] | None:
        """Of a node to which integers are names: whether each of its input's type is one. None of others."""
        return None

    def blank(self) -> Self:
        """The same node without its weights."""
        return self

    def scales(self) -> dict[str, Any] | None:
        """The public types and scales, JSON-able; None where there are none."""
        return None


@dataclass(frozen=True, eq=False)
class Again(QuantNode):
    """In a file: the node ``of`` once more, on other inputs, with the same weights."""

    of: str


@dataclass(frozen=True, eq=False)
class Mover(Node, QuantNode):
    """Values of one type, moved: the same node for floats and for integers."""

    keeps_declared = True
    widest = MOST_COMPARED_BITS

    def move(self, inputs: Sequence[NDArray[Number]], zero: int) -> NDArray[Number]:
        """The node's tensor [n, *shape]. ``zero``: what stands for zero."""
        raise NotImplementedError

    def run(self, *inputs: FloatArray) -> FloatArray:
        return self.move(inputs, 0)

    def keeps_type(self, clamped: bool) -> bool:
        return True

    def execute(self, inputs: Sequence[IntArray], types: Sequence[Affine | None]) -> IntArray:
        return self.move(inputs, types[0].zero_point if types[0] else 0)

    def relate(
        self, inputs: Sequence[Tensor], types: Sequence[Affine | None], privacy: Privacy
    ) -> list[Relation]:
        first, indices = 0, []
        for tensor in inputs:
            size = math.prod(tensor.shape[1:])
            indices.append(first + np.arange(size).reshape(1, *tensor.shape[1:]))
            first += size
        constant = self.constant(types)
        ends = [end for tensor in inputs for end in tensor.bound.interval]
        ends += [] if constant is None else [constant]
        out = self._made(inputs, Bound.of(min(ends), max(ends)), inputs[0].bits)
        return [Move(self.name, out, tuple(inputs), self.move(indices, -1)[0], constant)]

    def constant(self, types: Sequence[Affine | None]) -> int | None:
        """Return the constant that the node writes beside the values that it moves; None if there is none."""
        return None

    def needs_zero(self, types: Sequence[Affine | None]) -> bool:
        return self.constant(types) is not None

    def quantise(self, site: Site) -> Self:
        return replace(self, name=site.name, inputs=site.inputs)

    def output_type(self, types: Sequence[Affine | None]) -> Affine | None:
        return types[0]


def windows(
    node: Named, shape: Shape, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes = ()
) -> Sizes:
    """Return the number of windows that fit along each axis of an image of this shape. Raises ``ModelError``
    where the kernel does not fit or the windows are too many."""
    if not 1 < len(shape) == 1 + len(kernel) <= 1 + planes.MOST_AXES:
        raise node.refuse(
            f"reads shape [batch, {dims(shape)}]; a kernel of {len(kernel)} axes takes [batch, channels] and "
            f"as many axes, at most {planes.MOST_AXES}"
        )
    fitting = planes.windows(shape[1:], kernel, stride, padding, dilation)
    if fitting is None:
        raise node.refuse(
            f"slides {kernel} by {stride} over {shape[1:]} padded by {padding}, which does not fit"
        )
    around = zip(shape[1:], padding[: len(kernel)], padding[len(kernel) :], strict=True)
    require_size(node.name, (shape[0], *map(sum, around)))
    if shape[0] * math.prod(fitting) * math.prod(kernel) > MOST_UNROLLED:
        raise ModelError(
            "model.too_large",
            f"node {node.name[:80]!r} ({node.operator()}) slides {kernel} over {shape[1:]}: its windows have"
            f" more than {MOST_UNROLLED} entries in all",
        )
    return fitting


def dims(shape: Shape) -> str:
    return ", ".join(map(str, shape))


def require_size(name: str, shape: Shape) -> None:
    if not shape or any(size < 1 for size in shape):
        raise ModelError("model.shape", f"the tensor {name[:80]!r} has the shape [batch, {dims(shape)}]")
    if math.prod(shape) > MOST_ELEMENTS:
        raise ModelError(
            "model.too_large",
            f"the tensor {name[:80]!r} of shape [batch, {dims(shape)}] exceeds {MOST_ELEMENTS} elements",
        )
