"""Neural networks to constraints: ONNX -> Graph -> QuantGraph -> Circuit.

Names are loaded when they are first used: a command that finds its answer in the cache (``circuits.cache``)
needs neither numpy nor the compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from circuits.comparison.files import compare_source
    from circuits.graphs.graph import Graph
    from circuits.networks.files import load_onnx
    from circuits.onnx.estimators import export_model
    from circuits.onnx.export import export_torch
    from circuits.quantisation import quantise
    from circuits.quantised import Output, QuantGraph
    from circuits.quantised.typed import TypedGraph
    from circuits.schemes.accuracy import Accuracy, compile_accuracy, plan_accuracy
    from circuits.schemes.circuit import Circuit
    from circuits.schemes.inference import Inference, compile_inference, plan_inference
    from circuits.schemes.inputs import input_values
    from circuits.schemes.recognition import Recognition, compile_recognition
    from circuits.schemes.registration import Registration, compile_registration, parameters
    from circuits.schemes.robustness import Robustness, compile_robustness
    from circuits.tuning import Tuned, tune

_HOMES = {
    "comparison.files": ("compare_source",),
    "graphs.graph": ("Graph",),
    "networks.files": ("load_onnx",),
    "onnx.estimators": ("export_model",),
    "onnx.export": ("export_torch",),
    "quantisation": ("quantise",),
    "quantised": ("Output", "QuantGraph"),
    "quantised.typed": ("TypedGraph",),
    "schemes.accuracy": ("Accuracy", "compile_accuracy", "plan_accuracy"),
    "schemes.circuit": ("Circuit",),
    "schemes.inference": ("Inference", "compile_inference", "plan_inference"),
    "schemes.inputs": ("input_values",),
    "schemes.recognition": ("Recognition", "compile_recognition"),
    "schemes.robustness": ("Robustness", "compile_robustness"),
    "schemes.registration": ("Registration", "compile_registration", "parameters"),
    "tuning": ("Tuned", "tune"),
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
    "Robustness",
    "Tuned",
    "TypedGraph",
    "compare_source",
    "compile_accuracy",
    "compile_inference",
    "compile_recognition",
    "compile_registration",
    "compile_robustness",
    "export_model",
    "export_torch",
    "input_values",
    "load_onnx",
    "parameters",
    "plan_accuracy",
    "plan_inference",
    "quantise",
    "tune",
]
