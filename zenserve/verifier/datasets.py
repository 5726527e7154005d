"""Labelled datasets as verifiers hold them: their content hash, and what their commitments are to.

Everything that verification needs of numpy is here.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zenserve.errors import TensorError
from zenserve.verifier import npy, npz
from zenserve.verifier.csv_file import CsvFile
from zenserve.verifier.description import InputType, Quantisation, type_limbs
from zenserve.verifier.document import parse_json
from zenserve.verifier.fields import canonical
from zenserve.verifier.measures import Targets, takes_targets
from zenserve.verifier.schemes import Measure
from zenserve.verifier.table import TableSchema

UNREADABLE: Final = (ValueError, RecursionError)
"""The exceptions that reading bytes of ``.npy`` or ``.npz`` files, or JSON, may raise."""
_TAG: Final = "zenserve dataset 1\n"
_TARGETS_TAG: Final = "zenserve dataset 2\n"
_SEVERAL_TAG: Final = "zenserve dataset 3\n"

Samples = ArrayLike | Mapping[str, ArrayLike]
"""Of the only input [n, …], or of each of several by its name."""


@dataclass(frozen=True, eq=False)
class LabelledData:
    """``inputs``: of each input float64[n, *shape], finite, as they were before quantisation, by its name;
    None names an only one. ``labels``: int64[n], or ``targets``: float64[n, outputs], finite, as they were,
    and all labels 0.
    """

    inputs: Mapping[str | None, NDArray[np.float64]]
    labels: NDArray[np.int64]
    targets: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, samples: Samples, labels: ArrayLike) -> LabelledData:
        """From numbers of any kind; labels must be integers that are not negative. Raises ``TensorError``:
        ``input.shape``, ``input.not_numeric``, ``input.not_finite``, ``input.empty``.
        """
        inputs, y = _by_input(samples), np.asarray(labels)
        _require_one_each(inputs, y, "labels", axes="[n]")
        if y.dtype.kind not in "iu" or y.min() < 0 or y.max() > np.iinfo(np.int64).max:
            raise TensorError("input.not_numeric", "labels must be integers from 0 on", field="labels")
        return cls(inputs, y.astype(np.int64))

    @classmethod
    def with_targets(cls, samples: Samples, targets: ArrayLike) -> LabelledData:
        """From numbers of any kind: of each sample one target, or as many as the network has outputs. Raises
        ``TensorError`` as ``of``.
        """
        inputs, y = _by_input(samples), numbers(targets, "targets")
        _require_one_each(inputs, y, "targets", axes="[n, …]")
        return cls(inputs, np.zeros(len(y), np.int64), y.reshape(len(y), -1))

    @classmethod
    def compared(cls, samples: Samples, truth: ArrayLike, measure: Measure) -> LabelledData:
        """With what the measure compares the network's outputs with: labels, or targets. Raises
        ``TensorError`` as ``of``."""
        return (cls.with_targets if takes_targets(measure) else cls.of)(samples, truth)

    @property
    def size(self) -> int:
        return len(self.labels)

    @property
    def samples(self) -> NDArray[np.float64]:
        """The samples of the only input."""
        (x,) = self.inputs.values()
        return x

    def in_order(self, names: Sequence[str | None]) -> LabelledData:
        """The same of these inputs alone, in the network's order, which the hash is of. Raises
        ``TensorError`` (``input.names``) where one is missing."""
        if not {*names} <= {*self.inputs}:
            known = f"arrays by the names {', '.join(map(str, names))}" if len(names) > 1 else "one array"
            raise TensorError("input.names", f"the samples must be {known}", field="samples")
        return replace(self, inputs={name: self.inputs[name] for name in names})

    @cached_property
    def sha256(self) -> bytes:
        """The content's hash, 32 bytes: the tag, a line with the samples' shape as JSON, then the samples as
        float64 and the labels as int64, little-endian, row-major. With targets, another tag, both shapes in
        two lines, then both as float64. Of several inputs, a third tag, and a line that has all names and
        shapes (docs/formats.md)."""
        second = self.labels.astype("<i8") if self.targets is None else self.targets.astype("<f8")
        digest = hashlib.sha256(self._header(second.shape))
        for array in (*(x.astype("<f8") for x in self.inputs.values()), second):
            digest.update(np.ascontiguousarray(array).data)
        return digest.digest()

    def _header(self, second: Sequence[int]) -> bytes:
        """Return the bytes that are hashed before the numbers. ``second``: the shape of labels or targets."""
        if None in self.inputs:
            shapes = [self.samples.shape, *([] if self.targets is None else [second])]
            tag = _TAG if self.targets is None else _TARGETS_TAG
            return (tag + "".join(f"{json.dumps(list(shape))}\n" for shape in shapes)).encode()
        inputs = [{"name": name, "shape": list(x.shape)} for name, x in self.inputs.items()]
        compared = "labels" if self.targets is None else "targets"
        return _SEVERAL_TAG.encode() + canonical({"inputs": inputs, compared: list(second)}) + b"\n"

    def shard_values(
        self, kinds: Sequence[InputType], batch: int, classes: int, target: Targets | None = None
    ) -> Iterator[list[int]]:
        """Yield the values that each shard's commitment is to: the limbs of the inputs' types
        (``type_limbs``), the integers of ``batch`` samples, one input after the other, the integers of their
        targets where errors are measured (``target``), then their labels.

        The last shard is padded with samples of zeros and the label ``classes``, which no network gives, or
        with targets of the minimum and the label 1. Raises ``TensorError`` (``input.shape``,
        ``input.out_of_range``).
        """
        targets = quantise_targets(self.targets_of(classes), target) if target else None
        filler = 1 if target else classes
        if self.targets is not None and target is None:
            raise TensorError("input.shape", "this is measured by labels, not by targets", field="targets")
        if self.labels.max() >= filler:
            raise TensorError("input.out_of_range", f"labels must lie in [0, {classes - 1}]", field="labels")
        for start in range(0, self.size, batch):
            labels = self.labels[start : start + batch]
            values, missing = type_limbs(kinds), batch - len(labels)
            for samples, kind in zip(self.inputs.values(), kinds, strict=True):
                own = samples[start : start + batch]
                values += [number for sample in own for number in quantise(sample, kind)]
                values += [0] * (missing * math.prod(kind.shape))
            if target and targets is not None:
                values += targets[start : start + batch].ravel().tolist()
                values += [target.minimum] * (missing * classes)
            yield [*values, *labels.tolist(), *[filler] * missing]

    def targets_of(self, outputs: int) -> NDArray[np.float64]:
        """The targets of a network of so many outputs. Raises ``TensorError`` (``input.shape``)."""
        if self.targets is None:
            raise TensorError("input.shape", "errors are measured by targets, not by labels", field="labels")
        if self.targets.shape[1] != outputs:
            raise TensorError(
                "input.shape",
                f"a sample has {self.targets.shape[1]} targets, and the network {outputs} outputs",
                field="targets",
            )
        return self.targets


def by_class(data: LabelledData) -> list[LabelledData]:
    """The samples of each class, in their order."""
    classes = range(int(data.labels.max()) + 1)
    return [
        LabelledData.of(data.samples[data.labels == own], data.labels[data.labels == own]) for own in classes
    ]


def _by_input(samples: Samples) -> dict[str | None, NDArray[np.float64]]:
    if isinstance(samples, Mapping):
        return {name: numbers(each, f"samples.{name}") for name, each in samples.items()}
    return {None: numbers(samples, "samples")}


def _require_one_each(
    inputs: Mapping[str | None, NDArray[np.float64]], truth: NDArray[Any], field: str, *, axes: str
) -> None:
    """Check that each input has one sample for each of the labels or targets. With several inputs, a sample
    may be a plain number. Raises ``TensorError`` (``input.shape``, ``input.empty``)."""
    for name, x in inputs.items():
        called, least = ("samples", 2) if name is None else (f"samples.{name}", 1)
        if truth.ndim < 1 or (axes == "[n]" and truth.ndim > 1) or x.ndim < least or len(x) != len(truth):
            raise TensorError(
                "input.shape",
                f"{called} are {list(x.shape)} and {field} {list(truth.shape)}; they must be [n, …] and"
                f" {axes}",
                field=field,
            )
    if not len(truth):
        raise TensorError("input.empty", "the dataset has no samples", field="samples")


def quantise_targets(targets: NDArray[np.float64], kind: Targets) -> NDArray[np.int64]:
    """The integers of targets, of their shape: the nearest. None is clipped, which would hide an error.
    Raises ``TensorError`` (``input.out_of_range``)."""
    with np.errstate(over="ignore"):
        nearest = np.rint(targets / kind.scale) + kind.zero_point
    if (nearest < kind.minimum).any() or (nearest > kind.maximum).any():
        ends = kind.minimum - kind.zero_point, kind.maximum - kind.zero_point
        low, high = (canonical(end * kind.scale).decode() for end in ends)
        raise TensorError(
            "input.out_of_range",
            f"targets lie too far from all that the network can say: take those from {low} to {high}",
            field="targets",
        )
    return nearest.astype(np.int64)


def quantise(values: ArrayLike, kind: InputType) -> list[int]:
    """The integers of one input, row-major, as the circuit takes them. Raises ``TensorError``."""
    x = numbers(values, "input")
    if list(x.shape) != kind.shape and not one_input(x.shape, kind.shape):
        raise TensorError(
            "input.shape",
            f"an input has shape {list(x.shape)}; the network takes {kind.shape}",
            field="input",
        )
    with np.errstate(over="ignore"):  # infinity is clipped like any other value
        nearest = np.rint(x / kind.scale) + kind.zero_point
    integers: list[int] = np.clip(nearest, 0, (1 << kind.bits) - 1).astype(np.int64).ravel().tolist()
    return integers


def one_input(given: Sequence[int], shape: Sequence[int]) -> bool:
    """Return whether one shape is the other as a batch of one: both forms of a single input are accepted."""
    return [1, *given] == [*shape] or [*given] == [1, *shape]


def load(
    file: Path,
    labels: Path | None = None,
    *,
    targets: bool = False,
    names: Sequence[str | None] = (None,),
) -> LabelledData:
    """From a ``.npz`` file with ``samples`` and ``labels``, or ``targets``, or two files. ``names``: of the
    inputs, of several of which the file has an array each in place of ``samples``. Raises ``TensorError``.
    """
    made, beside = (LabelledData.with_targets, "targets") if targets else (LabelledData.of, "labels")
    if None in names and labels is not None:
        return made(load_array(file), load_array(labels))
    wanted = ["samples" if name is None else name for name in names]
    arrays = read_arrays(file)
    truth = None if labels is None else load_array(labels)
    if truth is None and isinstance(arrays, dict) and beside not in wanted:
        truth = arrays.get(beside)
    if truth is None or not isinstance(arrays, dict) or not {*wanted} <= arrays.keys():
        kinds = f"{', '.join(wanted)}{'' if labels else f' and {beside}'}"
        raise TensorError("input.unreadable", f"{file} is no .npz file with {kinds}", field="samples")
    return made(arrays["samples"] if None in names else {name: arrays[name] for name in wanted}, truth)


def load_array(file: Path) -> NDArray[Any]:
    """From a ``.npy`` file (never a pickle) or a JSON array. Raises ``TensorError``."""
    array = read_arrays(file)
    if not isinstance(array, np.ndarray):
        raise TensorError("input.unreadable", f"{file} holds several arrays", field="input")
    return array


def load_inputs(
    file: Path, kinds: Quantisation, table: TableSchema | None = None
) -> list[int] | dict[str, list[int]]:
    """The integers of the network's input, or of several, or some of them, by the names that they have in
    the file: a ``.npz`` file, or JSON. A CSV file has one input in one row, with ``table`` cells by the names
    of its columns. Raises ``TensorError``."""
    if kinds.input is not None:
        if is_csv(data := file.read_bytes()):
            return quantise(_row(data, file, kinds.input, table), kinds.input)
        return quantise(load_array(file), kinds.input)
    arrays, types = read_arrays(file), {kind.name: kind for kind in kinds.inputs or []}
    if isinstance(arrays, np.ndarray) or not arrays or not arrays.keys() <= types.keys():
        raise TensorError(
            "input.names", f"{file} must have arrays by the names {', '.join(map(str, types))}", field="input"
        )
    return {name: quantise(array, types[name]) for name, array in arrays.items()}


def is_csv(data: bytes) -> bool:
    """Return whether ``data`` is of no other format: not ``.npy``, ``.npz``, or a JSON list or object."""
    return not data.startswith((npz.MAGIC, npy.MAGIC)) and not data.lstrip(b" \t\n\r").startswith(
        (b"[", b"{")
    )


def _row(data: bytes, file: Path, kind: InputType, table: TableSchema | None) -> NDArray[np.float64]:
    """One input of a CSV file, in the shape of the network's. Raises ``TensorError``."""
    try:
        read = CsvFile.parse(data, "input")
    except ValueError as error:
        reason = f"{file} is neither a .npy or .npz file, JSON nor CSV: {error}"
        raise TensorError("input.unreadable", reason, field="input") from None
    if len(read.rows) != 1:
        raise read.wrong("input.shape", f"the file has {len(read.rows)} rows; give the one of the proof")
    by_names = table is not None and table.columns
    values = read.by_names(table) if table and by_names else read.values(range(len(read.rows[0])))
    if values.size != math.prod(kind.shape):
        why = f"the row becomes {values.size} numbers; the network takes {kind.shape}"
        raise read.wrong(
            "input.shape", why if by_names else f"{why}: a model of a table needs its table.json"
        )
    return values.reshape(kind.shape)


