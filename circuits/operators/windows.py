"""What operators with windows that slide have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from circuits.graphs.node import Constants, Node, Written, dims, windows
from circuits.graphs.types import Shape
from circuits.onnx.step import Step
from relations.planes import Padding, Pair

POOL = {
    "auto_pad": "s",
    "ceil_mode": "i",
    "dilations": "ints",
    "kernel_shape": "ints",
    "pads": "ints",
    "strides": "ints",
}


@dataclass(frozen=True, eq=False)
class Pool(Node):
    """No window lies in the padding."""

    kernel: Pair
    stride: Pair
    padding: Padding = (0, 0, 0, 0)

    def shape(self, *shapes: Shape) -> Shape:
        fitting = windows(self, shapes[0], self.kernel, self.stride, self.padding)
        top, left, bottom, right = self.padding
        if max(top, bottom) >= self.kernel[0] or max(left, right) >= self.kernel[1]:
            raise self.refuse(f"slides {self.kernel} over a padding {self.padding} that holds whole windows")
        return shapes[0][0], *fitting

    def written(self, constant: Constants) -> Written:
        geometry = {"kernel_shape": self.kernel, "strides": self.stride, "pads": self.padding}
        return Written(self.operator(), (), geometry)


def sees_single_values(kernel: Sequence[int], stride: Pair, padding: Padding) -> bool:
    """Whether a pool changes nothing, as PyTorch's adaptive pools often do."""
    return tuple(kernel) == stride == (1, 1) and not any(padding)


def stride_and_padding(step: Step, shape: Shape, kernel: Sequence[int]) -> tuple[Pair, Padding]:
    """What the attributes ask for."""
    if len(shape) != 3 or len(kernel) != 2:
        raise step.refuse(
            "shape",
            f"slides a kernel of {len(kernel)} dimensions over shape [batch, {dims(shape)}]; only 2-D over "
            "[batch, channels, height, width] is supported",
        )
    said = step.attributes
    stride, pads = said.get("strides", [1, 1]), said.get("pads", [0] * 4)
    if any(size != 1 for size in said.get("dilations", [])):
        raise step.refuse("unsupported_attribute", "has dilations; only dilation 1 is supported")
    if len(stride) != 2 or len(pads) != 4 or min(*stride, *kernel) < 1 or min(pads) < 0:
        raise step.refuse(
            "shape", f"has kernel {[*kernel]}, strides {stride} and pads {pads}; it takes two, two and four"
        )
    across = [
        _along(step, size, kernel[axis], stride[axis], pads[axis], pads[axis + 2])
        for axis, size in enumerate(shape[1:])
    ]
    (top, bottom), (left, right) = across
    return (stride[0], stride[1]), (top, left, bottom, right)


def _along(step: Step, size: int, kernel: int, stride: int, before: int, after: int) -> Pair:
    """The padding before and after one axis, under auto_pad and ceil_mode."""
    mode = step.attributes.get("auto_pad", b"NOTSET")
    if mode == b"VALID":
        before = after = 0
    elif mode in (b"SAME_UPPER", b"SAME_LOWER"):
        total = max(0, (-(-size // stride) - 1) * stride + kernel - size)
        before, after = total // 2, total - total // 2
        if mode == b"SAME_LOWER":
            before, after = after, before
    elif mode not in (b"NOTSET", b""):
        raise step.refuse("unsupported_attribute", f"has auto_pad {mode[:20]!r}; use explicit pads")
    if not step.attributes.get("ceil_mode", 0):
        return before, after
    # A window that sticks out at the end counts, unless it starts beyond the input and the padding before it.
    last = -(-(before + size + after - kernel) // stride)
    if last * stride >= before + size:
        last -= 1
    more = max(0, last * stride + kernel - before - size - after)
    if more and step.attributes.get("count_include_pad", 0):
        raise step.refuse(
            "unsupported_attribute",
            "averages over windows that stick out (ceil_mode=1 with count_include_pad=1); "
            "export it with ceil_mode=0",
        )
    return before, after + more
