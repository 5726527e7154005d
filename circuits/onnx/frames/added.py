"""A preparation whose features are sums over columns, as layers before the model that reads the features.

Scalers, imputers, encoders and linear maps such as PCA make of each number a multiple, of a missing value and
of each category a row of features of its own, and add these up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from zenserve.circuits.onnx.frames.asking import Asked, Column, Matrix
from zenserve.circuits.onnx.tables.ensemble import ML
from zenserve.errors import ModelError, TensorError
from zenserve.verifier import table as schema

# Of what features reach: sums that come nearer are the preparation's own.
_NEAR: Final = 1e-5
_MOST_CHECKED: Final = 64


@dataclass
class Added:
    """``weight`` [entries, features] of numbers and flags, ``bias`` [features], and of each category, by its
    entry, the features of its places, [places, features]."""

    columns: list[schema.Column]
    weight: Matrix
    bias: Matrix
    tables: dict[int, Matrix]

    def before(self, file: bytes) -> bytes:
        """The model in the file, whose only input is the features, behind the layers that make these."""
        model = ModelProto.FromString(file)
        graph = model.graph
        held = {each.name for each in graph.initializer}
        (features,) = (each for each in graph.input if each.name not in held)
        nodes = self._nodes(features.name)
        others = [each for each in graph.input if each.name in held]
        entry = helper.make_tensor_value_info("row", TensorProto.FLOAT, [None, len(self.weight)])
        kept = [*graph.node]
        del graph.input[:], graph.node[:]
        graph.input.extend([entry, *others])
        graph.node.extend([*nodes, *kept])
        _require_opsets(model)
        return bytes(model.SerializeToString())

    def _nodes(self, output: str) -> list[NodeProto]:
        nodes: list[NodeProto] = []

        def write(operator: str, name: str, *inputs: str, **attributes: Any) -> str:
            nodes.append(helper.make_node(operator, inputs, [name], f"prepare/{name}", **attributes))
            return name

        def constant(name: str, values: NDArray[Any]) -> str:
            return write("Constant", name, value=numpy_helper.from_array(values, name))

        terms = []
        if self.weight.any():
            weight = constant("prepare_weight", self.weight.astype(np.float32))
            terms.append(write("MatMul", "prepare_numbers", "row", weight))
        for entry, table in self.tables.items():
            one = np.zeros((len(self.weight), 1), np.float32)
            one[entry] = 1
            place = write("MatMul", f"place_{entry}", "row", constant(f"choose_{entry}", one))
            hot = write(
                "OneHotEncoder", f"hot_{entry}", place, domain=ML, cats_int64s=[*range(len(table))], zeros=1
            )
            shape = constant(f"shape_{entry}", np.array([-1, len(table)], np.int64))
            flat = write("Reshape", f"flat_{entry}", hot, shape)
            held = constant(f"table_{entry}", table.astype(np.float32))
            terms.append(write("MatMul", f"features_{entry}", flat, held))
        made = terms[0]
        for number, term in enumerate(terms[1:]):
            made = write("Add", f"prepare_sum_{number}", made, term)
        write("Add", output, made, constant("prepare_bias", self.bias.astype(np.float32)))
        return nodes


def add(asked: Asked) -> Added:
    """Raises ``ModelError`` (``model.export``) where features are other than sums over columns."""
    size = sum(map(_size, asked.columns))
    weight = np.zeros((size, len(asked.base)))
    bias, tables, columns, at = asked.base.copy(), dict[int, Matrix](), list[schema.Column](), 0
    for column in asked.columns:
        if column.is_number:
            middle = _middle(column)
            slope, own = _line(column, asked.base)
            weight[at] = slope
            bias += own
            if column.gap is not None:
                weight[at + 1] = column.gap - asked.base - own - slope * middle
            columns.append(
                schema.Column(
                    name=column.name,
                    missing=() if column.gap is None else (middle,),
                    flag=column.gap is not None,
                )
            )
        else:
            tables[at] = column.table - asked.base
            columns.append(
                schema.Column(
                    name=column.name, kind="category", categories=column.listed, unknown=column.unknown
                )
            )
        at += _size(column)
    made = Added(columns, weight, bias, tables)
    _require_sums(asked, made)
    return made


def _size(column: Column) -> int:
    return 2 if column.is_number and column.gap is not None else 1


def _middle(column: Column) -> float:
    """Return the number that replaces a missing value: one within the column's range, so that no range
    grows."""
    return float(np.float32((column.cells[0] + column.cells[-1]) / 2))


def _line(column: Column, base: Matrix) -> tuple[Matrix, Matrix]:
    """The slope, and the features' distance from ``base`` at zero."""
    low, high = column.cells[0], column.cells[-1]
    rise = column.features[-1] - column.features[0]
    slope = rise / (high - low) if high > low else np.zeros_like(base)
    return slope, column.features[0] - slope * low - base


def _require_sums(asked: Asked, made: Added) -> None:
    """On rows of the table, and on all cells that were asked for."""
    template = asked.template
    names = template.names
    count = min(_MOST_CHECKED, len(template.cells(names[0])))
    own = {name: template.cells(name)[:count] for name in names}
    plan = schema.TableSchema(columns=tuple(made.columns))
    try:
        rows = plan.encode({name: own[name] for name in plan.names}, "calibration")
    except TensorError:
        rows = np.zeros((0, plan.size))
    checked = [(rows, asked.prepare(template.frame(own, count)))] if len(rows) else []
    for column in asked.columns:
        base = {each.name: [template.base[each.name]] * len(column.cells) for each in asked.columns}
        checked.append((plan.encode(base | {column.name: column.cells}, "calibration"), column.features))
    for entries, features in checked:
        found = entries @ made.weight + made.bias
        for at, table in made.tables.items():
            found = found + table[entries[:, at].astype(np.int64)]
        reach = np.maximum(np.nan_to_num(np.abs(features)).max(axis=0, initial=0.0), 1e-12)
        if not (np.abs(found - features) <= _NEAR * np.maximum(reach, 1.0)).all():
            raise ModelError("model.export", "its features are no sums over columns")


def _require_opsets(model: ModelProto) -> None:
    if ML not in {each.domain for each in model.opset_import}:
        model.opset_import.append(helper.make_opsetid(ML, 3))
