"""What to use in place of operators that have no circuit."""

from __future__ import annotations

from onnx import NodeProto

from circuits.onnx.naming import where
from zenerrors import ModelError

_SUPPORTED = (
    "build the network of Conv, Gemm, MatMul, Relu, Sigmoid and other functions of one value, MaxPool, "
    "AveragePool, GlobalAveragePool, BatchNormalization, Add, Concat, Flatten, Reshape, Transpose and Pad"
)
_STATIC = "quantise statically, with calibration data (onnxruntime's quantize_static)"
_PLAIN = "save the model without onnxruntime's graph optimisations"
_NO_CONTROL = "export the module by tracing it, without control flow"
_BATCH_NORM = "use BatchNormalization, whose statistics are constants"
_INSTEAD = {
    **dict.fromkeys(["ConvInteger", "DynamicQuantizeLinear", "MatMulInteger"], _STATIC),
    **dict.fromkeys(["FusedConv", "FusedGemm", "FusedMatMul"], _PLAIN),
    **dict.fromkeys(["If", "Loop", "Scan"], _NO_CONTROL),
    **dict.fromkeys(
        ["GroupNormalization", "InstanceNormalization", "LayerNormalization", "LRN"], _BATCH_NORM
    ),
    **dict.fromkeys(["GRU", "LSTM", "RNN"], "use convolutions or dense layers"),
    **dict.fromkeys(["Split", "Resize", "Upsample", "ConvTranspose"], "use Conv with a stride or groups"),
    **dict.fromkeys(
        ["GlobalMaxPool", "LpPool", "GlobalLpPool"], "use MaxPool, AveragePool or GlobalAveragePool"
    ),
}


def unsupported(node: NodeProto, domain: str) -> ModelError:
    if domain not in ("", "com.microsoft"):
        advice = "inline local functions and leave out custom operators"
    else:
        advice = _INSTEAD.get(node.op_type, _SUPPORTED)
    return ModelError("model.unsupported_operator", f"{where(node)} has no circuit; {advice}")
