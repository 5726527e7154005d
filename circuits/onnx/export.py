"""PyTorch's exporter, called so that what it writes is what the importer reads. PyTorch is optional."""

from __future__ import annotations

import io
from typing import Any

from zenerrors import ModelError


def export_torch(module: Any, example: Any) -> bytes:
    """A ``torch.nn.Module`` as the bytes of an ONNX file with all weights inside.

    ``example``: a tensor [1, ...] that the module takes. The module is exported as in ``eval()`` and left in
    the mode it was in. Raises ``ModelError`` (``model.no_pytorch``) when PyTorch is not installed.
    """
    try:
        import torch
    except ImportError:
        raise ModelError(
            "model.no_pytorch",
            "PyTorch is not installed: pip install 'zenserve[torch]', or export the file elsewhere",
        ) from None
    training, file = module.training, io.BytesIO()
    module.eval()
    try:
        names = {"input_names": ["input"], "output_names": ["output"]}
        shapes = ({0: torch.export.Dim("batch")},)
        program = torch.onnx.export(
            module, (example,), dynamo=True, dynamic_shapes=shapes, verbose=False, **names
        )
        program.save(file, external_data=False)
    finally:
        module.train(training)
    return file.getvalue()
