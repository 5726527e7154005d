"""The protobuf message: decoding, the operator set, and attributes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped]
from numpy.typing import NDArray
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto
from onnx.defs import onnx_opset_version

from zenserve.circuits.graphs.graph import Values
from zenserve.circuits.onnx.constants import FLOATS, MOST_DIMENSIONS, WHOLE
from zenserve.circuits.onnx.foreign import not_onnx
from zenserve.circuits.onnx.functions import inlined
from zenserve.circuits.onnx.naming import quote, where
from zenserve.errors import ModelError

# Before version 7 Gemm and Add broadcast by attributes of another meaning.
_OLDEST_OPSET = 7
_MOST_BYTES = 1 << 28
# Names of ONNX's own domain.
_OWN = ("", "ai.onnx")
_MOST_NODES = 1 << 13

# Where the value of an attribute of each type lies.
_FIELDS = {
    AttributeProto.INT: "i",
    AttributeProto.FLOAT: "f",
    AttributeProto.STRING: "s",
    AttributeProto.TENSOR: "t",
    AttributeProto.GRAPH: "g",
    AttributeProto.TYPE_PROTO: "tp",
    AttributeProto.INTS: "ints",
    AttributeProto.FLOATS: "floats",
    AttributeProto.STRINGS: "strings",
}
# What exporters write of dimensions that have no name, one like the other.
_NO_NAMES = ("", "?", "-1", "None")


def decode(data: bytes) -> ModelProto:
    if len(data) > _MOST_BYTES:
        raise ModelError(
            "model.too_large", f"the model has {len(data)} bytes; at most {_MOST_BYTES} are read"
        )
    if not data:
        raise ModelError("model.not_onnx", "the file is empty: it is not an ONNX model")
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise not_onnx(data, "it does not decode") from error
    if not model.ir_version or not model.graph.node:
        raise not_onnx(data, "it holds no graph")
    if model.functions:
        model = inlined(model, _MOST_NODES)
    if len(model.graph.node) > _MOST_NODES:
        raise ModelError(
            "model.too_large", f"the model has {len(model.graph.node)} nodes; at most {_MOST_NODES} are read"
        )
    versions = _versions(model)
    if len(versions) != 1 or not _OLDEST_OPSET <= versions[0] <= onnx_opset_version():
        raise ModelError(
            "model.opset",
            f"the model must name one ONNX operator set of version {_OLDEST_OPSET} to "
            f"{onnx_opset_version()}, not {versions[:4]}; export it with another opset_version",
        )
    return model


def message(file: bytes | os.PathLike[str]) -> ModelProto:
    """Decode an ONNX file, given by its bytes or its path."""
    return decode(file if isinstance(file, bytes) else Path(file).read_bytes())


def entries(file: bytes | os.PathLike[str]) -> dict[str, ValueInfoProto]:
    """The inputs of an ONNX file by name, in its order. Raises ``ModelError``."""
    graph = message(file).graph
    held = {each.name for each in graph.initializer}
    return {entry.name: entry for entry in graph.input if entry.name not in held}


def tensors_in(message: Any) -> Iterator[TensorProto]:
    """All tensors of a message, wherever they are: of attributes, inner graphs and functions, too."""
    for _, value in message.ListFields():
        for part in [value] if isinstance(value, Message) else value if isinstance(value, Sequence) else ():
            if isinstance(part, TensorProto):
                yield part
            elif isinstance(part, Message):
                yield from tensors_in(part)
            else:
                break


def operator_set(model: ModelProto) -> int:
    """The version of the ONNX operator set of a message that was decoded."""
    return _versions(model)[0]


def _versions(model: ModelProto) -> list[int]:
    """Return the operator sets that the model names. A file without operators of ONNX's own domain need not
    name one: it gets the newest."""
    named = [*{opset.version for opset in model.opset_import if opset.domain in _OWN}]
    needed = any(node.domain in _OWN for node in model.graph.node)
    return named if named or needed else [onnx_opset_version()]


def has_learned(model: ModelProto) -> bool:
    """Return whether the model names operators of ``ai.onnx.ml``, those of tabular models."""
    return any(opset.domain == "ai.onnx.ml" for opset in model.opset_import)


def attributes(node: NodeProto, known: Mapping[str, str]) -> dict[str, Any]:
    """The attributes by name. ``known``: the field that holds the value of each, one of ``_FIELDS``."""
    values: dict[str, Any] = {}
    for attribute in node.attribute:
        name, held = attribute.name, _FIELDS.get(attribute.type)
        if held is None or known.get(name) != held or attribute.ref_attr_name or name in values:
            raise ModelError(
                "model.unsupported_attribute",
                f"{where(node)} has the attribute {quote(name)}, which is not supported in this form; "
                f"supported are {', '.join(known) or 'none'}",
            )
        value = getattr(attribute, held)
        values[name] = list(value) if held in ("ints", "floats", "strings") else value
    return values


def input_shape(entry: ValueInfoProto, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of an input for one sample: a first dimension that varies is the batch, which is 1.
    ``sizes``: of dimensions that the file only names.
    """
    dimensions = list(entry.type.tensor_type.shape.dim)
    if len(dimensions) > MOST_DIMENSIONS:
        raise ModelError(
            "model.shape",
            f"the input {quote(entry.name)} has {len(dimensions)} dimensions, more than {MOST_DIMENSIONS}",
        )
    shape, missing = [], {}
    for axis, dimension in enumerate(dimensions):
        # PaddlePaddle writes -1 for what varies.
        varies = dimension.dim_value < 0 or not dimension.HasField("dim_value")
        name, is_batch = _name(entry, axis), axis == 0 and varies
        size = dimension.dim_value if dimension.dim_value > 0 else sizes.get(name, int(is_batch))
        if size < 1:
            missing[axis] = name
        shape.append(int(size))
    if missing:
        axes, named = ", ".join(map(str, missing)), dict.fromkeys(missing.values())
        raise ModelError(
            "model.dynamic_shape",
            f"dimension{'s' * (len(missing) > 1)} {axes} of the input {quote(entry.name)} "
            f"{'are' if len(missing) > 1 else 'is'} not fixed; give the size, "
            f"{' '.join(f'--shape {name[:80]}=…' for name in named)}, or export it with one",
            field="shape",
        )
    return tuple(shape)


