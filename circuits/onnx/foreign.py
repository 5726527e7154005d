"""Files of models that are no ONNX files, told by their first bytes. None of them is opened: some could run
any code.
"""

from __future__ import annotations

from typing import Final

from zenserve.errors import ModelError

_IMPORT: Final = (
    "load the model in a Python module that you trust, and write an ONNX file of it:"
    " zenserve import MODULE:NAME model.onnx --input rows.npy"
)
_ZLIB: Final = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")


def not_onnx(data: bytes, reason: str) -> ModelError:
    """The refusal of a file that is no ONNX model: for ``reason``, or for what it is instead."""
    kind = _kind(data)
    said = f"it is {kind}; {_IMPORT}" if kind else reason
    return ModelError("model.not_onnx", f"the file is not an ONNX model: {said}")


def _kind(data: bytes) -> str | None:
    """Return the kind of file, among the kinds as which Python's libraries save models, by the first bytes
    alone; None if it is none of them."""
    if data.startswith(b"PK\x03\x04"):
        return "an archive, such as PyTorch (.pt, .pth) and Keras (.keras) save"
    if data.startswith(b"\x89HDF\r\n\x1a\n"):
        return "HDF5, such as Keras saves (.h5)"
    if (data[:1] == b"\x80" and data[1:2] in b"\x02\x03\x04\x05") or data.startswith(_ZLIB):
        return "a pickle (.pkl, .joblib, .pt), which is never read because it could run any code"
    if data[8:9] == b"{" and int.from_bytes(data[:8], "little") <= len(data):
        return "safetensors, which hold weights without their network"
    return None
