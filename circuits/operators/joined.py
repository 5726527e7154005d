"""Operators that onnxruntime's optimiser fuses: layers with the activation behind them, and Gelu with its
bias."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Final

from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators import convolution, matmul
from zenserve.circuits.operators.activation import Activation, applied
from zenserve.circuits.operators.add import add
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.entry import Entry

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


def _biased(step: Step, function: str) -> Value:
    """The function of a sum with a bias, which may be left out."""
    total = add(replace(step, inputs=[step.value(0), step.value(1)])) if step.has(1) else step.value(0)
    made = applied(replace(step, inputs=[total]), function)
    return replace(made, shape=total.shape) if isinstance(made, Data) and isinstance(total, Data) else made


def _with_activation(layer: Operator, **parameters: str) -> Operator:
    attributes = {**layer.attributes, "activation": "s", **parameters}
    return Operator(partial(_joined, layer=layer), attributes, layer.least, layer.most)


ENTRY = Entry(
    microsoft={
        "BiasGelu": Operator(partial(_biased, function="gelu(x)"), {}, 2, 2),
        "FastGelu": Operator(partial(_biased, function="gelu_tanh(x)"), {}, 1, 2),
        "FusedConv": _with_activation(convolution.ENTRY.onnx["Conv"], activation_params="floats"),
        "FusedGemm": _with_activation(
            matmul.ENTRY.onnx["Gemm"], activation_alpha="f", activation_beta="f", activation_gamma="f"
        ),
    }
)
