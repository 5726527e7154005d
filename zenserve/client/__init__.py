"""A typed client of the ZenServe API.

with Client("http://127.0.0.1:8000") as zenserve:
    model = zenserve.wait(zenserve.create_model(onnx, calibration, name="digits"))
    proof = zenserve.wait(zenserve.create_proof(model.id, image))
    document = zenserve.get_proof_document(proof.id)
    assert zenserve.verify(document).valid

``AsyncClient`` has the same methods, to be awaited. Receivers of webhooks: ``zenserve.client.webhooks``.

Names are loaded when they are first used: a command that asks no service does without the HTTP library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zenserve.client.api import AsyncClient, Client
    from zenserve.client.errors import ApiError, ClientError, JobError, SignatureError, UnreachableError
    from zenserve.client.resources import Commitment, Dataset, Frame, Model, Proof, Stream, Verification

_HOMES = {
    "api": ("AsyncClient", "Client"),
    "errors": ("ApiError", "ClientError", "JobError", "SignatureError", "UnreachableError"),
    "resources": ("Commitment", "Dataset", "Frame", "Model", "Proof", "Stream", "Verification"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"zenserve.client.{module}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ApiError",
    "AsyncClient",
    "Client",
    "ClientError",
    "Commitment",
    "Dataset",
    "Frame",
    "JobError",
    "Model",
    "Proof",
    "SignatureError",
    "Stream",
    "UnreachableError",
    "Verification",
]
