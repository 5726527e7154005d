"""A proof of what a network computes, in one call and without a service.

proof = zenserve.prove(module, x)     # a torch.nn.Module, or an ONNX file
proof.save("proof")
assert zenserve.verify("proof").valid

PyTorch is optional: of modules it is asked to export them, ONNX files need numpy and onnx alone.
"""

from zenserve.errors import ZenError
from zenserve.onecall.accuracy import accuracy, certify_accuracy
from zenserve.onecall.certificate import certify
from zenserve.onecall.classifier import Prediction, ProvenClassifier
from zenserve.onecall.committed import Committed
from zenserve.onecall.proof import Proof, verify
from zenserve.onecall.proving import prove
from zenserve.onecall.robustness import robustness

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
