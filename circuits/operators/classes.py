"""What may stand at the end of a network, on its classes: the label is the same without it."""

from __future__ import annotations

from circuits.onnx.constants import Constant
from circuits.onnx.step import Data, Operator, Step, Value
from circuits.operators.entry import Entry
from circuits.operators.quantise_linear import integer


def _softmax(step: Step) -> Value:
    """Softmax and LogSoftmax keep the order of the classes: the label is the same without them."""
    return _over_classes(step, step.attributes.get("axis", -1))


def _argmax(step: Step) -> Value:
    """The proof states the argmax itself, the first of equals."""
    if step.attributes.get("select_last_index", 0):
        raise step.refuse(
            "unsupported_attribute", "has select_last_index=1; the proof takes the first of equal classes"
        )
    return _over_classes(step, step.attributes.get("axis", 0))


def _over_classes(step: Step, axis: int) -> Data:
    data = step.passed()
    if isinstance(data, Constant) or data.after == "ArgMax":
        raise step.refuse("unsupported_operator", "may only stand at the end of the network, on its classes")
    if len(step.building.shapes[data.tensor]) != 1 or axis not in (1, -1):
        raise step.refuse(
            "unsupported_attribute", "must run over the classes of a [batch, classes] tensor: axis -1"
        )
    return Data(data.tensor, data.integer, "ArgMax" if step.node.op_type == "ArgMax" else "Softmax")


def _linear_softmax(step: Step) -> Value:
    tensor = integer(step, 0)
    if len(step.shape()) != 1 or step.attributes.get("axis", -1) not in (1, -1):
        raise step.refuse(
            "unsupported_attribute", "must run over the classes of a [batch, classes] tensor: axis -1"
        )
    return Data(tensor, after="Softmax")


_AXIS = {"axis": "i"}

ENTRY = Entry(
    onnx={
        "ArgMax": Operator(_argmax, {"axis": "i", "keepdims": "i", "select_last_index": "i"}),
        "LogSoftmax": Operator(_softmax, _AXIS),
        "Softmax": Operator(_softmax, _AXIS),
    },
    microsoft={"QLinearSoftmax": Operator(_linear_softmax, {"axis": "i", "opset": "i"}, 5, 5)},
)
