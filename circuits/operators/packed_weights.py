"""onnxruntime's layers whose weights have a few bits each: the floats that these stand for.

Each block of weights has its own scale, so that no type of integers has all of them: they are quantised anew.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np

from zenserve.circuits.graphs.types import FloatArray, Shape
from zenserve.circuits.onnx.constants import Constant, Element
from zenserve.circuits.onnx.step import Operator, Step, Value
from zenserve.circuits.operators.add import add
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.matmul import floats, product
from zenserve.circuits.operators.quantise_linear import spread
from zenserve.circuits.operators.selection import selected
from zenserve.relations.integers import IntArray

_BYTE: Final = 8
_WIDTHS: Final = (2, 4, 8)
# The numbers of bitsandbytes' types of four bits, by what stands for them.
_FP4: Final = (0.0, 0.0052083333, 2 / 3, 1.0, 1 / 3, 0.5, 1 / 6, 0.25)
_NF4: Final = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)
_TABLES: Final = {0: (*_FP4, *(-each for each in _FP4)), 1: _NF4}


def _unpacked(step: Step, position: int, bits: int, shape: Shape) -> IntArray:
    """A constant of bytes as integers of so many bits, lowest first, cut to ``shape`` along its last axis."""
    packed = step.plain(position)
    if packed.kind != Element.UINT8:
        raise step.refuse("tensor_type", f"needs its input {position} as bytes")
    (*rows, count), array = shape, packed.array
    width = -(-count * bits // _BYTE)
    if array.size != math.prod(rows) * width:
        raise step.refuse("shape", f"has {array.size} bytes for integers of {bits} bits of shape {[*shape]}")
    step.spend(math.prod(shape))
    flat = np.unpackbits(array.astype(np.uint8).reshape(*rows, width), axis=-1, bitorder="little")
    digits = flat[..., : flat.shape[-1] // bits * bits].reshape(*rows, -1, bits).astype(np.int64)
    made: IntArray = (digits << np.arange(bits)).sum(axis=-1)[..., :count]
    return made


def _width(step: Step) -> int:
    bits = int(step.attributes.get("bits", 4))
    if bits not in _WIDTHS:
        raise step.refuse("unsupported_attribute", f"has weights of {bits} bits; there are 2, 4 and 8")
    return bits


def _sizes(step: Step, *names: str) -> list[int]:
    sizes = [int(step.attributes.get(name, 0)) for name in names]
    if min(sizes) < 1:
        raise step.refuse("shape", f"has the sizes {sizes} as its {', '.join(names)}")
    return sizes


def _product_of_bits(step: Step) -> Value:
    """``A W^T + bias``, W [N, K] in blocks along K."""
    if step.attributes.get("weight_prepacked", 0):
        raise step.refuse(
            "unsupported_attribute", "has weights in the order of one device; save it with weight_prepacked=0"
        )
    step.building.measured |= step.attributes.get("accuracy_level", 0) > 1  # the input is rounded, too
    bits, (k, n, size) = _width(step), _sizes(step, "K", "N", "block_size")
    count = -(-k // size)
    scales = step.weights(2).array
    if scales.size != n * count:
        raise step.refuse("shape", f"has {scales.size} scales for {n * count} blocks")
    if step.has(3) and step.constant(3).kind == Element.UINT8:
        zero = _unpacked(step, 3, bits, (n, count)).astype(np.float64)
    elif step.has(3):
        zero = step.weights(3).array
    else:
        zero = np.full((n, count), float(1 << bits - 1))
    q = _unpacked(step, 1, bits, (n, count, size)).reshape(n, count * size)[:, :k]
    group = np.arange(k) // size
    if step.has(4):
        group = step.plain(4).array.ravel()[:k]
        if len(group) < k or group.min() < 0 or group.max() >= count:
            raise step.refuse("shape", f"names groups that are none of {count}")
    weight = (q - zero.reshape(n, count)[:, group]) * scales.reshape(n, count)[:, group]
    return _by(step, weight.T, bias=5)


def _product_of_four_bits(step: Step) -> Value:
    """``A W^T``, W [N, K] in blocks along all of it, of bitsandbytes' FP4 or NF4."""
    kind, (k, n, size) = step.attributes.get("quant_type", -1), _sizes(step, "K", "N", "block_size")
    if kind not in _TABLES or not step.attributes.get("transB", 1):
        raise step.refuse("unsupported_attribute", "must have the quant_type 0 or 1, and transB=1")
    scales = step.weights(2).array.ravel()
    if len(scales) != -(-n * k // size):
        raise step.refuse("shape", f"has {len(scales)} scales for {-(-n * k // size)} blocks")
    # The first of two is the upper half of the byte.
    q = _unpacked(step, 1, 4, (n * k + n * k % 2,)).reshape(-1, 2)[:, ::-1].ravel()[: n * k]
    weight = np.array(_TABLES[kind])[q] * scales.repeat(size)[: n * k]
    return _by(step, weight.reshape(n, k).T)


def _by(step: Step, weight: FloatArray, bias: int | None = None) -> Value:
    made = product(step, floats(step, 0), Constant(np.ascontiguousarray(weight), Element.FLOAT))
    if bias is None or not step.has(bias):
        return made
    return add(replace(step, inputs=[made, step.weights(bias)]))


def _gathered(step: Step) -> Value:
    """Rows of a table in blocks, as words are looked up."""
    data, scales, said = step.plain(0), step.weights(2).array, step.attributes
    bits, size = _width(step), int(said.get("block_size", 128))
    packed = data.kind == Element.UINT8
    shape = data.array.shape
    if packed:
        shape = (*shape[:-1], shape[-1] * _BYTE // bits)
    (axis,) = step.axes([said.get("quantize_axis", 1)], len(shape))
    whole = replace(step, attributes={"axis": axis, "block_size": size or shape[axis]})
    q = _unpacked(step, 0, bits, shape) if packed else data.array
    if step.has(3):
        zero = _unpacked(step, 3, bits, scales.shape) if packed else step.plain(3).array
    else:
        zero = np.full(scales.shape, 1 << bits - 1 if packed else 0)
    try:
        wide = [np.broadcast_to(each, _blocks(shape, axis, size)) for each in (scales, zero)]
    except ValueError:
        raise step.refuse("shape", f"has scales of shape {[*scales.shape]} for blocks of {size}") from None
    factors, zeros = (spread(whole, each, shape) for each in wide)
    table = Constant((q - zeros) * factors, Element.FLOAT)
    return selected(
        replace(step, inputs=[table, step.value(1)], attributes={"axis": said.get("gather_axis", 0)})
    )


def _blocks(shape: Shape, axis: int, size: int) -> Shape:
    return (*shape[:axis], -(-shape[axis] // (size or shape[axis])), *shape[axis + 1 :])


ENTRY = Entry(
    microsoft={
        "GatherBlockQuantized": Operator(
            _gathered, dict.fromkeys(("bits", "block_size", "gather_axis", "quantize_axis"), "i"), 3, 4
        ),
        "MatMulBnb4": Operator(
            _product_of_four_bits,
            dict.fromkeys(("K", "N", "block_size", "quant_type", "training_mode", "transB"), "i"),
            3,
            3,
        ),
        "MatMulNBits": Operator(
            _product_of_bits,
            dict.fromkeys(("K", "N", "accuracy_level", "bits", "block_size", "weight_prepacked"), "i"),
            3,
            6,
        ),
    }
)
