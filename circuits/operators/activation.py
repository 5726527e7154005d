"""Functions of each entry alone, by tables: Sigmoid, Tanh, Gelu, Exp, Sqrt, and whatever nodes make of one
tensor entry by entry, such as ``x * sigmoid(x)``.

The integers of the table are part of the network of integers: circuits are made of them and of no float, so
that everybody compiles the same, whatever a machine's ``exp`` says in its last digit. The formula beside them
says what they are nearest to.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np

from zenserve.circuits.graphs import formula, rescaling
from zenserve.circuits.graphs.calibration import Interval
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Constants, Node, Reading, Written
from zenserve.circuits.graphs.rescaling import Clamp
from zenserve.circuits.graphs.retyping import QuantRetype
from zenserve.circuits.graphs.rewriting import fresh, without_dead_nodes
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import Affine, FloatArray, Shape, require
from zenserve.circuits.onnx.constants import FLOATS, INTEGERS, Constant
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.gather import Gather
from zenserve.circuits.operators.quantise_linear import declared_at, integer, typed
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.operators.tabled import Tabled
from zenserve.errors import ModelError
from zenserve.relations.integers import IntArray

TRUNCATED: Final = "sign(x) * floor(abs(x) + 1e-09)"
"""Of a real number the whole one towards zero."""

# Where a function is looked at before it is tabulated.
_POINTS: Final = 1 << 12
_FAR: Final = 1e4
_NEAR: Final = 1e-9
# Bits of whole numbers that are exact wherever functions make them.
_FEW: Final = 8
_COMPARES: Final = re.compile(r"\b(equal|fmod|less|sign)\(")
_ROUNDS: Final = re.compile(r"\b(ceil|floor|round)\(")


@dataclass(frozen=True, eq=False)
class Activation(Node):
    """``y = function(x)`` elementwise, a formula (``zenserve.circuits.graphs.formula``)."""

    called = "activation"
    adds = True
    curved = True

    function: str

    @property
    def rounds(self) -> bool:
        return bool(_ROUNDS.search(self.function))

    @property
    def tells_apart(self) -> bool:
        return self.rounds or bool(_COMPARES.search(self.function))

    def run(self, *inputs: FloatArray) -> FloatArray:
        return formula.evaluate(self.function, inputs[0])

    def formula(self, *inputs: str) -> str | None:
        return formula.of(self.function, inputs[0])

    def needed(self, at: int, reading: Reading) -> Interval:
        """Without the ends on which the function stays within a quarter of an output's step. Raises
        ``ModelError`` (``model.scale``) for a divisor of both signs."""
        span, bits, made = reading.spans[at], reading.bits, reading.made
        before, zero, after = formula.evaluate(self.function, np.array([-_NEAR, 0.0, _NEAR]))
        if span.low < 0 < span.high and np.isinf(zero) and np.isfinite(before) and np.isfinite(after):
            raise ModelError(
                "model.scale",
                f"node {self.name[:80]!r} divides by zero: {self.function[:80]!r} of values in "
                f"[{span.low:.3g}, {span.high:.3g}]; only values of one sign can be divisors",
            )
        points = np.linspace(span.low, span.high, _POINTS)
        if span.low == span.high:
            return span
        if "equal(" in self.function or max(-span.low, span.high) > _FAR:
            points = _points(span)
        values = formula.evaluate(self.function, points, np.gradient(points))
        if not np.isfinite(values).all():
            return span
        if made:
            values = np.clip(values, *made)
        quarter = (values.max() - values.min()) / (4 << bits)
        if not quarter:  # calibration saw one value, which says nothing of where it came from
            return span
        before, after = (
            np.maximum.accumulate(each) - np.minimum.accumulate(each) <= quarter
            for each in (values, values[::-1])
        )
        low, high = np.flatnonzero(before)[-1], len(points) - 1 - np.flatnonzero(after)[-1]
        part = Interval(min(float(points[low]), 0.0), max(float(points[high]), 0.0))
        # Beyond a jump there are two integers at least.
        jumps, room = np.abs(np.diff(values)) > 4 * quarter, 2 * (part.high - part.low) / ((1 << bits) - 1)
        if low and jumps[low : low + 1].any():
            part = part._replace(low=max(min(float(points[low - 1]) - room, 0.0), span.low))
        if jumps[high - 1 : high].any() and high < len(jumps):
            part = part._replace(high=min(max(float(points[high + 1]) + room, 0.0), span.high))
        return part

    def quantise(self, site: Site) -> QuantActivation | QuantRetype:
        made = table(site, self.function)
        whole = self.rounds and site.fixed == made.output == site.incoming()
        same = whole and bool((made.values == np.arange(len(made.values))).all())
        return QuantRetype(site.name, site.inputs, made.output) if same else made

    def written(self, constant: Constants) -> Written:
        if self.function not in _PLAIN.values():
            raise ModelError(
                "model.unsupported_operator", f"no operator of ONNX is {self.function[:80]!r} alone"
            )
        return Written(next(name for name, text in _PLAIN.items() if text == self.function))


def _points(span: Interval) -> FloatArray:
    """Zero, evenly over the interval, and, where that reaches very far, over what of it is near zero."""
    even = [*np.linspace(span.low, span.high, _POINTS), 0.0]
    reach = max(-span.low, span.high)
    powers = np.geomspace(1 / _FAR, reach, _POINTS) if reach > _FAR else np.zeros(0)
    points: FloatArray = np.unique(np.concatenate([even, -powers, powers]).clip(span.low, span.high))
    return points


@dataclass(frozen=True, eq=False)
class QuantActivation(Tabled):
    """``q_y = values[q]``. ``function``: the formula of what these are nearest to, as real numbers."""

    function: str
    values: IntArray = field(repr=False)
    output: Affine

    def check(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> None:
        super().check(types, shapes)
        short = len(self.function) <= formula.LONGEST and self.function.isprintable()
        require(short, f"node {self.name!r} has a formula of more than {formula.LONGEST} plain characters")
        try:
            formula.evaluate(self.function, np.zeros(1))
        except ValueError as error:
            raise ModelError("model.quantised", f"node {self.name!r}: {error}") from None

    def tabulated(self, types: Sequence[Affine | None]) -> tuple[str, float] | None:
        (kind,) = types
        if kind is None:
            return None
        reachable = np.clip(_exact(self.function, kind), *self.output.real(np.array([0, self.output.top])))
        error = np.abs(self.output.real(self.values) - reachable) / self.output.scale
        return self.function, float(error.max())

    def scales(self) -> dict[str, Any] | None:
        shown = {"table": self.values.tolist(), "output": asdict(self.output)}
        return {"name": self.name, "function": self.function, "rescale": shown}


def table(site: Site, function: str) -> QuantActivation:
    """Of the nearest integers of the output's type, beyond its ends the ends. Where the function has no
    value, that of the nearest integer where it has one."""
    kind, function = site.incoming(), formula.clipped(function, *(site.clamp or Clamp()))
    exact = _exact(function, kind)
    if np.isnan(exact).any():
        raise ModelError(
            "model.scale", f"{site.name} has no value of {function[:80]!r} for any calibrated input"
        )
    output = _whole(site, exact) or site.output()
    values = np.clip(output.quantise(exact), *site.limits(output))
    return QuantActivation(site.name, site.inputs, function, values, output)


def _whole(site: Site, exact: FloatArray) -> Affine | None:
    """The type of steps of one that has all values, where these are whole numbers and few."""
    if site.fixed is not None or site.span is None or not (exact == np.rint(exact)).all():
        return None
    low, high = np.clip([exact.min(), exact.max()], np.floor(site.span.low), np.ceil(site.span.high))
    span = Interval(min(0.0, float(low)), max(0.0, float(high)))
    if span.high - span.low >= 1 << max(site.settings.bits, _FEW):
        return None
    return rescaling.exact(span, site.name)


def _exact(function: str, kind: Affine) -> FloatArray:
    """Its values for all integers of the type; where it has none that of the nearest which has one, NaN where
    none has."""
    step = 0.0 if kind.scale == 1 else kind.scale
    values = formula.evaluate(function, kind.real(np.arange(kind.top + 1)), step)
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        return values
    # The first of them behind each midpoint of two neighbours; on it, that before.
    nearest: FloatArray = values[known[np.searchsorted(known[:-1] + known[1:], 2 * np.arange(len(values)))]]
    return nearest


def before_repeats(graph: Graph) -> Graph:
    """A function of values that are repeated is one of these, and repeated behind it."""
    makers: dict[str, Node] = {}
    shapes, taken = dict(graph.shapes), set(graph.shapes)
    for node in graph.nodes:
        makers[node.name] = node
        if not isinstance(node, Activation) or node.name in graph.declared:
            continue
        chain, source = list[Node](), node.inputs[0]
        while isinstance(makers.get(source), Gather | Reshape) and source not in graph.declared:
            chain.insert(0, makers[source])
            source = chain[0].inputs[0]
        if chain and math.prod(shapes[source]) < math.prod(shapes[node.name]):
            del makers[node.name]
            before: Node = replace(node, name=fresh(f"{node.name}.once", taken), inputs=(source,))
            makers[before.name], shapes[before.name] = before, shapes[source]
            names = [*(fresh(each.name, taken) for each in chain[:-1]), node.name]
            for name, mover in zip(names, chain, strict=True):
                before = makers[name] = replace(mover, name=name, inputs=(before.name,))
                shapes[name] = shapes[mover.name]
    return replace(graph, nodes=tuple(makers.values()))


class _Part(NamedTuple):
    """A tensor as a formula of the tensor ``entry``. ``curved``: only a table can make it."""

    entry: str
    function: str
    curved: bool


def tabulate(graph: Graph) -> Graph:
    """Whatever elementwise nodes make of one tensor is one Activation, unless they all have integer nodes of
    their own. Types that a file declares stay where they are, unless they are of a factor of its own
    argument, as in ``x * sigmoid(x)``."""
    readers, entries = graph.readers, {entry.name for entry in graph.inputs}
    parts: dict[str, _Part] = {}
    for node in graph.nodes:
        alone = [_Part(name, "x", False) for name in node.inputs]
        through = [parts.get(one.entry, one) for one in alone]
        sources = [
            one if one.entry in graph.declared else part for one, part in zip(alone, through, strict=True)
        ]
        before = sources[0]
        if node.clamp and before in alone and before.entry not in entries and readers[before.entry] == 1:
            continue  # a clamp of sums is part of these, and leaves finer integers
        # Anew where formulas get too long.
        part = _joined(node, sources) or _joined(node, alone) or _joined(node, through)
        if part:
            parts[node.name] = part
    read = {name for node in graph.nodes if node.name not in parts for name in node.inputs}
    wanted = {*graph.outputs.values(), *graph.declared, *read, *(part.entry for part in parts.values())}
    nodes = []
    for node in graph.nodes:
        part = parts.get(node.name)
        if part and part.curved and node.name in wanted:
            node = Activation(node.name, (part.entry,), part.function)
        nodes.append(node)
    return without_dead_nodes(replace(graph, nodes=tuple(nodes)))


def _joined(node: Node, sources: Sequence[_Part]) -> _Part | None:
    """Return the function that ``node`` makes of ``sources``; None if it is no function of one tensor."""
    function = node.formula(*(source.function for source in sources))
    entry, *others = (source.entry for source in sources)
    if function is None or set(others) - {entry} or len(function) > formula.LONGEST:
        return None
    return _Part(entry, formula.plain(function), node.curved or any(source.curved for source in sources))


def applied(step: Step, function: str) -> Value:
    """The function of the first input."""
    if step.is_data(0):
        return Data(step.emit(Activation, (step.floats(),), function))
    constant = step.plain(0)
    if constant.kind not in FLOATS:
        raise step.refuse("tensor_type", "takes floats")
    return step.folded(formula.evaluate(function, constant.array), constant.kind)


def wrapped(whole: str, bits: int, signed: bool) -> str:
    """Of the formula of a whole number that of what integers of so many bits have of it."""
    size, half = 2.0**bits, 2.0 ** (bits - 1) if signed else 0.0
    return f"{whole} - {size} * floor(({whole} + {half + 0.5}) / {size})"


def wrapping(read: Callable[[Step], Value]) -> Callable[[Step], Value]:
    """The reader of a sum or a product, whose integers of up to 16 bits wrap around as their type does."""

    def wraps(step: Step) -> Value:
        made, kind = read(step), step.value(0).kind or 0
        if kind not in INTEGERS:
            return made
        text = wrapped("x", *INTEGERS[kind])
        if isinstance(made, Constant):
            return step.folded(formula.evaluate(text, made.array.astype(np.float64)), kind)
        step.building.integers.add(made.tensor)
        return replace(made, tensor=step.emit(Activation, (made.tensor,), text), kind=kind)

    return wraps


def number(step: Step, value: float) -> str:
    """A constant of a formula."""
    if not math.isfinite(value):
        raise step.refuse("unsupported_attribute", f"has the parameter {value}; it must be finite")
    return formula.number(value)


def _plain(function: str) -> Operator:
    return Operator(lambda step: applied(step, function), elementwise=True)


def _with(name: str, defaults: Mapping[str, float]) -> Operator:
    """A function with parameters behind its ``x``, by the order of ``defaults``."""

    def read(step: Step) -> Value:
        said = [number(step, float(step.attributes.get(key, value))) for key, value in defaults.items()]
        return applied(step, f"{name}({', '.join(['x', *said])})")

    return Operator(read, dict.fromkeys(defaults, "f"), elementwise=True)


def _gelu(step: Step) -> Value:
    kind = step.attributes.get("approximate", b"none")
    if kind not in (b"none", b"tanh"):
        raise step.refuse("unsupported_attribute", f"has approximate={kind.decode(errors='replace')[:20]!r}")
    return applied(step, "gelu(x)" if kind == b"none" else "gelu_tanh(x)")


def _linear_sigmoid(step: Step) -> Value:
    return typed(step, step.emit(Activation, (integer(step, 0),), "sigmoid(x)"), declared_at(step, 3))


_PLAIN: Final[Mapping[str, str]] = {
    **{
        name: f"{name.lower()}(x)"
        for name in (
            *(
                "Acos",
                "Acosh",
                "Asin",
                "Asinh",
                "Atan",
                "Atanh",
                "Ceil",
                "Cos",
                "Cosh",
                "Erf",
                "Exp",
                "Floor",
            ),
            *(
                "Log",
                "Mish",
                "Round",
                "Sigmoid",
                "Sign",
                "Sin",
                "Sinh",
                "Softplus",
                "Softsign",
                "Sqrt",
                "Tan",
            ),
            "Tanh",
        )
    },
    "HardSwish": "hard_swish(x)",
    "Reciprocal": "1.0 / x",
}
_SELU: Final = {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}

ENTRY = Entry(
    onnx={
        **{name: _plain(function) for name, function in _PLAIN.items()},
        "Celu": _with("celu", {"alpha": 1.0}),
        "Elu": _with("elu", {"alpha": 1.0}),
        "Gelu": Operator(_gelu, {"approximate": "s"}, elementwise=True),
        "HardSigmoid": _with("hard_sigmoid", {"alpha": 0.2, "beta": 0.5}),
        "Selu": _with("selu", _SELU),
        "Shrink": _with("shrink", {"bias": 0.0, "lambd": 0.5}),
        "Swish": _with("swish", {"alpha": 1.0}),
        "ThresholdedRelu": _with("thresholded_relu", {"alpha": 1.0}),
    },
    microsoft={
        "Gelu": _plain("gelu(x)"),
        "QLinearSigmoid": Operator(_linear_sigmoid, {}, 4, 5, elementwise=True),
        "QuickGelu": _with("swish", {"alpha": 1.702}),
    },
    integers=(QuantActivation,),
    passes=(before_repeats, tabulate),
)
