"""What callers hand in: a network, its input, and typical ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

from circuits import Graph, export_torch, load_onnx
from circuits.graphs.graph import Values
from circuits.graphs.types import FloatArray, Shape
from circuits.onnx.message import decode
from verifier.datasets import numbers, one_input

VARIATIONS: Final = 15
VARIED: Final = 0.1


def read(network: Any, x: Any) -> Graph:
    """The network that takes ``x``: a ``torch.nn.Module``, the path or the bytes of an ONNX file, or an ONNX
    model. Dimensions that a file only names are as long as those of ``x``. Raises ``ModelError``.
    """
    if isinstance(network, ModelProto):
        network = network.SerializeToString()
    elif isinstance(network, str):
        network = Path(network)
    elif not isinstance(network, bytes | os.PathLike):
        network = export_torch(network, x)
    return load_onnx(network, _sizes(network, array(x).shape))


def _sizes(file: bytes | os.PathLike[str], shape: Shape) -> dict[str, int]:
    """How long an input of this shape has the dimensions that the file names; the batch is not one."""
    graph = decode(file if isinstance(file, bytes) else Path(file).read_bytes()).graph
    held = {each.name for each in graph.initializer}
    entries = [entry.type.tensor_type.shape.dim for entry in graph.input if entry.name not in held]
    sizes: dict[str, int] = {}
    for dimensions in entries:
        if len(dimensions) == len(shape):
            named = zip(dimensions[1:], shape[1:], strict=True)
            sizes |= {dimension.dim_param: size for dimension, size in named if dimension.dim_param}
    return sizes


def array(values: Any) -> NDArray[Any]:
    """Numbers of any kind, a tensor of PyTorch's too."""
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)


def one(values: Any, shape: Shape) -> FloatArray:
    """An input, float64[*shape], where it is one, with a batch of one around it or without. Raises
    ``TensorError``."""
    x = numbers(array(values), "input")
    return x.reshape(shape) if one_input(x.shape, shape) else x


def typical(values: Any, shape: Shape) -> FloatArray:
    """Inputs to calibrate with, float64[n, *shape]. Raises ``TensorError``."""
    x = numbers(array(values), "calibration")
    return x.reshape(-1, *shape) if x.ndim and one_input(x.shape[1:], shape) else x


def varied(x: NDArray[Any], values: Values = "real") -> FloatArray:
    """``x`` and variations of it, [1 + VARIATIONS, *shape]: each value times 0.9 to 1.1, so that no range is
    a point, and signs and zeros stay. Integers stay such, and booleans what they are."""
    most = 0.0 if values == "boolean" else VARIED
    factors = np.random.default_rng(0).uniform(1 - most, 1 + most, (VARIATIONS, *x.shape))
    made: FloatArray = np.concatenate([np.ones((1, *x.shape)), factors]) * x
    return made if values == "real" else np.rint(made)