def read_arrays(file: Path) -> NDArray[Any] | dict[str, NDArray[Any]]:
    """The array in a file, or arrays by name. Raises ``TensorError`` (``input.unreadable``)."""
    data = file.read_bytes()
    try:
        if data.startswith(npz.MAGIC):
            return read_npz(data)
        if data.startswith(npy.MAGIC):
            return read_npy(data)
        read = parse_json(data)
        if isinstance(read, dict):
            return {name: np.asarray(array) for name, array in read.items()}
        return np.asarray(read)
    except UNREADABLE as error:
        raise TensorError(
            "input.unreadable",
            f"{file} is neither a .npy or .npz file nor a JSON array: {error}",
            field="input",
        ) from None


def read_npz(data: bytes) -> dict[str, NDArray[Any]]:
    """The arrays in the bytes of a ``.npz`` file by name. Raises ``ValueError``."""
    return {name: read_npy(file) for name, file in npz.read_members(data).items()}


def read_npy(data: bytes) -> NDArray[Any]:
    """The array in the bytes of a ``.npy`` file, never a pickle. Raises ``ValueError``."""
    header = npy.read_header(data)
    order: Literal["F", "C"] = "F" if header.by_columns else "C"
    return np.ndarray(header.shape, header.type, data, header.start, order=order).copy("K")


def numbers(values: ArrayLike, field: str) -> NDArray[np.float64]:
    """float64[...], finite. Raises ``TensorError`` (``input.not_numeric``, ``input.not_finite``)."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise TensorError("input.not_numeric", f"{field} must be an array of numbers", field=field)
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise TensorError("input.not_finite", f"{field} must be finite", field=field)
    return array
