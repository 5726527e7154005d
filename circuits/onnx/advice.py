"""Alternatives to operators that have no circuit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from onnx import NodeProto

from zenserve.circuits.onnx.folding import FOLDED
from zenserve.circuits.onnx.naming import quote
from zenserve.errors import ModelError

_OTHERS = "docs/onnx.md lists the operators that there are"
_PLAIN = "save the model without onnxruntime's graph optimisations"
_INTEGERS = "quantise it by onnxruntime's quantize_static, or prove the network in floats"
_FLOATS = "keep the weights in floats, or quantise them to 4 or 8 bits (MatMulNBits)"
_QCDQ = "of QONNX Quant, BipolarQuant and Trunc are read; export it before it is streamlined, or as QCDQ"
_CUSTOM = "leave out custom operators, or give each as a local function of the model"
_OLDER = "export it with opset 22, which writes it as products, sums and a Softmax"
_FOLDED = "it is read of constants alone; compute what it reads before the network"
# Operators in one message.
_MOST_TOLD = 20
_GROUPS = {
    "it draws random numbers; draw them before and make them an input": (
        "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike"
    ),
    "it reads text, pictures or maps; do that before the network, and give it numbers": (
        "CastMap CategoryMapper DictVectorizer ImageDecoder RegexFullMatch StringConcat StringNormalizer "
        "StringSplit TfIdfVectorizer"
    ),
    "it is of training; export the module after module.eval(), without its loss": (
        "Adagrad Adam Gradient Momentum NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss"
    ),
    "how many entries it makes is said by values; have the network end before it": (
        "NonMaxSuppression NonZero Unique"
    ),
    "it reads at places that are computed between entries; use GridSample with a grid of the file's": (
        "DeformConv MaxRoiPool RoiAlign"
    ),
    "use ConvTranspose or Resize": "MaxUnpool",
    "multiply by a matrix of cosines and sines, a weight, with MatMul": "DFT STFT",
    "write it as products of entries and their differences": "Det",
    "of positive numbers use Exp of the CumSum of the Log": "CumProd",
    "use Cast": "BitCast",
    _OLDER: "CausalConvWithState FlexAttention LinearAttention TensorScatter",
}
ADVICE: Final[Mapping[str, str]] = {
    name: advice for advice, names in _GROUPS.items() for name in names.split()
}
"""The advice for each ONNX operator that has no circuit, by ``op_type``."""


# What no optimiser has written; of all else of onnxruntime's own an optimiser has.
_MICROSOFT: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "DequantizeBFP",
            "DequantizeWithOrder",
            "MatMulInteger16",
            "MulInteger",
            "QOrderedAttention",
            "QOrderedGelu",
            "QOrderedLayerNormalization",
            "QOrderedLongformerAttention",
            "QOrderedMatMul",
            "QuantizeBFP",
            "QuantizeWithOrder",
            "ReduceSumInteger",
        ),
        _INTEGERS,
    ),
    **dict.fromkeys(
        (
            "MatMulBlockQuantizedFp4Weight",
            "MatMulBlockQuantizedFp8Weight",
            "MatMulFpQ4",
            "MatMulNBitsQLoRA",
            "MoE",
            "QMoE",
        ),
        _FLOATS,
    ),
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
    if domain == "" and op_type in FOLDED and op_type not in ADVICE:
        return _FOLDED
    if domain == "com.microsoft":
        return _MICROSOFT.get(op_type, _PLAIN)
    if domain.startswith(("finn", "onnx.brevitas", "qonnx")):
        return _QCDQ
    return ADVICE.get(op_type, _OTHERS) if domain == "" or domain.startswith("ai.onnx") else _CUSTOM
