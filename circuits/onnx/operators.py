"""The table of operators, and what to use in place of those that are not in it."""

from __future__ import annotations

from onnx import NodeProto

from circuits.onnx.arithmetic import ARITHMETIC
from circuits.onnx.integers import INTEGER_OPERATORS
from circuits.onnx.layers import LAYERS
from circuits.onnx.message import where
from circuits.onnx.shapes import SHAPES
from circuits.onnx.step import Operator
from zenerrors import ModelError

_OPERATORS: dict[tuple[str, str], Operator] = {
    **{("", name): operator for name, operator in {**ARITHMETIC, **LAYERS, **SHAPES}.items()},
    **INTEGER_OPERATORS,
}

_SUPPORTED = (
    "build the network of Conv, Gemm, MatMul, Relu, Clip, MaxPool, AveragePool, GlobalAveragePool, "
    "BatchNormalization, Add, Concat, Flatten, Reshape, Transpose and Pad"
)
_STATIC = "quantise statically, with calibration data (onnxruntime's quantize_static)"
_PLAIN = "save the model without onnxruntime's graph optimisations"
_NO_CONTROL = "export the module by tracing it, without control flow"
_BATCH_NORM = "use BatchNormalization, whose statistics are constants"
_ACTIVATION = "use Relu or Clip (ReLU6)"
_INSTEAD = {
    **dict.fromkeys(["ConvInteger", "DynamicQuantizeLinear", "MatMulInteger"], _STATIC),
    **dict.fromkeys(["FusedConv", "FusedGemm", "FusedMatMul"], _PLAIN),
    **dict.fromkeys(["If", "Loop", "Scan"], _NO_CONTROL),
    **dict.fromkeys(
        ["GroupNormalization", "InstanceNormalization", "LayerNormalization", "LRN"], _BATCH_NORM
    ),
    **dict.fromkeys(
        [
            "Celu",
            "Elu",
            "Erf",
            "Gelu",
            "HardSigmoid",
            "HardSwish",
            "LeakyRelu",
            "Mish",
            "PRelu",
            "Selu",
            "Sigmoid",
        ],
        _ACTIVATION,
    ),
    **dict.fromkeys(
        ["Softplus", "Softsign", "Swish", "Tanh", "ThresholdedRelu", "Exp", "Log", "Sqrt", "Pow"], _ACTIVATION
    ),
    **dict.fromkeys(["GRU", "LSTM", "RNN"], "use convolutions or dense layers"),
    **dict.fromkeys(["Split", "Resize", "Upsample", "ConvTranspose"], "use Conv with a stride or groups"),
    **dict.fromkeys(
        ["GlobalMaxPool", "LpPool", "GlobalLpPool"], "use MaxPool, AveragePool or GlobalAveragePool"
    ),
}


def find(node: NodeProto) -> Operator:
    """The meaning of the node's operator. Raises ``ModelError`` (``model.unsupported_operator``)."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    operator = _OPERATORS.get((domain, node.op_type))
    if operator is not None:
        return operator
    if domain not in ("", "com.microsoft"):
        advice = "inline local functions and leave out custom operators"
    else:
        advice = _INSTEAD.get(node.op_type, _SUPPORTED)
    raise ModelError("model.unsupported_operator", f"{where(node)} has no circuit; {advice}")
