"""A typed client of the ZenServe API.

with Client("http://127.0.0.1:8000") as zenserve:
    model = zenserve.wait(zenserve.create_model(onnx, calibration, name="digits"))
    proof = zenserve.wait(zenserve.create_proof(model.id, image))
    document = zenserve.get_proof_document(proof.id)
    assert zenserve.verify(document).valid
"""

from client.api import Client
from client.errors import ApiError, JobError, UnreachableError
from client.resources import Model, Proof, Verification

__all__ = ["ApiError", "Client", "JobError", "Model", "Proof", "UnreachableError", "Verification"]
