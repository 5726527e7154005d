"""Layers that onnxruntime's optimiser joined with the activation behind them."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Final

from circuits.onnx.step import Data, Operator, Step, Value
from circuits.operators import convolution, matmul
from circuits.operators.activation import Activation
from circuits.operators.clip import Clip
from circuits.operators.entry import Entry

_FORMULAS: Final = {b"Sigmoid": "sigmoid(x)", b"Tanh": "tanh(x)"}


def _joined(step: Step, layer: Operator) -> Value:
    activation = step.attributes.get("activation", b"")
    if activation not in (b"Relu", *_FORMULAS):
        raise step.refuse(
            "unsupported_attribute",
            f"is joined with {activation[:20]!r}; save the model without onnxruntime's graph optimisations",
        )
    sums = layer.read(step)
    assert isinstance(sums, Data)  # noqa: S101  layers make one computed tensor
    if activation == b"Relu":
        return replace(sums, tensor=step.emit(Clip, (sums.tensor,), 0.0, math.inf))
    return replace(sums, tensor=step.emit(Activation, (sums.tensor,), _FORMULAS[activation]))


def _with_activation(layer: Operator, **parameters: str) -> Operator:
    attributes = {**layer.attributes, "activation": "s", **parameters}
    return Operator(partial(_joined, layer=layer), attributes, layer.least, layer.most)


ENTRY = Entry(
    microsoft={
        "FusedConv": _with_activation(convolution.ENTRY.onnx["Conv"], activation_params="floats"),
        "FusedGemm": _with_activation(
            matmul.ENTRY.onnx["Gemm"], activation_alpha="f", activation_beta="f", activation_gamma="f"
        ),
    }
)
