"""What to use in place of operators that have no circuit."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import NodeProto

from circuits.onnx.naming import quote
from zenerrors import ModelError

_SUPPORTED = (
    "build the network of Conv, Gemm, MatMul, Relu, Sigmoid and other functions of one value, MaxPool, "
    "AveragePool, GlobalAveragePool, BatchNormalization, Add, Concat, Flatten, Reshape, Transpose and Pad"
)
# Operators in one message.
_MOST_TOLD = 20
_STATIC = "quantise statically, with calibration data (onnxruntime's quantize_static)"
_PLAIN = "save the model without onnxruntime's graph optimisations"
_NO_CONTROL = "export the module by tracing it, without control flow"
_INSTEAD = {
    **dict.fromkeys(["ConvInteger", "DynamicQuantizeLinear", "MatMulInteger"], _STATIC),
    **dict.fromkeys(["FusedMatMul"], _PLAIN),
    **dict.fromkeys(["If", "Loop", "Scan"], _NO_CONTROL),
    **dict.fromkeys(["GRU", "LSTM", "RNN"], "use convolutions or dense layers"),
}


def unsupported(nodes: Sequence[NodeProto]) -> ModelError:
    """All that has no circuit: how many of each operator, the first of them, and what to use instead."""
    by_operator: dict[tuple[str, str], list[NodeProto]] = {}
    for node in nodes:
        by_operator.setdefault((node.domain, node.op_type), []).append(node)
    told = [
        f"{op_type[:40]}, {_nodes(found)}: {_advice(domain, op_type)}"
        for (domain, op_type), found in by_operator.items()
    ]
    more = [f"and {len(told) - _MOST_TOLD} operators more"] if len(told) > _MOST_TOLD else []
    return ModelError(
        "model.unsupported_operator", f"no circuit for {'; '.join([*told[:_MOST_TOLD], *more])}"
    )


def _nodes(found: Sequence[NodeProto]) -> str:
    first = quote(found[0].name or (found[0].output[0] if found[0].output else ""))
    return f"node {first}" if len(found) == 1 else f"{len(found)} nodes from {first} on"


def _advice(domain: str, op_type: str) -> str:
    if domain not in ("", "ai.onnx", "ai.onnx.ml", "com.microsoft"):
        return "inline local functions and leave out custom operators"
    return _INSTEAD.get(op_type, _SUPPORTED)
