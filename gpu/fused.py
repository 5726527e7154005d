"""Functions of entries as kernels: what numpy's operators and functions say of arrays is written down once,
with symbols in the place of arrays, and compiled (``run``).

A function is of numbers and of arrays that broadcast. A symbol is one number, or a few side by side along a
first axis that the function makes itself (``stack``): all of them are in one thread. Equal terms are one,
and what is known is computed beforehand, in the same floats. Products and sums are not contracted, so that a
card rounds as the processor does, but for elementary functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from zenserve.gpu import modules
from zenserve.gpu.device import Array, Device
from zenserve.gpu.layouts import Layout, joined, of_array, steps, whole

_THREADS: Final = 128

Function = Callable[..., tuple[Any, ...]]


class _Operation(NamedTuple):
    """An operation, in C++ and in numpy. ``truth``: its result is a boolean."""

    text: str
    of: Callable[..., Any]
    truth: bool = False


_OPERATIONS: Final = {
    "add": _Operation("{} + {}", np.add),
    "subtract": _Operation("{} - {}", np.subtract),
    "multiply": _Operation("{} * {}", np.multiply),
    "divide": _Operation("{} / {}", np.divide),
    "negative": _Operation("-{}", np.negative),
    "abs": _Operation("fabs({})", np.abs),
    "maximum": _Operation("larger({}, {})", np.maximum),
    "minimum": _Operation("lesser({}, {})", np.minimum),
    "float_power": _Operation("pow({}, {})", np.float_power),
    "nextafter": _Operation("nextafter({}, {})", np.nextafter),
    "sign": _Operation("sign({})", np.sign),
    **{
        name: _Operation(f"{name}({{}})", getattr(np, name))
        for name in ("exp", "log", "log1p", "tanh", "sqrt", "floor", "ceil", "rint")
    },
    "where": _Operation("{} ? {} : {}", np.where),
    "less": _Operation("{} < {}", np.less, True),
    "less_equal": _Operation("{} <= {}", np.less_equal, True),
    "equal": _Operation("{} == {}", np.equal, True),
    "isnan": _Operation("{0} != {0}", np.isnan, True),
    "isfinite": _Operation("fabs({}) <= 1.7976931348623157e308", np.isfinite, True),
    "logical_and": _Operation("{} && {}", np.logical_and, True),
    "logical_or": _Operation("{} || {}", np.logical_or, True),
    "logical_not": _Operation("!{}", np.logical_not, True),
}

_HEAD: Final = """
#ifndef __CUDACC__
#include <math.h>
#endif
__device__ inline double larger(double a, double b) { return a >= b || a != a ? a : b; }
__device__ inline double lesser(double a, double b) { return a <= b || a != a ? a : b; }
__device__ inline double sign(double a) { return a > 0 ? 1.0 : a < 0 ? -1.0 : a; }
"""


@dataclass
class _Trace:
    """Terms by what they are: an operation and the numbers of its terms, an argument, or what is known."""

    numbers: dict[tuple[Any, ...], int] = field(default_factory=dict)
    terms: list[tuple[Any, ...]] = field(default_factory=list)

    def term(self, *said: Any) -> int:
        if said not in self.numbers:
            self.numbers[said] = len(self.terms)
            self.terms.append(said)
        return self.numbers[said]

    def known(self, value: float | bool) -> int:
        if isinstance(value, (bool, np.bool_)):
            return self.term("truth", bool(value))
        return self.term("number", float(value).hex())

    def value(self, number: int) -> float | bool | None:
        """None of what is not known."""
        kind, *said = self.terms[number][:2]
        if kind == "truth":
            return bool(said[0])
        return float.fromhex(said[0]) if kind == "number" else None

    def made(self, name: str, *of: int) -> int:
        values = [self.value(each) for each in of]
        if all(value is not None for value in values):
            with np.errstate(all="ignore"):
                return self.known(_OPERATIONS[name].of(*values).item())
        simpler = _simpler(name, of, values)
        return self.term(name, *of) if simpler is None else simpler

    def truth(self, number: int) -> bool:
        kind, *said = self.terms[number]
        return (
            kind == "truth"
            or (kind == "argument" and said[1])
            or (kind in _OPERATIONS and _OPERATIONS[kind].truth)
        )

    def text(self, number: int) -> str:
        """A term as others name it."""
        kind, *said = self.terms[number]
        if kind == "truth":
            return str(said[0]).lower()
        if kind == "number":
            value = float.fromhex(said[0])
            if value != value or abs(value) == np.inf:
                return f"({'-' if value < 0 else ''}{'0.0 / zero' if value != value else '1.0 / zero'})"
            return f"({said[0]})"
        return f"{'a' if kind == 'argument' else 't'}{said[0] if kind == 'argument' else number}"

    def lines(self, wanted: set[int]) -> list[str]:
        """All that these are made of, in order."""
        needed, waiting = set[int](), [*wanted]
        while waiting:
            number = waiting.pop()
            if number not in needed and self.terms[number][0] in _OPERATIONS:
                needed.add(number)
                waiting += self.terms[number][1:]
        return [
            f"const {'bool' if self.truth(number) else 'double'} t{number} = "
            + _OPERATIONS[self.terms[number][0]].text.format(*map(self.text, self.terms[number][1:]))
            + ";"
            for number in sorted(needed)
        ]


def _simpler(name: str, of: tuple[int, ...], values: list[Any]) -> int | None:
    """A term that it is for any numbers, if there is one."""
    match name, of, values:
        case (("maximum" | "minimum"), (one, other), _) if one == other:
            return one
        case "multiply", (one, _), (_, 1.0):
            return one
        case "multiply", (_, one), (1.0, _):
            return one
        case "where", (_, one, other), (chosen, _, _) if chosen is not None or one == other:
            return one if chosen or one == other else other
        case (("logical_and" | "logical_or"), (one, other), (known, also)) if (
            known is not None or also is not None
        ):
            (known, rest) = (also, one) if known is None else (known, other)
            return None if known == (name == "logical_or") else rest
    return None


class Symbol:
    """An entry, or (``cells``) some of them along a first axis."""

    shape: Final = ()

    def __init__(self, trace: _Trace, numbers: tuple[int, ...], cells: bool) -> None:
        self._trace, self.numbers, self._cells = trace, numbers, cells

    def __array_namespace__(self) -> Any:
        return _Namespace

    def __add__(self, other: Any) -> Symbol:
        return _applied("add", self, other)

    def __radd__(self, other: Any) -> Symbol:
        return _applied("add", other, self)

    def __sub__(self, other: Any) -> Symbol:
        return _applied("subtract", self, other)

    def __rsub__(self, other: Any) -> Symbol:
        return _applied("subtract", other, self)

    def __mul__(self, other: Any) -> Symbol:
        return _applied("multiply", self, other)

    def __rmul__(self, other: Any) -> Symbol:
        return _applied("multiply", other, self)

    def __truediv__(self, other: Any) -> Symbol:
        return _applied("divide", self, other)

    def __rtruediv__(self, other: Any) -> Symbol:
        return _applied("divide", other, self)

    def __pow__(self, exponent: int) -> Symbol:
        if exponent != 2:
            raise TypeError("float_power has other exponents than 2")
        return self * self

    def __neg__(self) -> Symbol:
        return _applied("negative", self)

    def __abs__(self) -> Symbol:
        return _applied("abs", self)

    def __lt__(self, other: Any) -> Symbol:
        return _applied("less", self, other)

    def __le__(self, other: Any) -> Symbol:
        return _applied("less_equal", self, other)

    def __gt__(self, other: Any) -> Symbol:
        return _applied("less", other, self)

    def __ge__(self, other: Any) -> Symbol:
        return _applied("less_equal", other, self)

    def __eq__(self, other: object) -> Symbol:  # type: ignore[override]
        return _applied("equal", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other: Any) -> Symbol:
        return _applied("logical_and", self, other)

    def __rand__(self, other: Any) -> Symbol:
        return _applied("logical_and", other, self)

    def __or__(self, other: Any) -> Symbol:
        return _applied("logical_or", self, other)

    def __invert__(self) -> Symbol:
        return _applied("logical_not", self)

    def __getitem__(self, at: int | slice) -> Symbol:
        if isinstance(at, slice):
            return Symbol(self._trace, self.numbers[at], self._cells)
        return Symbol(self._trace, (self.numbers[at],), False)

    def __setitem__(self, at: int, value: Symbol) -> None:
        (number,), numbers = value.numbers, list(self.numbers)
        numbers[at] = number
        self.numbers = tuple(numbers)

    def reshape(self, *_: int) -> Symbol:
        return self

    def min(self, axis: int) -> Symbol:
        return self._together("minimum")

    def max(self, axis: int) -> Symbol:
        return self._together("maximum")

    def all(self, axis: int | None = None) -> Symbol:
        return self._together("logical_and")

    def _together(self, name: str) -> Symbol:
        made, trace = self.numbers[0], self._trace
        for each in self.numbers[1:]:
            made = trace.made(name, made, each)
        return Symbol(trace, (made,), False)

    @property
    def flat(self) -> list[Symbol]:
        return [Symbol(self._trace, (each,), False) for each in self.numbers]

    def _known(self) -> float | bool:
        (number,) = self.numbers
        value = self._trace.value(number)
        if value is None:
            raise TypeError("a kernel's number is not known when it is written")
        return value

    def __bool__(self) -> bool:
        return bool(self._known())

    def __float__(self) -> float:
        return float(self._known())


def _applied(name: str, *of: Any) -> Symbol:
    symbols = [each for each in of if isinstance(each, Symbol)]
    trace, count = symbols[0]._trace, max(len(each.numbers) for each in symbols)
    columns = [
        (each.numbers * count if len(each.numbers) == 1 else each.numbers)
        if isinstance(each, Symbol)
        else (trace.known(each),) * count
        for each in of
    ]
    made = tuple(trace.made(name, *each) for each in zip(*columns, strict=True))
    return Symbol(trace, made, any(each._cells for each in symbols))


def _named(name: str) -> Callable[..., Symbol]:
    return staticmethod(lambda *of: _applied(name, *of))


class _Namespace:
    """numpy's functions, of symbols."""

    exp, log, log1p = _named("exp"), _named("log"), _named("log1p")
    tanh, sqrt = _named("tanh"), _named("sqrt")
    floor, ceil, rint, sign = _named("floor"), _named("ceil"), _named("rint"), _named("sign")
    maximum, minimum, float_power = _named("maximum"), _named("minimum"), _named("float_power")
    where, isnan, isfinite, nextafter = (
        _named("where"),
        _named("isnan"),
        _named("isfinite"),
        _named("nextafter"),
    )

    @staticmethod
    def clip(x: Symbol, low: Any, high: Any) -> Symbol:
        return _applied("minimum", _applied("maximum", x, low), high)

    @staticmethod
    def stack(symbols: list[Symbol]) -> Symbol:
        """Side by side."""
        return Symbol(symbols[0]._trace, tuple(number for each in symbols for number in each.numbers), True)

    @staticmethod
    def full_like(like: Symbol, value: float) -> Symbol:
        return Symbol(like._trace, (like._trace.known(float(value)),) * len(like.numbers), like._cells)

    @staticmethod
    def zeros_like(like: Symbol) -> Symbol:
        return _Namespace.full_like(like, 0.0)

    @staticmethod
    def ones_like(like: Symbol) -> Symbol:
        return _Namespace.full_like(like, 1.0)

    @staticmethod
    def logaddexp(x: Any, y: Any) -> Symbol:
        """By the larger, and the logarithm of what is added to one: a few units in the last place."""
        large, small = _applied("maximum", x, y), _applied("minimum", x, y)
        return large + _applied("log1p", _applied("exp", small - large))


