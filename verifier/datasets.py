"""Labelled datasets as verifiers hold them: their content hash, and what their commitments are to.

Everything that verification needs of numpy is here.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verifier.document import parse_json
from verifier.documents import InputType, Quantisation
from zenerrors import TensorError

NPY: Final = b"\x93NUMPY"
"""What a ``.npy`` file begins with."""
NPZ: Final = b"PK"
"""What a ``.npz`` file begins with."""
UNREADABLE: Final = (ValueError, RecursionError, EOFError, BadZipFile, NotImplementedError, zlib.error)
"""What reading bytes of either, or JSON, may raise."""
_PLAIN: Final = (ZIP_STORED, ZIP_DEFLATED)
_TAG: Final = b"zenserve dataset 1\n"


@dataclass(frozen=True, eq=False)
class LabelledData:
    """``samples``: float64[n, *shape], finite, as they were before quantisation; ``labels``: int64[n].

    Raises ``TensorError``: ``input.shape``, ``input.not_numeric``, ``input.not_finite``, ``input.empty``.
    """

    samples: NDArray[np.float64]
    labels: NDArray[np.int64]

    @classmethod
    def of(cls, samples: ArrayLike, labels: ArrayLike) -> LabelledData:
        """From numbers of any kind; labels must be integers that are not negative."""
        x, y = numbers(samples, "samples"), np.asarray(labels)
        if y.ndim != 1 or x.ndim < 2 or len(x) != len(y):
            raise TensorError(
                "input.shape",
                f"samples are {list(x.shape)} and labels {list(y.shape)}; they must be [n, …] and [n]",
                field="labels",
            )
        if not len(y):
            raise TensorError("input.empty", "the dataset has no samples", field="samples")
        if y.dtype.kind not in "iu" or y.min() < 0 or y.max() > np.iinfo(np.int64).max:
            raise TensorError("input.not_numeric", "labels must be integers from 0 on", field="labels")
        return cls(x, y.astype(np.int64))

    @property
    def size(self) -> int:
        return len(self.labels)

    @cached_property
    def sha256(self) -> bytes:
        """The content's hash, 32 bytes: the tag, a line with the samples' shape as JSON, then the samples as
        float64 and the labels as int64, little-endian, row-major."""
        digest = hashlib.sha256(_TAG + json.dumps(list(self.samples.shape)).encode() + b"\n")
        digest.update(np.ascontiguousarray(self.samples, dtype="<f8").data)
        digest.update(np.ascontiguousarray(self.labels, dtype="<i8").data)
        return digest.digest()

    def shard_values(self, kind: InputType, batch: int, classes: int) -> Iterator[list[int]]:
        """What the shards' commitments are to: the samples' type (``InputType.limbs``), the integers of
        ``batch`` samples, then their labels.

        The last shard is filled up with samples of zeros and the label ``classes``, which no network gives.
        Raises ``TensorError`` (``input.shape``, ``input.out_of_range``).
        """
        if self.labels.max() >= classes:
            raise TensorError("input.out_of_range", f"labels must lie in [0, {classes - 1}]", field="labels")
        for start in range(0, self.size, batch):
            samples, labels = self.samples[start : start + batch], self.labels[start : start + batch]
            values = [number for sample in samples for number in quantise(sample, kind)]
            missing = batch - len(labels)
            values += [0] * (missing * len(values) // len(labels))
            yield [*kind.limbs, *values, *labels.tolist(), *[classes] * missing]


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
    """Whether one of these shapes is the other as a batch of one: a lone input comes either way."""
    return [1, *given] == [*shape] or [*given] == [1, *shape]


def load(file: Path, labels: Path | None = None) -> LabelledData:
    """From a ``.npz`` file with ``samples`` and ``labels``, or two files. Raises ``TensorError``."""
    if labels is not None:
        return LabelledData.of(load_array(file), load_array(labels))
    arrays = _read(file)
    if not isinstance(arrays, dict) or not {"samples", "labels"} <= arrays.keys():
        raise TensorError(
            "input.unreadable", f"{file} is no .npz file with samples and labels", field="samples"
        )
    return LabelledData.of(arrays["samples"], arrays["labels"])


def load_array(file: Path) -> NDArray[Any]:
    """From a ``.npy`` file (never a pickle) or a JSON array. Raises ``TensorError``."""
    array = _read(file)
    if not isinstance(array, np.ndarray):
        raise TensorError("input.unreadable", f"{file} holds several arrays", field="input")
    return array


def load_inputs(file: Path, kinds: Quantisation) -> list[int] | dict[str, list[int]]:
    """The integers of the network's input, or of several, or some of them, by the names that they have in
    the file: a ``.npz`` file, or JSON. Raises ``TensorError``."""
    if kinds.input is not None:
        return quantise(load_array(file), kinds.input)
    arrays, types = _read(file), {kind.name: kind for kind in kinds.inputs or []}
    if isinstance(arrays, np.ndarray) or not arrays or not arrays.keys() <= types.keys():
        raise TensorError(
            "input.names", f"{file} must have arrays by the names {', '.join(map(str, types))}", field="input"
        )
    return {name: quantise(array, types[name]) for name, array in arrays.items()}


def _read(file: Path) -> NDArray[Any] | dict[str, NDArray[Any]]:
    data = file.read_bytes()
    try:
        if data.startswith(NPZ):
            return read_npz(data)
        if data.startswith(NPY):
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
    """The arrays in the bytes of a ``.npz`` file by name. Raises ``UNREADABLE``."""
    with ZipFile(BytesIO(data)) as archive:
        # What numpy writes. Others are encrypted, or a million times as large as the file.
        if any(each.flag_bits & 1 or each.compress_type not in _PLAIN for each in archive.infolist()):
            raise ValueError("it is packed in ways that numpy does not use")
        return {name.removesuffix(".npy"): read_npy(archive.read(name)) for name in archive.namelist()}


def read_npy(data: bytes) -> NDArray[Any]:
    """The array in the bytes of a ``.npy`` file, never a pickle. Raises ``ValueError``.

    What its header says of its size is believed as far as bytes are there: numpy takes the memory first.
    """
    file = BytesIO(data)
    major, _ = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
    try:
        shape, _, dtype = read_header(file)
    except Exception as error:  # numpy has Python's own parser read the text, which ends in many ways
        raise ValueError(f"its header is not as numpy writes it: {error}") from None
    if math.prod(shape) * max(1, dtype.itemsize) != len(data) - file.tell():
        raise ValueError("the header says another size than the file has")
    array: NDArray[Any] = np.load(BytesIO(data), allow_pickle=False)
    return array


def numbers(values: ArrayLike, field: str) -> NDArray[np.float64]:
    """float64[...], finite. Raises ``TensorError`` (``input.not_numeric``, ``input.not_finite``)."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise TensorError("input.not_numeric", f"{field} must be an array of numbers", field=field)
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise TensorError("input.not_finite", f"{field} must be finite", field=field)
    return array
