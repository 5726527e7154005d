"""Sums of products by Einstein's convention: axes are moved until they are products of matrices."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from circuits.graphs.types import Shape
from circuits.onnx.step import Operator, Step, Value
from circuits.operators.entry import Entry
from circuits.operators.matmul import floats, product, reshaped, shape_of
from circuits.operators.moving import rearranged


def _einsum(step: Step) -> Value:
    parts, out = _parsed(step)
    values = [floats(step, position) for position in range(len(step.inputs))]
    sizes: dict[str, int] = {}
    for letters, value in zip(parts, values, strict=True):
        if len(letters) != len(shape_of(value)):
            raise step.refuse("shape", f"names {len(letters)} axes of shape {[*shape_of(value)]}")
        for letter, size in zip(letters, shape_of(value), strict=True):
            if sizes.setdefault(letter, size) != size:
                raise step.refuse("shape", f"has two sizes for {letter!r}, {sizes[letter]} and {size}")
    if len(values) == 1:
        return _permuted(step, values[0], parts[0], out)
    (left, right), (a, b) = values, parts
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
    """The letters of each input, and of the output."""
    equation = step.attributes.get("equation", b"").decode(errors="replace").replace(" ", "")
    left, arrow, out = equation.partition("->")
    parts = left.split(",")
    letters = "".join(parts)
    if not arrow:
        out = "".join(sorted(each for each in set(letters) if letters.count(each) == 1))
    plain = re.fullmatch(r"[A-Za-z,]*", left + out) and len(parts) == len(step.inputs)
    once = all(len(set(each)) == len(each) for each in (*parts, out))
    kept = set(out) | (set(parts[0]) & set(parts[-1])) if len(parts) > 1 else set(out)
    if not (plain and once and set(out) <= set(letters) == kept and len(out) == len(set(out))):
        raise step.refuse(
            "unsupported_attribute",
            f"has the equation {equation[:40]!r}; it takes one tensor or two, no axis twice in either, and "
            "sums over axes of both",
        )
    return parts, out


def _permuted(step: Step, value: Value, letters: str, order: str) -> Value:
    if letters == order:
        return value
    axes = [letters.index(each) for each in order]
    return rearranged(replace(step, inputs=[value]), lambda places: places.transpose(axes), 0)


def _size(sizes: dict[str, int], letters: str) -> int:
    return math.prod(sizes[each] for each in letters)


ENTRY = Entry(onnx={"Einsum": Operator(_einsum, {"equation": "s"}, 1, 2)})
