"""A proof of what a network computes, in one call and without a service.

proof = zenserve.prove(module, x)     # a torch.nn.Module, or an ONNX file
proof.save("proof")
assert zenserve.verify("proof").valid

PyTorch is optional: of modules it is asked to export them, ONNX files need numpy and onnx alone. A name is
loaded when it is first used: ``import zenserve.verifier`` loads nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from zenserve.errors import ZenError
    from zenserve.onecall.accuracy import accuracy, certify_accuracy
    from zenserve.onecall.certificate import certify
    from zenserve.onecall.classifier import Prediction, ProvenClassifier
    from zenserve.onecall.committed import Committed
    from zenserve.onecall.proof import Proof, verify
    from zenserve.onecall.proving import prove
    from zenserve.onecall.robustness import robustness

_HOMES: Final = {
    "Committed": "onecall.committed",
    "Prediction": "onecall.classifier",
    "Proof": "onecall.proof",
    "ProvenClassifier": "onecall.classifier",
    "ZenError": "errors",
    "accuracy": "onecall.accuracy",
    "certify": "onecall.certificate",
    "certify_accuracy": "onecall.accuracy",
    "prove": "onecall.proving",
    "robustness": "onecall.robustness",
    "verify": "onecall.proof",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as missing:  # zenserve-client stands alone
        if (missing.name or "").startswith(f"{__name__}."):
            raise ImportError(
                f"zenserve.{name} is of the package zenserve; zenserve-client is alone"
            ) from missing
        raise
    globals()[name] = value
    return value


__all__ = [
    "Committed",
    "Prediction",
    "Proof",
    "ProvenClassifier",
    "ZenError",
    "accuracy",
    "certify",
    "certify_accuracy",
    "prove",
    "robustness",
    "verify",
]
