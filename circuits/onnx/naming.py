"""The names of a file's nodes and tensors in errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zenserve.errors import ModelError

if TYPE_CHECKING:
    from onnx import NodeProto


def require_finite(what: str, array: NDArray[np.float64]) -> None:
    finite = np.isfinite(array)
    if finite.all():
        return
    index = tuple(int(i) for i in np.unravel_index(finite.argmin(), array.shape))
    raise ModelError("model.not_finite", f"{what} has {array[index]} at index {index}; it must be finite")


def where(node: NodeProto) -> str:
    """The node as errors name it; nameless ones by what they write."""
    name = node.name or (node.output[0] if node.output else "")
    return f"node {quote(name)} ({node.op_type[:40]})"


def quote(name: str) -> str:
    return repr(name[:80])