def run(function: Function, of: tuple[Any, ...], arrays: tuple[Array, ...], like: Any) -> tuple[Array, ...]:
    """``function(*of, *arrays)`` by one kernel, float64 arrays of the shape that ``arrays``, of float64 and
    booleans, broadcast to. ``like``: a namespace whose ``empty`` makes them on the current device."""
    layouts = tuple(map(of_array, arrays))
    plan = _planned(Device.of(arrays[0]), function, of, layouts)
    made = tuple(like.empty(plan.shape) for _ in range(plan.outputs))
    if plan.blocks:
        given = (
            each if whole else each[(slice(0, 1),) * each.ndim]
            for each, whole in zip(arrays, plan.whole, strict=True)
        )
        plan.module.launch(plan.name, plan.blocks, _THREADS, plan.layout, plan.total, *given, *made)
    return made


class _Plan(NamedTuple):
    """``whole``: which arrays lie as C has them; of others a kernel is given the first entry."""

    shape: tuple[int, ...]
    outputs: int
    whole: tuple[bool, ...]
    total: np.int64
    blocks: int
    layout: Array
    module: Any
    name: str


@cache
def _planned(device: Device, function: Function, of: tuple[Any, ...], layouts: tuple[Layout, ...]) -> _Plan:
    shape = np.broadcast_shapes(*(own for own, _, _ in layouts))
    total = math.prod(shape)
    if total >> 31:
        raise ValueError("a kernel of entries takes fewer than 2^31")
    extents, walked = joined(shape, [steps(each, shape) for each in layouts])
    text, name, outputs = _source(function, of, tuple(kind == "?" for _, _, kind in layouts), len(extents))
    return _Plan(
        shape,
        outputs,
        tuple(map(whole, layouts)),
        np.int64(total),
        -(-total // _THREADS),
        device.upload(np.array([*extents, *(step for each in walked for step in each), 0], np.int64)),
        modules.made(device, text),
        name,
    )


@cache
def _source(
    function: Function, of: tuple[Any, ...], truths: tuple[bool, ...], rank: int
) -> tuple[str, str, int]:
    """A kernel's text, its name, and how many arrays it makes."""
    trace, results = _traced(function, of, truths)
    kinds = ["bool" if truth else "double" for truth in truths]
    parameters = [
        "const long long* layout",
        "long long total",
        *(f"const {kind}* in{place}" for place, kind in enumerate(kinds)),
        *(f"double* out{place}" for place in range(len(results))),
    ]
    lines = [
        "const long long entry = blockIdx.x * (long long)blockDim.x + threadIdx.x;",
        "if (entry >= total) return;",
        "unsigned left = unsigned(entry);",
        *(f"long long at{place} = 0;" for place in range(len(truths))),
    ]
    for axis in reversed(range(rank)):
        lines += [
            f"const unsigned extent{axis} = unsigned(layout[{axis}]), here{axis} = left % extent{axis};",
            f"left /= extent{axis};",
            *(
                f"at{place} += here{axis} * layout[{rank * (1 + place) + axis}];"
                for place in range(len(truths))
            ),
        ]
    lines += ["const double zero = 0.0;"]
    lines += [f"const {kind} a{place} = in{place}[at{place}];" for place, kind in enumerate(kinds)]
    lines += trace.lines(set(results))
    lines += [f"out{place}[entry] = {trace.text(number)};" for place, number in enumerate(results)]
    text, name = _kernel(_HEAD, "fused", function, parameters, lines)
    return text, name, len(results)


def _traced(function: Function, of: tuple[Any, ...], truths: tuple[bool, ...]) -> tuple[_Trace, list[int]]:
    """Terms, and which of them are made."""
    trace = _Trace()
    symbols = [
        Symbol(trace, (trace.term("argument", place, truth),), False) for place, truth in enumerate(truths)
    ]
    made = function(*of, *symbols)
    return trace, [number for (number,) in (each.numbers for each in made)]


def _kernel(
    head: str, kind: str, function: Function, parameters: list[str], lines: list[str], limits: str = ""
) -> tuple[str, str]:
    """Its text, and its name."""
    name = f"{kind}_{''.join(each for each in function.__name__ if each.isalnum() or each == '_')}"
    body = "\n  ".join(lines)
    return (
        f'{head}\nextern "C" __global__ void {limits} {name}({", ".join(parameters)}) {{\n  {body}\n}}\n',
        name,
    )


_NORMS: Final = {"inf": 0, "1": 1, "2": 2}
_RESIDENT: Final = 6
"""Blocks of a multiprocessor, so that enough rows are on their way."""

_MANY: Final = 1 << 16
"""Rows of which there are enough for all of a card, though a warp has eight of them."""


def run_rows(
    function: Function,
    of: tuple[Any, ...],
    slope: Array,
    balls: tuple[Array, str, int],
    arrays: tuple[Array, ...],
    like: Any,
) -> tuple[Array, ...]:
    """``function(*of, *arrays, most)`` by one kernel, which reads slope [n, *any, width] once: arrays are of
    rows [n, *any], and ``most`` is what rows come to over ``balls``, as ``zenserve.gpu.intervals.reach`` has
    it by their radius [n], norm and own coordinates. What is made first is what rows are multiplied by, and
    in its place are these rows."""
    device, shape, width = Device.of(slope), slope.shape[:-1], slope.shape[-1]
    (radius, norm, own), rows = balls, math.prod(shape)
    text, name, outputs = _row_source(function, of, len(arrays))
    made = like.empty(slope.shape), *(like.empty(shape) for _ in range(outputs - 1))
    groups = 1 if rows < _MANY else 2
    sizes = map(np.int64, (rows, max(1, rows // len(slope)), width, own, _NORMS[norm], groups))
    given = (slope, radius, *map(like.ascontiguousarray, arrays), *made)
    modules.made(device, text).launch(name, -(-rows // (16 * groups)), _THREADS, *sizes, *given)
    return made


@cache
def _row_source(function: Function, of: tuple[Any, ...], count: int) -> tuple[str, str, int]:
    """As ``_source``: four or eight rows by a warp (source/norms.hpp), each of the first lanes has one."""
    trace, (factor, *results) = _traced(function, of, (False,) * (count + 1))
    parameters = [
        *(f"long long {each}" for each in ("rows", "rows_of_one", "width", "own", "norm", "groups")),
        "const double* slope",
        "const double* radius",
        *(f"const double* in{place}" for place in range(count)),
        "double* scaled",
        *(f"double* out{place}" for place in range(len(results))),
    ]
    lines = [
        "const long long first = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / 32 * each * groups;",
        "if (first >= rows) return;",
        "const int lane = threadIdx.x % 32;",
        "const bool has = lane < each * groups && first + lane < rows;",
        "const long long row = has ? first + lane : first;",
        *(f"const double a{place} = in{place}[row];" for place in range(count)),
        "const double reach = norm ? radius[row / rows_of_one] : 1;",
        "double sum = 0;",
        "for (int group = 0; group < groups; group++) {",
        "  const double* at[each];",
        "  for (int i = 0; i < each; i++) {",
        "    const long long there = first + each * group + i;",
        "    at[i] = slope + (there < rows ? there : first) * width;",
        "  }",
        "  const double here = measure(at, width, own, norm);",
        "  sum = lane / each == group ? here : sum;",
        "}",
        f"const double zero = 0.0, a{count} = sum * reach;",
        *trace.lines({factor, *results}),
        "for (int group = 0; group < groups; group++) {",
        "  const long long there = first + each * group, start = there * width;",
        f"  const double by = {trace.text(factor)};",
        "  if (there < rows) scale(slope + start, scaled + start, by, each * group, rows - there, width);",
        "}",
        "if (!has) return;",
        *(f"out{place}[row] = {trace.text(number)};" for place, number in enumerate(results)),
    ]
    head = _HEAD + (modules.SOURCES / "norms.hpp").read_text()
    text, name = _kernel(
        head, "rows", function, parameters, lines, f"__launch_bounds__({_THREADS}, {_RESIDENT})"
    )
    return text, name, 1 + len(results)