def require_known(sizes: Mapping[str, int], entries: Sequence[ValueInfoProto]) -> None:
    """Raises ``ModelError`` (``model.dynamic_shape``) for sizes of what is no dimension of an input, and no
    input of a single whole number either."""
    free = {
        _name(entry, axis)
        for entry in entries
        for axis, dimension in enumerate(entry.type.tensor_type.shape.dim)
        if dimension.dim_value < 1
    }
    free |= {entry.name for entry in entries if _is_count(entry)}
    if unknown := min(sizes.keys() - free, default=None):
        known = ", ".join(quote(name) for name in sorted(free)) or "none"
        raise ModelError(
            "model.dynamic_shape",
            f"no input has a dimension {quote(unknown)} that is not fixed, or is a single whole number of "
            f"this name; those there are: {known}",
            field="shape",
        )


def count(entry: ValueInfoProto, sizes: Mapping[str, int]) -> NDArray[np.int64] | None:
    """Return the value to which ``sizes`` fixes an input of a single whole number, such as a sampling rate or
    a length, in the input's shape; None for all other inputs."""
    if entry.name not in sizes or not _is_count(entry):
        return None
    return np.full((1,) * len(entry.type.tensor_type.shape.dim), sizes[entry.name])


def _is_count(entry: ValueInfoProto) -> bool:
    dimensions = entry.type.tensor_type.shape.dim
    fixed = [dimension.dim_value for dimension in dimensions if dimension.dim_value > 0]
    return entry.type.tensor_type.elem_type in WHOLE and len(dimensions) < 2 and fixed in ([], [1])


def _name(entry: ValueInfoProto, axis: int) -> str:
    """Return the name of an open dimension; if the file gives none, a name by its place."""
    said = entry.type.tensor_type.shape.dim[axis].dim_param
    return f"{entry.name}.{axis}" if said in _NO_NAMES else said


def open_sizes(entry: ValueInfoProto, shape: Sequence[int]) -> dict[str, int]:
    """Return the sizes that a tensor of this shape gives to the dimensions which the file leaves open for an
    input, by their names, except a batch of one; empty if the number of dimensions differs."""
    dimensions = entry.type.tensor_type.shape.dim
    if len(dimensions) != len(shape):
        return {}
    return {
        _name(entry, axis): size
        for axis, (dimension, size) in enumerate(zip(dimensions, shape, strict=True))
        if dimension.dim_value < 1 and (axis, size) != (0, 1)
    }


def input_values(entry: ValueInfoProto) -> Values:
    """Return the kind of numbers of an input of the network. Raises ``ModelError``
    (``model.tensor_type``)."""
    kind = entry.type.tensor_type.elem_type
    if kind in FLOATS:
        return "real"
    if kind != TensorProto.BOOL and kind not in WHOLE:
        raise ModelError(
            "model.tensor_type",
            f"the input {quote(entry.name)} must be a tensor of floats, integers or booleans",
        )
    return "boolean" if kind == TensorProto.BOOL else "integer"
