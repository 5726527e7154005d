"""Neural networks to constraints: ONNX -> Graph -> QuantGraph -> Circuit.

Names are loaded when they are first used: a command that finds its answer in the cache
(``zenserve.circuits.cache``) needs neither numpy nor the compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zenserve.circuits.comparison.files import compare_source
    from zenserve.circuits.graphs.graph import Graph
    from zenserve.circuits.networks.files import load_onnx
    from zenserve.circuits.onnx.estimators import export_model
    from zenserve.circuits.onnx.export import export_torch
    from zenserve.circuits.quantisation import quantise
    from zenserve.circuits.quantised import Output, QuantGraph
    from zenserve.circuits.quantised.typed import TypedGraph
    from zenserve.circuits.schemes.accuracy import Accuracy, compile_accuracy, plan_accuracy
    from zenserve.circuits.schemes.circuit import Circuit
    from zenserve.circuits.schemes.inference import Inference, compile_inference, plan_inference
    from zenserve.circuits.schemes.inputs import input_values
    from zenserve.circuits.schemes.recognition import Recognition, compile_recognition
    from zenserve.circuits.schemes.registration import Registration, compile_registration, parameters
    from zenserve.circuits.schemes.robustness import Robustness, compile_robustness
    from zenserve.circuits.tuning import Tuned, tune

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
            value = globals()[name] = getattr(import_module(f"zenserve.circuits.{module}"), name)
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
