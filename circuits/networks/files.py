"""Float networks from ONNX files."""

from __future__ import annotations

import os
from collections.abc import Mapping

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.networks.fusion import fuse
from zenserve.circuits.onnx.reader import Trace, read, trace
from zenserve.circuits.operators import ONNX


def load_onnx(
    source: bytes | os.PathLike[str], sizes: Mapping[str, int] | None = None, *, whole: bool = False
) -> Graph:
    """The network in ``source``, a file's bytes or its path, fused.

    ``sizes``: of the dimensions of inputs that the file leaves open; a first one is the batch unless it is
    among them; and what inputs of a single whole number are, which then are inputs no more. ``whole``: with a
    Softmax or ArgMax over the classes at the end, which changes no label and is left out else. Raises
    ``ModelError``, with the codes of ``zenserve.circuits.onnx``.
    """
    return fuse(read(source, ONNX, sizes or {}, whole=whole))


def trace_onnx(source: bytes | os.PathLike[str], sizes: Mapping[str, int] | None = None) -> Trace:
    """The network as it was read, not fused, with the tensors of the file that it has. As ``load_onnx``."""
    return trace(source, ONNX, sizes or {})
