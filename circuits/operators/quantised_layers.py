"""onnxruntime's layers of quantised weights: the float layers that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from zenserve.circuits.onnx.constants import Constant, Element
from zenserve.circuits.onnx.step import Data, Held, Operator, Step, Value
from zenserve.circuits.operators import attention, matmul, normalisation, reduce, sequences
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.quantise_linear import declared_at, integer, real, typed

_LSTM: Final = sequences.ENTRY.onnx["LSTM"]
_ATTENTION: Final = attention.ENTRY.microsoft["Attention"]
_EMBEDDING: Final = normalisation.ENTRY.microsoft["EmbedLayerNormalization"]
_MEAN: Final = reduce.ENTRY.onnx["ReduceMean"]


def _lstm(step: Step) -> Held | Sequence[Held]:
    """Its weights are [directions, inputs, gates], LSTM's [directions, gates, inputs]."""
    step.building.measured = True
    weights = []
    for position, scale in ((1, 8), (2, 10)):
        q, scales, zero = (step.plain(each).array for each in (position, scale, scale + 1))
        if q.ndim != 3 or q.dtype != np.int64 or zero.shape != scales.shape:
            raise step.refuse("shape", f"needs input {position} as integers [directions, inputs, gates]")
        along = [each.reshape(len(q), 1, -1) for each in (scales, zero)]
        array = (q - along[1]) * along[0].astype(np.float64)
        weights.append(Constant(np.ascontiguousarray(array.swapaxes(1, 2)), Element.FLOAT))
        step.spend(array.size)
    return _LSTM.read(replace(step, inputs=[step.value(0), *weights, *step.inputs[3:8]]))


def _attention(step: Step) -> Held | Sequence[Held]:
    read = replace(step, inputs=[step.inputs[at] for at in (0, 3, 6)])
    weight = real(replace(step, inputs=[step.inputs[at] for at in (1, 4, 7)]), 0, 1, -1)
    given = Data(integer(read, 0), shape=step.whole(0), kind=Element.FLOAT)
    rest = [step.inputs[at] if step.has(at) else None for at in (2, 5, 8)]
    return _ATTENTION.read(replace(step, inputs=[given, replace(weight, declared=None), *rest]))


def _embedding(step: Step) -> Held | Sequence[Held]:
    tables = [
        replace(
            real(replace(step, inputs=[step.inputs[at] for at in (table, table + 6, table + 11)]), 0, 1, 0),
            declared=None,
        )
        if step.has(table)
        else None
        for table in range(2, 7)
    ]
    mask = step.inputs[7] if step.has(7) else None
    first = [step.inputs[0], step.inputs[1] if step.has(1) else None]
    return _EMBEDDING.read(replace(step, inputs=[*first, *tables, mask]))


def _mean(step: Step) -> Value:
    read = Data(integer(step, 0), shape=step.whole(0), kind=Element.FLOAT)
    made = _MEAN.read(replace(step, inputs=[read]))
    assert isinstance(made, Data)  # noqa: S101  what is made of a computed tensor is one
    return replace(typed(step, made.tensor, declared_at(step, 3)), shape=made.shape)


def _product(step: Step) -> Value:
    """QLinearMatMul. Weights keep their integers where a layer has them."""
    factors: list[Value] = [
        Data(integer(step, at), shape=step.whole(at), kind=Element.FLOAT)
        if step.is_data(at)
        else real(step, at, at + 1, -1 if at else -2)
        for at in (0, 3)
    ]
    made = matmul.ENTRY.onnx["MatMul"].read(replace(step, inputs=factors))
    assert isinstance(made, Data)  # noqa: S101  one of the factors is computed
    return replace(typed(step, made.tensor, declared_at(step, 6)), shape=made.shape)


ENTRY = Entry(
    onnx={"QLinearMatMul": Operator(_product, {}, 8, 8)},
    microsoft={
        "DynamicQuantizeLSTM": Operator(_lstm, _LSTM.attributes, 12, 12),
        "QAttention": Operator(_attention, _ATTENTION.attributes, 5, 9),
        "QEmbedLayerNormalization": Operator(_embedding, _EMBEDDING.attributes, 13, 18),
        "QLinearReduceMean": Operator(_mean, _MEAN.attributes, 4, 5),
    },
)
