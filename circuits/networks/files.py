"""Networks from ONNX files."""

from __future__ import annotations

import os

from circuits.graphs.graph import Graph
from circuits.networks.fusion import fuse
from circuits.onnx.reader import read
from circuits.operators import ONNX


def load_onnx(source: bytes | os.PathLike[str]) -> Graph:
    """The network in ``source``, a file's bytes or its path, fused.

    Raises ``ModelError``, with the codes of ``circuits.onnx``.
    """
    return fuse(read(source, ONNX))
