"""Quantised networks as bytes, without pickle: everything is checked before it is believed.

    preamble (16 bytes, kind "qnet") | SHA-256 of all the rest (32) | length of header (u32) | header (JSON)
    | per layer: weight, u8[outputs, inputs], then bias, i64[outputs]

Integers are little-endian.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import asdict, dataclass

import numpy as np
from pydantic import TypeAdapter, ValidationError

from circuits.quantlayer import Affine, QuantLayer, Rescale, layer_name
from prover.preamble import PREAMBLE_BYTES, Kind, check_preamble, preamble
from zenerrors import FileFormatError

KIND = Kind(b"qnet", 1)
_PREFIX = PREAMBLE_BYTES + 32 + 4


@dataclass(frozen=True)
class _Layer:
    shape: tuple[int, int]
    weight_type: Affine
    rescale: Rescale | None


@dataclass(frozen=True)
class _Header:
    bits: int
    input_shape: tuple[int, ...]
    input_type: Affine
    layers: tuple[_Layer, ...]


def write(
    bits: int, input_shape: tuple[int, ...], input_type: Affine, layers: tuple[QuantLayer, ...]
) -> bytes:
    """The parts of a ``QuantGraph`` as bytes."""
    described = tuple(
        _Layer((layer.weight.shape[0], layer.weight.shape[1]), layer.weight_type, layer.rescale)
        for layer in layers
    )
    header = _encode(_Header(bits, input_shape, input_type, described))
    arrays = b"".join(
        layer.weight.astype("<u1").tobytes() + layer.bias.astype("<i8").tobytes() for layer in layers
    )
    body = struct.pack("<I", len(header)) + header + arrays
    return preamble(KIND) + hashlib.sha256(body).digest() + body


def read(data: bytes) -> tuple[int, tuple[int, ...], Affine, tuple[QuantLayer, ...]]:
    """The parts that ``write`` was given, not yet checked against each other. Raises ``FileFormatError``:
    ``file.magic``, ``file.version``, ``file.kind``, ``file.length``, ``file.hash``, ``file.header``."""
    check_preamble(data, KIND)
    if len(data) < _PREFIX:
        raise FileFormatError("file.length", f"a network of {len(data)} bytes is cut short")
    if hashlib.sha256(data[_PREFIX - 4 :]).digest() != data[PREAMBLE_BYTES : _PREFIX - 4]:
        raise FileFormatError("file.hash", "the file is corrupt: its SHA-256 does not match")
    (header_bytes,) = struct.unpack_from("<I", data, _PREFIX - 4)
    text = data[_PREFIX : _PREFIX + header_bytes]
    try:
        header = TypeAdapter(_Header).validate_json(text, strict=True)
    except ValidationError as error:
        raise FileFormatError(
            "file.header", f"the header is malformed: {error.error_count()} faults"
        ) from error
    if _encode(header) != text:
        raise FileFormatError("file.header", "the header has fields or spellings that no writer produces")
    reader = _Reader(data, _PREFIX + header_bytes)
    layers = tuple(_read_layer(layer, index, reader) for index, layer in enumerate(header.layers))
    reader.finish()
    return header.bits, header.input_shape, header.input_type, layers


def _read_layer(layer: _Layer, index: int, reader: _Reader) -> QuantLayer:
    outputs, inputs = layer.shape
    if outputs < 1 or inputs < 1:
        raise FileFormatError("file.header", f"layer {index} has shape {list(layer.shape)}")
    weight = np.frombuffer(reader.take(outputs * inputs), "<u1").reshape(outputs, inputs)
    bias = np.frombuffer(reader.take(outputs * 8), "<i8").astype(np.int64)
    return QuantLayer(layer_name(index), weight, layer.weight_type, bias, layer.rescale)


def _encode(header: _Header) -> bytes:
    return json.dumps(asdict(header)).encode()


class _Reader:
    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self._position = position

    def take(self, count: int) -> bytes:
        end = self._position + count
        if end > len(self._data):
            raise FileFormatError("file.length", "the file is shorter than its header says")
        part = self._data[self._position : end]
        self._position = end
        return part

    def finish(self) -> None:
        if self._position != len(self._data):
            raise FileFormatError("file.length", "the file is longer than its header says")
