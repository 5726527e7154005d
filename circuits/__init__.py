"""Neural networks to constraints: ONNX -> Graph -> QuantGraph -> Circuit."""

from circuits.circuit import Circuit
from circuits.graph import Graph
from circuits.inference import compile_inference
from circuits.onnx import export_torch, load_onnx
from circuits.quantgraph import Output, QuantGraph
from circuits.quantiser import quantise

__all__ = [
    "Circuit",
    "Graph",
    "Output",
    "QuantGraph",
    "compile_inference",
    "export_torch",
    "load_onnx",
    "quantise",
]
