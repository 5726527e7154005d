"""Absolute values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zenserve.circuits.graphs.node import Node, QuantNode
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.activation import table, wrapping
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.leaky_relu import PiecewiseLinear


@dataclass(frozen=True, eq=False)
class Abs(Node):
    """``y = |x|`` elementwise."""

    called = "abs"
    adds = True

    def run(self, *inputs: FloatArray) -> FloatArray:
        return np.abs(inputs[0])

    def formula(self, *inputs: str) -> str | None:
        return f"abs({inputs[0]})"

    def quantise(self, site: Site) -> QuantNode:
        if site.unscaled:
            return PiecewiseLinear(site.name, site.inputs, (-1, 1))
        return table(site, "abs(x)")


def _abs(step: Step) -> Value:
    return Data(step.emit(Abs, (step.floats(),)))


ENTRY = Entry(onnx={"Abs": Operator(wrapping(_abs), elementwise=True)})
