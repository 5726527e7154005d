"""Inputs and labels from files as people have them (docs/inputs.md).

    .npy             one array
    .npz             arrays by the names of the network's inputs, and ``labels``
    .json            an array; an object of arrays, as in .npz; or EZKL's, {"input_data": [[…], …]}
    .csv             a row for each sample
    a PNG or JPEG    one sample, and a folder of them one for each: with sub-folders, one for each class

What a file is, its first bytes say. Files may be hostile: nothing in them is executed, and no size that they
claim is believed before it is checked. Messages name places, never values: those may be secret.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.samples.pictures import SUFFIXES, Scaling, read_picture, read_pictures
from zenserve.circuits.samples.table import Table
from zenserve.errors import TensorError
from zenserve.verifier import npy, npz
from zenserve.verifier.datasets import UNREADABLE, one_input, read_npy, read_npz
from zenserve.verifier.document import parse_json
from zenserve.verifier.table import TableSchema, is_rows

Shapes = Mapping[str, tuple[int, ...]]
"""Of one sample, by the names of the network's inputs, in its order."""
Array = NDArray[Any]

LABELS: Final = "labels"
"""The name of an array of labels beside those of the inputs."""
_EZKL: Final = "input_data"


@dataclass(frozen=True, eq=False)
class Samples:
    """``inputs``: arrays of numbers [n, …] by the names of the network's inputs, or one sample of it, as the
    file had it. ``labels``: [n], or as the outputs are, where the file has them."""

    inputs: Mapping[str, Array]
    labels: Array | None = None

    def as_json(self) -> Any:
        """The inputs as requests have them: nested lists, of several inputs by their names."""
        lists = {name: array.tolist() for name, array in self.inputs.items()}
        return next(iter(lists.values())) if len(lists) == 1 else lists

    def to_npz(self) -> bytes:
        """A ``.npz`` file that ``parse`` reads as these, the same bytes for the same numbers."""
        labels = {} if self.labels is None else {LABELS: self.labels}
        out = io.BytesIO()
        with ZipFile(out, "w") as archive:
            for name, array in {**self.inputs, **labels}.items():
                archive.writestr(ZipInfo(f"{name}.npy"), to_npy(array))
        return out.getvalue()


def read(
    path: Path,
    shapes: Shapes,
    field: str,
    *,
    column: str | None = None,
    scaling: Scaling | None = None,
    schema: TableSchema | None = None,
) -> Samples:
    """From a file, or a folder of pictures, which become numbers by ``scaling``: else as for ``parse``."""
    if not is_pictures(path):
        return parse(path.read_bytes(), shapes, field, column=column, schema=schema)
    name, shape = _only(shapes, field, "pictures")
    scaling = scaling or Scaling()
    if path.is_dir():
        pictures, labels = read_pictures(path, shape, scaling, field)
        return Samples({name: pictures}, labels)
    return Samples({name: read_picture(path, shape, scaling, field)[np.newaxis]})


def is_pictures(path: Path) -> bool:
    """Return whether the path is a folder, or has the suffix of a picture."""
    return path.is_dir() or path.suffix.lower() in SUFFIXES


def parse(
    data: bytes,
    shapes: Shapes,
    field: str,
    *,
    column: str | None = None,
    schema: TableSchema | None = None,
) -> Samples:
    """From the bytes of a file. ``column``: that of the labels in a CSV file; None: ``label``, if it has one.
    ``schema``: of the table whose rows the network reads; CSV and JSON then have cells by names of columns.

    Raises ``TensorError`` about ``field``: ``input.unreadable``, ``input.not_numeric``, ``input.shape``,
    ``input.not_finite``, ``input.empty``.
    """
    if schema and schema.columns and (rows := cells(data, field)) is not None:
        ((name, _),) = shapes.items()
        if isinstance(rows, Table):
            return Samples({name: rows.named(schema, column)}, rows.labels_beside(schema, column))
        return Samples({name: schema.encode(rows, field)})
    content = _content(data, field)
    if isinstance(content, Table):
        values, labels = content.columns(sum(map(math.prod, shapes.values())), column)
        return Samples(_split(values, shapes), labels)
    if isinstance(content, list):
        return Samples(_flat(content, shapes, field))
    if isinstance(content, dict):
        return _named(content, shapes, field)
    name, shape = _only(shapes, field, "one array")
    return Samples({name: _without_batch(content, shape)})


def array(data: bytes, field: str) -> Array | None:
    """The one array that a ``.npy`` or JSON file is; None where it is something else. Raises as ``parse``."""
    content = _content(data, field)
    return content if isinstance(content, np.ndarray) else None


def parse_labels(
    data: bytes, field: str, *, column: str | None = None, schema: TableSchema | None = None
) -> Array:
    """Labels in a file of their own: an array, or a column of a CSV file. Raises as ``parse``."""
    content = _content(data, field)
    if isinstance(content, Table):
        return content.labels(column, schema.classes if schema else None)
    if isinstance(content, dict) and LABELS in content:
        return content[LABELS]
    if isinstance(content, dict | list):
        raise _unreadable(field, f"there must be one array, or one that is called {LABELS}")
    return content


