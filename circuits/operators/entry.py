"""The interface of an operator's module: one entry each, listed in ``zenserve.circuits.operators``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import QuantNode
from zenserve.circuits.onnx.step import Operator


@dataclass(frozen=True)
class Entry:
    """``onnx``, ``learned``, ``microsoft``, ``qonnx``: what it reads, by ``op_type``, from ONNX's own domain,
    from ONNX's for other models than networks (ai.onnx.ml), from onnxruntime's, and from QONNX's.
    ``integers``: its nodes in a network of integers. ``passes``: rewrites of float graphs that leave their
    function as it is."""

    onnx: Mapping[str, Operator] = field(default_factory=dict)
    learned: Mapping[str, Operator] = field(default_factory=dict)
    microsoft: Mapping[str, Operator] = field(default_factory=dict)
    qonnx: Mapping[str, Operator] = field(default_factory=dict)
    integers: tuple[type[QuantNode], ...] = ()
    passes: tuple[Callable[[Graph], Graph], ...] = ()
