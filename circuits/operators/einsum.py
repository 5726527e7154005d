"""Sums of products by Einstein's convention: axes are moved until they are products of matrices."""

from __future__ import annotations

import math
import re
import string
from dataclasses import replace
from typing import Final

import numpy as np

from zenserve.circuits.graphs.types import Shape
from zenserve.circuits.onnx.constants import Constant
from zenserve.circuits.onnx.step import Operator, Step, Value
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.matmul import floats, product, reshaped, shape_of
from zenserve.circuits.operators.moving import rearranged
from zenserve.circuits.operators.reduce import SUM, over_axes
from zenserve.relations.integers import IntArray

# Letters of all inputs together.
_MOST: Final = 40


def _einsum(step: Step) -> Value:
    parts, out = _parsed(step)
    made, letters = _own(step, 0, parts, out)
    for at in range(1, len(parts)):
        other, behind = _own(step, at, parts, out)
        wanted = set(out).union(*parts[at + 1 :])
        kept = "".join(each for each in dict.fromkeys(letters + behind) if each in wanted)
        made, letters = _contracted(step, (made, other), (letters, behind), kept), kept
    return _permuted(step, made, letters, out)


def _own(step: Step, position: int, parts: list[str], out: str) -> tuple[Value, str]:
    """An input, of axes of one letter the diagonal, without those that nothing else has, and its letters."""
    value, letters = floats(step, position), parts[position]
    if len(letters) != len(shape_of(value)):
        raise step.refuse("shape", f"names {len(letters)} axes of shape {[*shape_of(value)]}")
    once = "".join(dict.fromkeys(letters))
    if once != letters:
        sizes = [
            {size for at, size in zip(letters, shape_of(value), strict=True) if at == each} for each in once
        ]
        if any(len(each) > 1 for each in sizes):
            raise step.refuse("shape", f"takes the diagonal {letters!r} of shape {[*shape_of(value)]}")

        def diagonal(places: IntArray) -> IntArray:
            found: IntArray = np.einsum(places, [once.index(each) for each in letters], [*range(len(once))])
            return found

        value = rearranged(replace(step, inputs=[value]), diagonal, 0)
    others = set(out).union(*(part for at, part in enumerate(parts) if at != position))
    axes = [at for at, each in enumerate(once) if each not in others]
    kept = "".join(each for each in once if each in others)
    if not axes:
        return value, once
    if isinstance(value, Constant):
        return replace(value, array=np.asarray(value.array.sum(axis=tuple(axes)))), kept
    return over_axes(replace(step, inputs=[value]), axes, False, SUM), kept


def _contracted(step: Step, values: tuple[Value, Value], parts: tuple[str, str], out: str) -> Value:
    """Of two tensors, whose axes are all in ``out`` or in both."""
    (left, right), (a, b) = values, parts
    sizes: dict[str, int] = {}
    for letters, value in zip(parts, values, strict=True):
        for letter, size in zip(letters, shape_of(value), strict=True):
            if sizes.setdefault(letter, size) != size:
                raise step.refuse("shape", f"has two sizes for {letter!r}, {sizes[letter]} and {size}")
    both = [each for each in a if each in b]
    groups, inner = (
        "".join(each for each in both if each in out),
        "".join(each for each in both if each not in out),
    )
    rows, columns = ("".join(each for each in one if each not in other) for one, other in ((a, b), (b, a)))
    matrices = [
        reshaped(step, _permuted(step, value, letters, order), tuple(_size(sizes, each) for each in axes))
        for value, letters, order, axes in (
            (left, a, groups + rows + inner, (groups, rows, inner)),
            (right, b, groups + inner + columns, (groups, inner, columns)),
        )
    ]
    made = product(step, *matrices)
    whole: Shape = tuple(sizes[each] for each in groups + rows + columns)
    return _permuted(step, reshaped(step, made, whole), groups + rows + columns, out)


def _parsed(step: Step) -> tuple[list[str], str]:
    """The letters of each input, and of the output; an ellipsis is made letters of its own."""
    equation = step.attributes.get("equation", b"").decode(errors="replace").replace(" ", "")
    left, arrow, out = equation.partition("->")
    parts, wholes = left.split(","), [step.whole(at) for at in range(len(step.inputs))]
    if len(parts) == len(wholes):
        rest = [
            len(whole) - len(part.replace("...", "")) if "..." in part else 0
            for part, whole in zip(parts, wholes, strict=True)
        ]
        most = max(0, *rest)
        spare = "".join(each for each in string.ascii_letters if each not in equation)[:most]
        parts = [
            part.replace("...", spare[most - count :], 1) if count >= 0 else part
            for part, count in zip(parts, rest, strict=True)
        ]
        out = out.replace("...", spare, 1)
        if not arrow:
            letters = "".join(parts)
            single = sorted(each for each in set(letters) if letters.count(each) == 1 and each not in spare)
            out = spare + "".join(single)
    letters = "".join(parts)
    plain = re.fullmatch(r"[A-Za-z,]*", ",".join(parts) + out) and len(parts) == len(wholes)
    if not (plain and set(out) <= set(letters) and len(out) == len(set(out)) and len(letters) <= _MOST):
        raise step.refuse(
            "unsupported_attribute",
            f"has the equation {equation[:40]!r}; it takes as many terms of letters as inputs, and an output "
            "of some of these, none twice",
        )
    return parts, out


def _permuted(step: Step, value: Value, letters: str, order: str) -> Value:
    if letters == order:
        return value
    axes = [letters.index(each) for each in order]
    return rearranged(replace(step, inputs=[value]), lambda places: places.transpose(axes), 0)


def _size(sizes: dict[str, int], letters: str) -> int:
    return math.prod(sizes[each] for each in letters)


ENTRY = Entry(onnx={"Einsum": Operator(_einsum, {"equation": "s"}, 1, 8)})
