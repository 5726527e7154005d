"""Neural networks to constraints: ONNX -> Graph -> QuantGraph -> Circuit."""

from circuits.circuit import Circuit
from circuits.graph import Graph
from circuits.inference import Inference, compile_inference
from circuits.onnx import export_torch, load_onnx
from circuits.quantised import Output, QuantGraph
from circuits.recognition import Recognition, compile_recognition
from circuits.typed import TypedGraph

__all__ = [
    "Circuit",
    "Graph",
    "Inference",
    "Output",
    "QuantGraph",
    "Recognition",
    "TypedGraph",
    "compile_inference",
    "compile_recognition",
    "export_torch",
    "load_onnx",
]
