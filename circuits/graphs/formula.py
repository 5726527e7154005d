"""Functions of one real number as text, such as ``x * sigmoid(x)``: people read it, floats are made by it.

A formula has the variable ``x``, numbers, ``+ - * / **`` and the functions below. ``less`` and ``equal``
are 1 or 0, and ``where`` is its second argument where the first is 1, else the third.

Integers stand for all real numbers within half a step. Of such an ``x`` two numbers are equal where they are
so for some real number that it stands for, and then neither is less.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.types import FloatArray

LONGEST: Final = 900
"""Characters that a formula may have: fewer than open the 200 parentheses that Python's parser takes."""

# Two floats that are nearer are the same number, computed in two ways.
_ROUNDING: Final = 1e-9
# Of a step, with its ends.
_HALF: Final = 0.5 + 2.0**-20
_COMPARED: Final = re.compile(r"\b(less|equal)\(")
_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])
_quantile = np.vectorize(NormalDist().inv_cdf, otypes=[np.float64])


def _softplus(x: FloatArray) -> FloatArray:
    value: FloatArray = np.logaddexp(0.0, x)
    return value


def _sigmoid(x: FloatArray) -> FloatArray:
    value: FloatArray = np.exp(-_softplus(-x))
    return value


def _elu(x: FloatArray, alpha: float) -> FloatArray:
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


def _gelu_tanh(x: FloatArray) -> FloatArray:
    value: FloatArray = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return value


def _probit(x: FloatArray) -> FloatArray:
    """The normal distribution's quantiles."""
    value = np.where(x == 0, -np.inf, np.where(x == 1, np.inf, np.nan))
    inside = (x > 0) & (x < 1)
    if inside.any():
        value[inside] = _quantile(x[inside])
    return value


def _shrink(x: FloatArray, bias: float, lambd: float) -> FloatArray:
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0.0))


def _where(condition: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    return np.where(condition > 0.5, x, y)


FUNCTIONS: Final[Mapping[str, Callable[..., FloatArray]]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "ceil": np.ceil,
    "celu": lambda x, alpha: np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha)),
    "cos": np.cos,
    "cosh": np.cosh,
    "elu": _elu,
    "equal": lambda x, y: (np.abs(x - y) <= _ROUNDING).astype(np.float64),
    "erf": _erf,
    "exp": np.exp,
    "floor": np.floor,
    "gelu": lambda x: 0.5 * x * _erfc(-x / math.sqrt(2)),
    "gelu_tanh": _gelu_tanh,
    "hard_sigmoid": lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "leaky_relu": lambda x, alpha: np.where(x < 0, alpha * x, x),
    "less": lambda x, y: (x < y - _ROUNDING).astype(np.float64),
    "log": np.log,
    "max": np.maximum,
    "min": np.minimum,
    "fmod": np.fmod,
    "mish": lambda x: x * np.tanh(_softplus(x)),
    "probit": _probit,
    "round": np.rint,
    "selu": lambda x, alpha, gamma: gamma * _elu(x, alpha),
    "shrink": _shrink,
    "sigmoid": _sigmoid,
    "sign": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "softplus": _softplus,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "sqrt": np.sqrt,
    "swish": lambda x, alpha: x * _sigmoid(alpha * x),
    "tan": np.tan,
    "tanh": np.tanh,
    "where": _where,
    "thresholded_relu": lambda x, alpha: np.where(x > alpha, x, 0),
}

_OPERATORS: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: np.divide,
    ast.Pow: np.float_power,
}


def evaluate(formula: str, x: FloatArray, step: float | FloatArray = 0.0) -> FloatArray:
    """Its value at each ``x``, float64; NaN and infinities where it has none. ``step``: of the integers that
    ``x`` stands for, 0 where these are exact. Raises ``ValueError`` for a text that is no formula."""
    try:
        with np.errstate(all="ignore"):
            made = _value(_parsed(formula), x, step if _COMPARED.search(formula) else 0.0)
            value: FloatArray = np.broadcast_to(np.float64(made), x.shape)
    except (TypeError, RecursionError):  # other numbers of arguments, and too many parentheses
        raise ValueError(f"{formula[:80]!r} is no formula") from None
    return value


def number(value: float) -> str:
    """A finite number as part of a formula."""
    return repr(float(value)) if value >= 0 else f"({float(value)!r})"


def clipped(formula: str, low: float, high: float) -> str:
    """The formula's value, or the end that it lies beyond. Either may be infinite."""
    if math.isfinite(low):
        formula = f"max({formula}, {number(low)})"
    return f"min({formula}, {number(high)})" if math.isfinite(high) else formula


def of(formula: str, argument: str) -> str:
    """The formula with another one, in parentheses, for its ``x``."""
    return re.sub(r"\bx\b", f"({argument})", formula)


def plain(formula: str) -> str:
    """The formula without needless parentheses."""
    return ast.unparse(_parsed(formula))


@lru_cache(maxsize=256)
def _parsed(formula: str) -> ast.expr:
    if len(formula) > LONGEST:
        raise ValueError(f"a formula of {len(formula)} characters")
    try:
        return ast.parse(formula, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"{formula[:80]!r} is no formula") from None


def _value(node: ast.expr, x: FloatArray, step: float | FloatArray) -> Any:
    match node:
        case ast.Name(id="x"):
            return x
        case ast.Constant(value=float() as number):
            return np.float64(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, x, step)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, x, step), _value(right, x, step))
        case ast.Call(func=ast.Name(id="less" | "equal" as name), args=[left, right], keywords=[]):
            meets = _meets(left, right, x, step) if np.any(step) else False
            made = FUNCTIONS[name](_value(left, x, step), _value(right, x, step))
            return np.where(meets, float(name == "equal"), made)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            function = FUNCTIONS[name]
            # One argument more, and numpy would write into it.
            if not isinstance(function, np.ufunc) or len(arguments) == function.nin:
                return function(*(_value(argument, x, step) for argument in arguments))
    raise ValueError(f"{ast.unparse(node)[:80]!r} is no formula")


def _meets(left: ast.expr, right: ast.expr, x: FloatArray, step: float | FloatArray) -> NDArray[np.bool_]:
    """Return whether one expression passes through the other within half a step of ``x`` without a jump."""
    half = step * _HALF
    sides = (x - half, x, x + half)
    before, at, after = (_value(left, side, step) - _value(right, side, step) for side in sides)
    even = np.abs(at - (before + after) / 2) <= np.abs(after - before) / 4
    meets: NDArray[np.bool_] = (before * after < 0) & even
    return meets
