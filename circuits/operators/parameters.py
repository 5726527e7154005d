"""Functions of each entry and of a number of the file's beside it: Pow, Mod, BitShift. Entries with the same
number are one table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from zenserve.circuits.graphs import formula
from zenserve.circuits.onnx.constants import WHOLE
from zenserve.circuits.onnx.naming import require_finite, where
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.activation import TRUNCATED, Activation, wrapped
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.moving import broadcast, picked

_MOST: Final = 256
"""Numbers that differ: each is a table."""
_MOST_WRAPPED: Final = 32
"""Bits of integers that may reach beyond their type."""


def with_numbers(step: Step, made: Callable[[str, float], str]) -> Data:
    """``made`` of the typed tensor of an input that is computed and of a number, for each entry and the
    number beside it in the other input, a constant."""
    at = 0 if step.is_data(0) else 1
    data, numbers = Data(step.floats(at), shape=step.whole(at)), step.plain(1 - at).array
    require_finite(f"the constant of {where(step.node)}", numbers)
    try:
        shape = np.broadcast_shapes(step.whole(at), numbers.shape)
    except ValueError:
        raise step.refuse("shape", f"combines the shapes {[*step.whole(0)]} and {[*step.whole(1)]}") from None
    known, which = np.unique(numbers, return_inverse=True)
    kind = step.value(at).kind
    if len(known) > _MOST:
        raise step.refuse(
            "unsupported_operator",
            f"computes with {len(known)} different numbers; at most {_MOST} are tables of their own",
        )
    if len(known) == 1:
        one = replace(data, tensor=made(data.tensor, float(known[0])))
        return replace(broadcast(step, one, shape), kind=kind)
    step.spend(math.prod(shape))
    places = np.broadcast_to(np.arange(math.prod(data.shape or ())).reshape(data.shape or ()), shape).ravel()
    beside = np.broadcast_to(which.reshape(numbers.shape), shape).ravel()
    parts = []
    for index, number in enumerate(known):
        part = picked(step, places[beside == index][np.newaxis], [data])
        parts.append(replace(part, tensor=made(part.tensor, float(number))))
    back = np.argsort(np.argsort(beside, kind="stable"), kind="stable").reshape(shape)
    return replace(picked(step, back, parts), kind=kind)


def by_formula(step: Step, text: Callable[[float], str]) -> Data:
    """The function that ``text`` has for each number."""
    return with_numbers(step, lambda tensor, number: step.emit(Activation, (tensor,), text(number)))


def _pow(step: Step) -> Value:
    if step.is_data(0) and step.is_data(1):
        raise step.refuse(
            "unsupported_operator", "raises one computed tensor to another; either must be a constant"
        )
    if step.is_data(1):
        return replace(by_formula(step, lambda base: f"{formula.number(base)} ** x"), kind=step.value(0).kind)
    fraction = step.is_whole(0) and (step.plain(1).array != np.abs(np.rint(step.plain(1).array))).any()

    def text(power: float) -> str:
        made = f"x ** {formula.number(power)}"
        return formula.of(TRUNCATED, made) if fraction else made

    return by_formula(step, text)


def modulo(step: Step) -> Value:
    """By numbers of the file's: what is left has their sign, with ``fmod`` that of what is divided."""
    if step.attributes.get("fmod", 0):
        return by_formula(step, lambda divisor: f"fmod(x, {formula.number(divisor)})")

    def text(divisor: float) -> str:
        by = formula.number(divisor)
        return f"x - {by} * floor(x / {by} + 1e-09)"

    return by_formula(step, text)


def _shifted(step: Step) -> Value:
    """Integers times or by powers of two, down to a whole one. Bits beyond their type are lost: all of them
    where they are shifted by more places than there are, or by fewer than none."""
    direction = step.attributes.get("direction", b"")
    bits, signed = WHOLE.get(step.value(0).kind or 0, (0, False))
    if direction not in (b"LEFT", b"RIGHT") or not bits or not step.is_whole(1):
        raise step.refuse("unsupported_attribute", "must shift integers LEFT or RIGHT by integers")
    if not step.is_data(0) and step.is_data(1):
        raise step.refuse("unsupported_operator", "shifts constants by computed places; use Pow and Mul")

    def text(given: float) -> str:
        by = given if 0 <= given < bits else float(bits)
        if direction == b"RIGHT":
            return f"floor((x + 0.5) / {2.0**by})"
        shifted = f"x * {2.0**by if by < bits else 0.0}"
        return wrapped(shifted, bits, signed) if bits <= _MOST_WRAPPED else shifted

    return by_formula(step, text)


ENTRY = Entry(
    onnx={
        "BitShift": Operator(_shifted, {"direction": "s"}, 2, 2),
        "Pow": Operator(_pow, {}, 2, 2),
    }
)
