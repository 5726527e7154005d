"""Neural networks to constraints: ONNX -> Graph -> QuantGraph -> Circuit."""

from circuits.circuit import Circuit
from circuits.graph import Graph
from circuits.inference import compile_inference
from circuits.onnx import load_onnx
from circuits.quantgraph import Output, QuantGraph
from circuits.quantiser import quantise

__all__ = ["Circuit", "Graph", "Output", "QuantGraph", "compile_inference", "load_onnx", "quantise"]
