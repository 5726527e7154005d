"""Neural networks to constraints: ONNX -> Graph -> QuantGraph -> Circuit.

Names are loaded when they are first used: a command that finds its answer in the cache (``circuits.cache``)
needs neither numpy nor the compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from circuits.accuracy import Accuracy, compile_accuracy, plan_accuracy
    from circuits.circuit import Circuit
    from circuits.graph import Graph
    from circuits.inference import Inference, compile_inference, plan_inference
    from circuits.inputs import input_values
    from circuits.onnx import export_torch, load_onnx
    from circuits.quantisation import quantise
    from circuits.quantised import Output, QuantGraph
    from circuits.recognition import Recognition, compile_recognition
    from circuits.registration import Registration, compile_registration, parameters
    from circuits.typed import TypedGraph

_HOMES = {
    "accuracy": ("Accuracy", "compile_accuracy", "plan_accuracy"),
    "circuit": ("Circuit",),
    "graph": ("Graph",),
    "inference": ("Inference", "compile_inference", "plan_inference"),
    "inputs": ("input_values",),
    "onnx": ("export_torch", "load_onnx"),
    "quantisation": ("quantise",),
    "quantised": ("Output", "QuantGraph"),
    "recognition": ("Recognition", "compile_recognition"),
    "registration": ("Registration", "compile_registration", "parameters"),
    "typed": ("TypedGraph",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"circuits.{module}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Accuracy",
    "Circuit",
    "Graph",
    "Inference",
    "Output",
    "QuantGraph",
    "Recognition",
    "Registration",
    "TypedGraph",
    "compile_accuracy",
    "compile_inference",
    "compile_recognition",
    "compile_registration",
    "export_torch",
    "input_values",
    "load_onnx",
    "parameters",
    "plan_accuracy",
    "plan_inference",
    "quantise",
]