def to_npy(array: Array) -> bytes:
    """A ``.npy`` file."""
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def to_npz(samples: Array) -> bytes:
    """A ``.npz`` file of these alone, compressed."""
    out = io.BytesIO()
    np.savez_compressed(out, samples=samples)
    return out.getvalue()


def cells(data: bytes, field: str) -> Any:
    """A CSV file (``Table``), or JSON of cells by names of columns; None of anything else. Raises as
    ``parse``."""
    if data.startswith((npy.MAGIC, npz.MAGIC)):
        return None
    try:
        if not data.lstrip().startswith((b"[", b"{")):
            return Table.parse(data, field)
        value = parse_json(data)
    except UNREADABLE as error:
        reason = f"neither a .npy or .npz file, JSON nor CSV of cells: {unquoted(error)}"
        raise _unreadable(field, reason) from None
    return value if is_rows(value) and _EZKL not in value else None


def _content(data: bytes, field: str) -> Array | dict[str, Array] | list[Any] | Table:
    """An array, arrays by name, EZKL's lists, or a table."""
    try:
        if data.startswith(npy.MAGIC):
            return _numbers(read_npy(data), field)
        if data.startswith(npz.MAGIC):
            return {name: _numbers(array, field, name) for name, array in read_npz(data).items()}
        if not data.lstrip().startswith((b"[", b"{")):
            return Table.parse(data, field)
        value = parse_json(data)
    except UNREADABLE as error:
        reason = f"neither a .npy or .npz file, JSON nor CSV of numbers: {unquoted(error)}"
        raise _unreadable(field, reason) from None
    if not isinstance(value, dict):
        return _numbers(value, field)
    lists = value.get(_EZKL)
    if isinstance(lists, list):
        return lists
    return {name: _numbers(each, field, name) for name, each in value.items()}


def unquoted(error: Exception) -> str:
    """Return a parser's message about a file, without the bytes that it quotes."""
    return "it is no UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)


def as_array(value: Any) -> Array:
    """A nested list as numpy reads it: of objects where it is ragged, or deeper than any array."""
    try:
        return np.asarray(value)
    except (ValueError, RecursionError):
        return np.empty(0, dtype=object)


def _numbers(value: Any, field: str, name: str = "") -> Array:
    array = as_array(value)
    if array.dtype.kind not in "iufb":
        raise TensorError(
            "input.not_numeric",
            f"{field}{name and ': '}{name} must be a rectangular array of numbers: every list of one depth "
            "as long as the others, no null or text, no integer beyond 64 bits",
            field=field,
        )
    return array.astype(np.int64) if array.dtype.kind == "b" else array


def _named(arrays: Mapping[str, Array], shapes: Shapes, field: str) -> Samples:
    """A network's only input may be called anything."""
    labels = None if LABELS in shapes else arrays.get(LABELS)
    rest = {name: array for name, array in arrays.items() if labels is None or name != LABELS}
    if len(shapes) == len(rest) == 1:
        rest = dict(zip(shapes, rest.values(), strict=True))
    if missing := [name for name in shapes if name not in rest]:
        raise _unreadable(
            field,
            f"there is no array for the input {missing[0]!r}, but {', '.join(map(repr, arrays)) or 'none'}",
        )
    return Samples({name: _without_batch(rest[name], shape) for name, shape in shapes.items()}, labels)


def _without_batch(array: Array, shape: tuple[int, ...]) -> Array:
    """[n, *shape] of [n, 1, *shape], and the other way round; all others as they are."""
    return array.reshape(len(array), *shape) if one_input(array.shape[1:], shape) else array


def _flat(lists: list[Any], shapes: Shapes, field: str) -> dict[str, Array]:
    """EZKL's: for each input the values of a sample in a row, or those of several."""
    if len(lists) < len(shapes):
        raise _unreadable(field, f"{_EZKL} has {len(lists)} lists, and the network {len(shapes)} inputs")
    made = {}
    for (name, shape), values in zip(shapes.items(), lists, strict=False):
        array, size = _numbers(values, field, name).ravel(), math.prod(shape)
        if not array.size or array.size % size:
            raise TensorError(
                "input.shape",
                f"{field}: {name} has {array.size} values; a sample of shape {list(shape)} takes {size}",
                field=field,
            )
        made[name] = array.reshape(-1, *shape)
    return made


def _split(values: Array, shapes: Shapes) -> dict[str, Array]:
    """Of [n, values] those of each input, one after the other."""
    ends = np.cumsum([math.prod(shape) for shape in shapes.values()])[:-1]
    parts = np.split(values, ends, axis=1)
    return {name: part.reshape(-1, *shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


def _only(shapes: Shapes, field: str, what: str) -> tuple[str, tuple[int, ...]]:
    if len(shapes) != 1:
        raise _unreadable(
            field,
            f"{what} for a network with {len(shapes)} inputs; give a .npz file, or JSON, with arrays by "
            f"their names: {', '.join(shapes)}",
        )
    return next(iter(shapes.items()))


def _unreadable(field: str, why: str) -> TensorError:
    return TensorError("input.unreadable", f"{field}: {why}", field=field)
