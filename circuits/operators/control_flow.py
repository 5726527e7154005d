"""Branches and loops. The file is read as it would run: conditions and counts are constants, the branch that
is taken becomes nodes, and the body of a loop becomes nodes as often as it runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zenserve.circuits.onnx.constants import Constant, Element
from zenserve.circuits.onnx.step import Data, Held, Operator, Step, TensorList, Value
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.matmul import reshaped, shape_of
from zenserve.circuits.operators.tensor_lists import stacked, unstacked
from zenserve.circuits.operators.where import where as choose

_COUNTED = "give the loop a number of iterations that the file fixes, and no condition that an input changes"


def _if(step: Step) -> Sequence[Held]:
    """The branch that a constant takes; of a computed condition both, and a choice between their values."""
    condition = step.value(0)
    if isinstance(condition, Constant):
        return step.graph("then_branch" if _is_true(step, condition) else "else_branch")([])
    both = [step.graph(name)([]) for name in ("then_branch", "else_branch")]
    if math.prod(step.whole(0)) != 1 or len(both[0]) != len(both[1]):
        raise step.refuse("shape", "needs one condition, and as many outputs of both branches")
    condition = reshaped(step, condition, ())
    return [_either(step, condition, *pair) for pair in zip(*both, strict=True)]


def _either(step: Step, condition: Value, yes: Held, no: Held) -> Value:
    if (
        isinstance(yes, TensorList)
        or isinstance(no, TensorList)
        or (yes.kind, shape_of(yes)) != (no.kind, shape_of(no))
    ):
        raise step.refuse(
            "unsupported_operator",
            "takes a branch by a condition that is computed from the input, and what the branches make has "
            "two shapes or types; make both of one shape, or fix the condition: an input of a single whole "
            "number with --shape NAME=VALUE, else in the module",
        )
    made = choose(replace(step, inputs=[condition, yes, no]))
    return replace(made, shape=shape_of(yes), kind=yes.kind) if isinstance(made, Data) else made


def _is_true(step: Step, condition: Held | None) -> bool:
    if not isinstance(condition, Constant) or condition.array.size != 1:
        raise step.refuse("unsupported_operator", f"goes on by a computed condition; {_COUNTED}")
    return bool(condition.array.item())


def _loop(step: Step) -> Sequence[Held]:
    """The values after the last iteration, and those that every iteration hands out, one after the other."""
    body, states = step.graph("body"), [_held(step, at) for at in range(2, len(step.inputs))]
    most = _count(step) if step.has(0) else None
    goes_on, iteration, handed = not step.has(1) or _is_true(step, step.inputs[1]), 0, list[Sequence[Held]]()
    while goes_on and (most is None or iteration < most):
        at = Constant(np.array(iteration), Element.INT64)
        condition, *made = body([at, Constant(np.array(1), Element.BOOL), *states])
        states, scanned = made[: len(states)], made[len(states) :]
        handed.append(scanned)
        goes_on, iteration = _is_true(step, condition), iteration + 1
    return [*states, *(stacked(step, _tensors(step, each), 0) for each in zip(*handed, strict=True))]


def _count(step: Step) -> int:
    if step.is_data(0):
        raise step.refuse("unsupported_operator", f"runs as often as the input says; {_COUNTED}")
    return int(step.number(0, 0))


def _scan(step: Step) -> Sequence[Held]:
    """The body for each tensor along an axis of some inputs; what it hands out lies along an axis again."""
    said, body = step.attributes, step.graph("body")
    count = said.get("num_scan_inputs", 0)
    kept = len(step.inputs) - count
    if step.opset < 9 or not 0 < count <= len(step.inputs):
        raise step.refuse("unsupported_attribute", "must scan an input, and be of opset 9 or newer")
    states = [_held(step, at) for at in range(kept)]
    axes = said.get("scan_input_axes") or [0] * count
    backward = said.get("scan_input_directions") or [0] * count
    if not len(axes) == len(backward) == count:
        raise step.refuse("shape", f"needs an axis and a direction for each of {count} inputs")
    lines = [unstacked(step, step.value(kept + at), axis) for at, axis in enumerate(axes)]
    lines = [line[::-1] if back else line for line, back in zip(lines, backward, strict=True)]
    if len({*map(len, lines)}) != 1:
        raise step.refuse("shape", f"scans inputs of the lengths {[*map(len, lines)]}")
    handed = list[Sequence[Held]]()
    for parts in zip(*lines, strict=True):
        made = body([*states, *parts])
        states = made[:kept]
        handed.append(made[kept:])
    columns = [_tensors(step, each) for each in zip(*handed, strict=True)]
    axes = said.get("scan_output_axes") or [0] * len(columns)
    backward = said.get("scan_output_directions") or [0] * len(columns)
    if not len(axes) == len(backward) == len(columns):
        raise step.refuse("shape", f"needs an axis and a direction for each of {len(columns)} outputs")
    columns = [column[::-1] if back else column for column, back in zip(columns, backward, strict=True)]
    return [*states, *(stacked(step, column, axis) for column, axis in zip(columns, axes, strict=True))]


def _map(step: Step) -> Sequence[Held]:
    """The body for each tensor of a list, and of others beside it; other tensors are the same for all."""
    body, count = step.graph("body"), len(step.tensors())
    columns = [
        held.tensors if isinstance(held, TensorList) else (held,) * count
        for held in (_held(step, at) for at in range(len(step.inputs)))
    ]
    if any(len(column) != count for column in columns):
        raise step.refuse("shape", f"maps lists of the lengths {[len(column) for column in columns]}")
    rows = [body([*parts]) for parts in zip(*columns, strict=True)]
    made = [TensorList(tuple(_tensors(step, each))) for each in zip(*rows, strict=True)]
    return made or [TensorList(()) for _ in step.node.output]


def _held(step: Step, position: int) -> Held:
    """An input: a tensor or a list of them."""
    held = step.inputs[position]
    return held if isinstance(held, TensorList) else step.value(position)


def _tensors(step: Step, values: Sequence[Held]) -> list[Value]:
    if any(isinstance(value, TensorList) for value in values):
        raise step.refuse("tensor_type", "hands out lists of tensors; they must be tensors")
    return [value for value in values if not isinstance(value, TensorList)]


_SCAN = {
    "body": "g",
    "num_scan_inputs": "i",
    **dict.fromkeys(
        ("scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"), "ints"
    ),
}
_MOST = 1 << 10

ENTRY = Entry(
    onnx={
        "If": Operator(_if, {"else_branch": "g", "then_branch": "g"}),
        "Loop": Operator(_loop, {"body": "g"}, 2, _MOST),
        "Scan": Operator(_scan, _SCAN, 1, _MOST),
        "SequenceMap": Operator(_map, {"body": "g"}, 1, _MOST),
    }
)
