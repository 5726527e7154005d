"""Functions that activations name: in closed form where they have one, else by what their formula says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from zenserve.bounds.convex import Exp
from zenserve.bounds.curves import Formula
from zenserve.bounds.elementwise import Function, applied
from zenserve.bounds.given import Given, Rules
from zenserve.bounds.network import Operation
from zenserve.bounds.sigmoid import SIGMOID, TANH
from zenserve.circuits.operators.activation import Activation

_CLOSED: Final[Mapping[str, Function]] = {"exp(x)": Exp(), "sigmoid(x)": SIGMOID, "tanh(x)": TANH}


def function(text: str) -> Function:
    """Return the function of a formula (``zenserve.circuits.graphs.formula``). Raises as ``Formula`` does."""
    return _CLOSED[text] if text in _CLOSED else Formula(text)


def _activation(given: Given, node: Activation) -> list[Operation]:
    return applied(given, function(node.function))


RULES: Rules = {Activation: _activation}
