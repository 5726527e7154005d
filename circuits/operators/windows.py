"""The common parts of operators with sliding windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from zenserve.circuits.graphs.node import Constants, Node, Written, dims, windows
from zenserve.circuits.graphs.types import Shape
from zenserve.circuits.onnx.step import Step
from zenserve.relations.planes import MOST_AXES, Sizes, reach

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
    """No window lies in the padding, be it between its taps."""

    kernel: Sizes
    stride: Sizes
    padding: Sizes = (0, 0, 0, 0)
    dilation: Sizes = ()

    def shape(self, *shapes: Shape) -> Shape:
        fitting = windows(self, shapes[0], self.kernel, self.stride, self.padding, self.dilation)
        if self.holds_whole_windows(shapes[0]):
            raise self.refuse(f"slides {self.kernel} over a padding {self.padding} that holds whole windows")
        return shapes[0][0], *fitting

    def holds_whole_windows(self, shape: Shape) -> bool:
        """Return whether the padding of an image of this shape holds a whole window, whose largest entry or
        mean would not exist."""
        far, rank = reach(self.kernel, self.dilation), len(self.kernel)
        between = zip(self.padding, self.dilation, shape[1:], strict=False)
        return any(pad >= far[at % rank] for at, pad in enumerate(self.padding)) or any(
            before and step > size for before, step, size in between
        )

    def written(self, constant: Constants) -> Written:
        said: dict[str, object] = {
            "kernel_shape": self.kernel,
            "strides": self.stride,
            "pads": self.padding,
        }
        if self.dilation:
            said["dilations"] = self.dilation
        return Written(self.operator(), (), said)


class Geometry(NamedTuple):
    """Of a kernel: as ``zenserve.relations.planes`` has them. ``beyond``: of the padding behind each axis so
    much as windows stick out."""

    stride: Sizes
    padding: Sizes
    dilation: Sizes
    beyond: Sizes


def pool(step: Step, tensor: str, kind: type[Pool], *rest: Any) -> str:
    """The pool that the attributes ask for: the tensor itself where all windows are single values, as
    PyTorch's adaptive pools often have them. ``rest``: further fields of the node."""
    kernel = tuple(step.attributes.get("kernel_shape", ()))
    stride, padding, dilation, _ = geometry(step, step.building.shapes[tensor], kernel)
    if dilation and step.attributes.get("auto_pad", b"").startswith(b"SAME"):
        raise step.refuse(
            "unsupported_attribute",
            "has dilations and auto_pad, of which runtimes make different pads; give pads",
        )
    if {*kernel, *stride} == {1} and not any(padding):
        return tensor
    return step.emit(kind, (tensor,), kernel, stride, padding, dilation, *rest)


def geometry(step: Step, shape: Shape, kernel: Sizes) -> Geometry:
    """Return the geometry that the attributes ask for, over a typed tensor of this shape."""
    rank = len(kernel)
    if len(shape) != 1 + rank or not 1 <= rank <= MOST_AXES:
        raise step.refuse(
            "shape",
            f"slides a kernel of {rank} dimensions over shape [batch, {dims(shape)}]; it takes [batch, "
            "channels] and as many axes, one to three",
        )
    said = step.attributes
    stride, pads = said.get("strides", [1] * rank), said.get("pads", [0] * 2 * rank)
    dilation = said.get("dilations", [1] * rank)
    if (len(stride), len(pads), len(dilation)) != (rank, 2 * rank, rank) or (
        min(*stride, *kernel, *dilation) < 1 or min(pads) < 0
    ):
        raise step.refuse(
            "shape",
            f"has kernel {[*kernel]}, strides {stride}, dilations {dilation} and pads {pads}; it takes "
            f"{rank} of each that are positive, and {2 * rank} pads",
        )
    across = [
        _along(step, size, far, stride[axis], pads[axis], pads[axis + rank])
        for axis, (size, far) in enumerate(zip(shape[1:], reach(kernel, tuple(dilation)), strict=True))
    ]
    befores, afters, beyond = zip(*across, strict=True)
    return Geometry(tuple(stride), (*befores, *afters), tuple(dilation) if max(dilation) > 1 else (), beyond)


def _along(step: Step, size: int, kernel: int, stride: int, before: int, after: int) -> tuple[int, int, int]:
    """The padding before and after one axis, under auto_pad and ceil_mode, and how much of it is for windows
    that stick out. ``kernel``: how far it reaches."""
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
        return before, after, 0
    # A window that sticks out at the end counts, unless it starts beyond the input and the padding before it.
    last = -(-(before + size + after - kernel) // stride)
    if last * stride >= before + size:
        last -= 1
    more = max(0, last * stride + kernel - before - size - after)
    return before, after + more, more
