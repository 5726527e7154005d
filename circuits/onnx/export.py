"""PyTorch's exporters, called so that what they write is what the importer reads. PyTorch is optional."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from zenserve.errors import ModelError


def export_torch(module: Any, *examples: Any, batched: bool = False) -> bytes:
    """A ``torch.nn.Module`` as the bytes of an ONNX file with all weights inside, for inputs of the
    ``examples``' shapes.

    ``examples``: what the module takes, one input each, tensors or arrays. ``batched``: they are two rows of
    each, and the file is to take any number of rows. The module is exported as in
    ``eval()`` and left in the mode it was in: by torch.export, or, where that fails, as TorchScript. Raises
    ``ModelError``: ``model.no_pytorch`` when PyTorch is not installed, ``model.export`` where ``module`` is
    none of its modules, or neither exporter takes it.
    """
    try:
        import torch
    except ImportError:
        raise ModelError(
            "model.no_pytorch",
            "PyTorch is not installed: pip install torch onnxscript, or export the file elsewhere",
        ) from None
    if not isinstance(module, torch.nn.Module):
        raise ModelError("model.export", f"a {type(module).__name__} is no torch.nn.Module and no ONNX file")
    tensors = tuple(_tensor(example) for example in examples)
    refusals = []
    with in_evaluation(module), _silenced():
        for exporter in (_exported, _traced):
            try:
                return exporter(module, tensors, batched=batched)
            except Exception as refusal:  # whatever a module and an exporter may raise
                refusals.append(f"{exporter.__doc__}: {_reason(refusal)}")
    raise ModelError("model.export", f"PyTorch does not export the module; {'; '.join(refusals)}")


def _tensor(example: Any) -> Any:
    """Tensors as they are; other floats are of the type that modules have."""
    import torch

    made = torch.as_tensor(example)
    given = isinstance(example, torch.Tensor) or not made.is_floating_point()
    return made if given else made.to(torch.get_default_dtype())


def _exported(module: Any, examples: tuple[Any, ...], *, batched: bool) -> bytes:
    """torch.export"""
    import torch

    file = io.BytesIO()
    shapes = tuple({0: torch.export.Dim("batch")} for _ in examples) if batched else None
    program = torch.onnx.export(module, examples, dynamo=True, dynamic_shapes=shapes, verbose=False)
    program.save(file, external_data=False)
    return file.getvalue()


def _traced(module: Any, examples: tuple[Any, ...], *, batched: bool) -> bytes:
    """TorchScript"""
    import torch

    file = io.BytesIO()
    named: dict[str, Any] = {}
    if batched:
        names = [f"input_{place}" for place in range(len(examples))]
        named = {"input_names": names, "dynamic_axes": {name: {0: "batch"} for name in names}}
    torch.onnx.export(module, examples, file, dynamo=False, **named)
    return file.getvalue()


def _reason(error: BaseException) -> str:
    """The first line of what led to it: exporters wrap what they meet."""
    while error.__cause__ is not None:
        error = error.__cause__
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


@contextmanager
def in_evaluation(module: Any) -> Iterator[None]:
    training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(training)


@contextmanager
def _silenced() -> Iterator[None]:
    """Exporters warn of themselves, and print what they fail at."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
