"""Tensors of the file, decoded when they are read."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from onnx import TensorProto, numpy_helper

from zenserve.circuits.onnx.constants import (
    FLOAT_BITS,
    FLOATS,
    MOST_DIMENSIONS,
    WHOLE,
    Allowance,
    Constant,
    Element,
)
from zenserve.errors import ModelError

# Bits of an element in raw data.
_WIDTHS: dict[int, int] = {
    **FLOAT_BITS,
    Element.BOOL: 8,
    **{kind: bits for kind, (bits, _) in WHOLE.items()},
}


def decode_tensor(tensor: TensorProto, name: str, allowance: Allowance, folder: Path | None) -> Constant:
    """The tensor ``name``, as errors quote it. ``folder``: where tensors outside the file may lie."""
    if tensor.data_type not in _WIDTHS:
        raise ModelError(
            "model.tensor_type",
            f"the tensor {name} has elements of type {_type_name(tensor.data_type)}; supported are "
            f"{', '.join(_type_name(kind) for kind in _WIDTHS)}",
        )
    if any(size < 0 for size in tensor.dims):
        raise _does_not_fit(name)
    elements = math.prod(tensor.dims)
    if not is_elsewhere(tensor):
        _require_data(tensor, elements, name)
    if len(tensor.dims) > MOST_DIMENSIONS:
        raise ModelError(
            "model.shape",
            f"the tensor {name} has {len(tensor.dims)} dimensions, more than {MOST_DIMENSIONS}",
        )
    allowance.require(elements, f"the tensor {name}")
    if is_elsewhere(tensor):
        tensor = _fetched(tensor, -(-elements * _WIDTHS[tensor.data_type] // 8), name, folder)
    try:
        array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, OverflowError) as error:
        raise _does_not_fit(name) from error
    if tensor.data_type == Element.UINT64 and (array >= 1 << 63).any():
        raise ModelError("model.tensor_type", f"the tensor {name} has integers of 2^63 and more")
    with np.errstate(invalid="ignore"):  # a signalling NaN, which is refused where it is used
        array = array.astype(np.float64 if tensor.data_type in FLOATS else np.int64)
    allowance.hold(array, f"the tensor {name}")
    return Constant(array, tensor.data_type)


def is_elsewhere(tensor: TensorProto) -> bool:
    """Return whether the tensor's data is in another file."""
    return bool(tensor.external_data) or tensor.data_location == TensorProto.EXTERNAL


def _require_data(tensor: TensorProto, elements: int, name: str) -> None:
    """Refuse dimensions that promise more than the file holds, before anything is allocated for them."""
    width = _WIDTHS[tensor.data_type]
    if tensor.HasField("raw_data"):
        held = len(tensor.raw_data) * 8 // width
    else:
        fields = (tensor.float_data, tensor.double_data, tensor.int32_data, tensor.int64_data)
        held = max(map(len, fields)) * max(1, 8 // width)
    if elements > held:
        raise _does_not_fit(name)


def _fetched(tensor: TensorProto, size: int, name: str, folder: Path | None) -> TensorProto:
    """The tensor with its data read from the file that it names, which must lie in ``folder``."""
    if folder is None:
        raise ModelError(
            "model.external_data",
            f"the tensor {name} lives in another file; load the model from its path, or save it with all "
            "weights inside",
        )
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    path = _inside(folder, location, name)
    try:
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", size))
    except ValueError:
        offset, length = -1, -1
    if offset < 0 or length != size or offset + length > path.stat().st_size:
        raise ModelError(
            "model.external_data",
            f"the tensor {name} takes {size} bytes, which is not what the file holds at the place it names",
        )
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read(length)
    return TensorProto(dims=tensor.dims, data_type=tensor.data_type, raw_data=data)


def _inside(folder: Path, location: str, name: str) -> Path:
    """The regular file ``location`` in ``folder``, links followed."""
    try:
        path = (folder / location).resolve(strict=True)
        reachable = path.is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError, RuntimeError):
        reachable = False
    if not reachable:
        raise ModelError(
            "model.external_data",
            f"the tensor {name} is said to be in {location[:80]!r}, which is no file in the folder of "
            "the model; keep them together",
        )
    return path


def _does_not_fit(name: str) -> ModelError:
    return ModelError("model.bad_tensor", f"the data of the tensor {name} does not fit its type and shape")


def _type_name(kind: int) -> str:
    names = {number: name for name, number in TensorProto.DataType.items()}
    return str(names.get(kind, kind)).lower()
