"""Transposed convolutions, as plain ones: no zeros are put between the inputs.

Output u of the full, unpadded result is ``sum_k weight[k] x[i]`` over all ``u = stride i + k``. The taps of
``u = stride t + r`` are ``k = stride j + r`` for ``i = t - j``: each remainder r, a phase, is a convolution
by its own taps, in their opposite order. All phases are output channels of one, whose entries are then
moved to where they belong. Where the stride does not divide the kernel, some phases have a tap of 0.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from zenserve.circuits.graphs.node import dims
from zenserve.circuits.onnx.constants import Constant
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.convolution import ATTRIBUTES, Conv, kernel_of
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.moving import picked
from zenserve.circuits.operators.weighted import declared_for_rows
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import Sizes


class _Axis(NamedTuple):
    """One axis of the plane. ``first``: of the full result's entries the first that is wanted."""

    size: int
    kernel: int
    stride: int
    dilation: int
    first: int
    out: int

    @property
    def taps(self) -> int:
        """Of a phase."""
        return -(-self.kernel // self.stride)

    @property
    def _reach(self) -> int:
        """The distance from a position to the entry that its last tap reads."""
        return self.dilation * (self.taps - 1)

    @property
    def padding(self) -> tuple[int, int]:
        """Of the plain convolution, so that it has all positions that are wanted."""
        last = (self.first + self.out - 1) // self.stride
        return max(0, self._reach - self.first // self.stride), max(0, last - self.size + 1)

    @property
    def positions(self) -> int:
        """Of the plain convolution."""
        return self.size + sum(self.padding) - self._reach

    @property
    def places(self) -> tuple[IntArray, IntArray]:
        """The phase and the position of each output."""
        entry = np.arange(self.first, self.first + self.out)
        return entry % self.stride, entry // self.stride - (self._reach - self.padding[0])


def _conv_transpose(step: Step) -> Value:
    weight, shape = step.weights(1), step.building.shapes[step.floats()]
    kernel, groups = kernel_of(step, weight), step.attributes.get("group", 1)
    fits = len(shape) == 1 + len(kernel) and groups >= 1 and shape[0] == len(weight.array)
    if not fits or shape[0] % groups or not weight.array.size:
        raise step.refuse(
            "shape",
            f"has a weight of shape {weight.array.shape} in {groups} groups for shape [batch, {dims(shape)}]",
        )
    axes = _axes(step, shape[1:], kernel)
    weight, axes = _with_gaps(step, weight, axes)
    phases, outputs = math.prod(axis.stride for axis in axes), groups * weight.array.shape[1]
    # Sizes are counted before anything is made.
    step.spend(math.prod(weight.array.shape[:2]) * math.prod(axis.taps * axis.stride for axis in axes))
    step.spend(outputs * math.prod(axis.out for axis in axes))
    bias = step.weights(2).array if step.has(2) else np.zeros(outputs)
    if bias.shape != (outputs,):
        raise step.refuse("shape", f"has a bias of shape {bias.shape} for {outputs} outputs")
    rows = _phased(weight, groups, axes)
    befores, afters = zip(*(axis.padding for axis in axes), strict=True)
    dilation = tuple(axis.dilation for axis in axes)
    made = step.emit(
        Conv,
        (step.floats(),),
        rows.array,
        np.repeat(bias, phases),
        (1,) * len(axes),
        (*befores, *afters),
        groups,
        declared_for_rows(rows),
        dilation if max(dilation) > 1 else (),
    )
    sizes = (outputs, *(axis.stride for axis in axes), *(axis.positions for axis in axes))
    places = np.arange(math.prod(sizes)).reshape(sizes)
    phase, position = zip(*(axis.places for axis in axes), strict=True)
    grid, at = np.ix_(*phase), np.ix_(*position)
    return picked(
        step, places[:, *grid, *at][np.newaxis], [Data(made, shape=(1, *step.building.shapes[made]))]
    )


def _with_gaps(step: Step, weight: Constant, axes: list[_Axis]) -> tuple[Constant, list[_Axis]]:
    """Along axes that have a stride, too, a dilation is zeros between the kernel's taps."""
    array, plain = weight.array, list[_Axis]()
    for at, axis in enumerate(axes, start=2):
        if axis.stride > 1 and axis.dilation > 1:
            size = axis.dilation * (axis.kernel - 1) + 1
            step.spend(array.size // axis.kernel * size)
            grown = np.zeros((*array.shape[:at], size, *array.shape[at + 1 :]))
            np.moveaxis(grown, at, 0)[:: axis.dilation] = np.moveaxis(array, at, 0)
            array, axis = grown, axis._replace(kernel=size, dilation=1)
        plain.append(axis)
    return replace(weight, array=array), plain


def _phased(weight: Constant, groups: int, axes: list[_Axis]) -> Constant:
    """weight[channels, outputs / groups, *kernel] as that of the plain convolution."""
    channels, outputs, *kernel = weight.array.shape
    grown = [(0, axis.taps * axis.stride - size) for axis, size in zip(axes, kernel, strict=True)]
    array = np.pad(weight.array, [(0, 0), (0, 0), *grown])
    split = [size for axis in axes for size in (axis.taps, axis.stride)]
    array = array.reshape(groups, channels // groups, outputs, *split)
    taps, phases = range(3, array.ndim, 2), range(4, array.ndim, 2)
    array = np.flip(array, tuple(taps)).transpose(0, 2, *phases, 1, *taps)
    count = math.prod(axis.stride for axis in axes)
    array = array.reshape(-1, channels // groups, *(axis.taps for axis in axes))
    declared = weight.declared
    if declared is None or not declared.scale.ndim:
        return replace(weight, array=array)
    if weight.axis != 1:
        return replace(weight, array=array, axis=1)
    scale = np.repeat(np.tile(declared.scale, groups), count)
    zero = np.repeat(np.tile(declared.zero_point, groups), count)
    return replace(weight, array=array, declared=replace(declared, scale=scale, zero_point=zero), axis=0)


def _axes(step: Step, plane: Sizes, kernel: Sizes) -> list[_Axis]:
    """Return the parameters of each axis that the attributes ask for. Raises ``ModelError``."""
    rank, said = len(kernel), step.attributes
    stride, dilation = said.get("strides", [1] * rank), said.get("dilations", [1] * rank)
    pads, more = said.get("pads", [0] * 2 * rank), said.get("output_padding", [0] * rank)
    wanted = said.get("output_shape", [0] * rank)[-rank:]
    if any(len(sizes) != rank for sizes in (stride, dilation, more, wanted)) or len(pads) != 2 * rank:
        raise step.refuse(
            "shape", f"needs {rank} strides, dilations and paddings of its output, {2 * rank} pads"
        )
    if min(*stride, *dilation, *kernel) < 1 or min(*pads, *more, *wanted) < 0:
        raise step.refuse(
            "shape", f"has strides {stride}, dilations {dilation}, pads {pads} or sizes below 0"
        )
    mode = said.get("auto_pad", b"NOTSET")
    if mode not in (b"", b"NOTSET", b"VALID", b"SAME_UPPER", b"SAME_LOWER"):
        raise step.refuse("unsupported_attribute", f"has auto_pad {mode[:20]!r}; use explicit pads")
    axes = []
    for axis, size in enumerate(plane):
        whole = stride[axis] * (size - 1) + more[axis] + dilation[axis] * (kernel[axis] - 1) + 1
        first, last = (0, 0) if mode == b"VALID" else (pads[axis], pads[axis + rank])
        length = wanted[axis] or (size * stride[axis] if mode.startswith(b"SAME") else 0)
        if length:
            spare = whole - length
            if wanted[axis] and -max(stride[axis], dilation[axis]) < spare < 0:
                # As much more at the end.
                whole, spare = length, 0
            if spare < 0:
                raise step.refuse(
                    "shape",
                    f"makes {whole} entries along an axis where {length} are wanted; use output_padding",
                )
            half = spare // 2
            first, last = (half, spare - half) if mode == b"SAME_UPPER" else (spare - half, half)
        out = whole - first - last
        if out < 1:
            raise step.refuse("shape", f"has pads {pads} that leave nothing of {whole} entries")
        axes.append(_Axis(size, kernel[axis], stride[axis], dilation[axis], first, out))
    return axes


_TRANSPOSED = {**ATTRIBUTES, "output_padding": "ints", "output_shape": "ints"}

ENTRY = Entry(onnx={"ConvTranspose": Operator(_conv_transpose, _TRANSPOSED, 2, 3)})
