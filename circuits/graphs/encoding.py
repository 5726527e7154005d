"""Networks as bytes, without pickle: everything is checked before it is believed.

    preamble (16 bytes) | SHA-256 of all the rest (32) | length of header (u32) | header (JSON)
    | the arrays that the header names, one after the other

Integers and floats are little-endian. The header holds a dataclass as an object of its fields and its
``kind``, an array as ``{"array": [type, *shape]}``, an infinite float as text. Fields are read by the types
that the classes declare. One that is () by default, as dilations are, is there only where it is not ().
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.node import Named
from zenserve.circuits.graphs.types import Shape
from zenserve.errors import FileFormatError
from zenserve.verifier.document import parse_json
from zenserve.verifier.preamble import PREAMBLE_BYTES, Kind, check_preamble, preamble

_PREFIX: Final = PREAMBLE_BYTES + 32 + 4

T = TypeVar("T")


@dataclass(frozen=True)
class Encoding:
    """Of networks of one ``kind``, whose ``nodes`` have these names in files."""

    kind: Kind
    nodes: Mapping[str, type[Named]]

    def write(self, network: Any) -> bytes:
        """``network``, a dataclass, as bytes. They hold the weights."""
        arrays: list[bytes] = []
        header = json.dumps(_encode(network, arrays)).encode()
        body = struct.pack("<I", len(header)) + header + b"".join(arrays)
        return preamble(self.kind) + hashlib.sha256(body).digest() + body

    def read(self, kinds: Sequence[type[T]], data: bytes) -> T:
        """Return the network that ``write`` was given, one of ``kinds``.

        Raises ``FileFormatError``: ``file.magic``, ``file.version``, ``file.kind``, ``file.length``,
        ``file.hash``, ``file.header``; and ``ModelError`` where the parts make no sense.
        """
        check_preamble(data, self.kind)
        if len(data) < _PREFIX:
            raise FileFormatError("file.length", f"a network of {len(data)} bytes is cut short")
        if hashlib.sha256(data[_PREFIX - 4 :]).digest() != data[PREAMBLE_BYTES : _PREFIX - 4]:
            raise FileFormatError("file.hash", "the file is corrupt: its SHA-256 does not match")
        (length,) = struct.unpack_from("<I", data, _PREFIX - 4)
        text = data[_PREFIX : _PREFIX + length]
        try:
            header = parse_json(text)
        except ValueError as error:
            raise FileFormatError("file.header", "the header is no JSON") from error
        reader = _Reader(data, _PREFIX + length, self.nodes)
        found = header.get("kind") if isinstance(header, dict) else None
        kind = next((kind for kind in kinds if _kind(kind) == found), kinds[0])
        network: T = reader.decode(kind, header)
        reader.finish()
        if json.dumps(_encode(network, [])).encode() != text:
            raise FileFormatError("file.header", "the header has fields or spellings that no writer produces")
        return network


def _encode(value: Any, arrays: list[bytes]) -> Any:
    if isinstance(value, np.ndarray):
        stored = value.astype(value.dtype.newbyteorder("<"))
        arrays.append(stored.tobytes())
        return {"array": [stored.dtype.str, *stored.shape]}
    if is_dataclass(value):
        return {"kind": _kind(type(value))} | {
            field.name: _encode(getattr(value, field.name), arrays)
            for field in fields(value)
            if field.default != () or getattr(value, field.name) != ()
        }
    if isinstance(value, tuple):
        return [_encode(part, arrays) for part in value]
    return str(value) if value in _INFINITE.values() else value


_INFINITE: Final = {"inf": math.inf, "-inf": -math.inf}


class _Reader:
    """Decodes header values by their declared types, and takes the arrays from the rest of the file."""

    def __init__(self, data: bytes, position: int, nodes: Mapping[str, type[Named]]) -> None:
        self._data = data
        self._position = position
        self._nodes = nodes

    def decode(self, hint: Any, value: Any) -> Any:
        """``value`` as the type ``hint``."""
        if isinstance(hint, UnionType):
            kinds = [kind for kind in get_args(hint) if kind is not NoneType]
            if value is None and len(kinds) < len(get_args(hint)):
                return None
            return self.decode(next((kind for kind in kinds if _is_of(kind, value)), kinds[0]), value)
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is tuple:
            return self._tuple(arguments, value)
        if dtype := _element(hint):
            return self._array(dtype, value)
        if is_dataclass(hint):
            return self._object(hint, value)
        if origin is Literal:
            _require(value in arguments, f"{str(value)[:40]!r} is none of {arguments}")
            return value
        if hint is float and isinstance(value, str):
            _require(value in _INFINITE, f"{value[:40]!r} is no number")
            return _INFINITE[value]
        _require(type(value) is hint, f"{str(value)[:40]!r} is no {hint.__name__}")
        return value

    def _tuple(self, arguments: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
        _require(isinstance(value, list), "a list is missing")
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            arguments = (arguments[0],) * len(value)
        _require(len(arguments) == len(value), f"a list has {len(value)} entries, not {len(arguments)}")
        return tuple(self.decode(hint, part) for hint, part in zip(arguments, value, strict=True))

    def _object(self, hint: Any, value: Any) -> Any:
        found = value.get("kind") if isinstance(value, dict) else None
        kind = self._nodes.get(found, hint) if isinstance(found, str) else hint
        hints = get_type_hints(kind)
        given = value if isinstance(value, dict) else {}
        names = [field.name for field in fields(kind) if field.default != () or field.name in given]
        fits = _kind(kind) == found and issubclass(kind, hint) and set(given) == {"kind", *names}
        _require(fits, f"a {hint.__name__} is missing, or has other fields")
        return kind(**{name: self.decode(hints[name], given[name]) for name in names})

    def _array(self, dtype: np.dtype[Any], value: Any) -> NDArray[Any]:
        found = value.get("array") if isinstance(value, dict) and len(value) == 1 else None
        _require(isinstance(found, list) and len(found) > 1, "an array is missing")
        assert found is not None  # noqa: S101  for mypy
        stored = dtype.newbyteorder("<")
        _require(found[0] == stored.str, f"an array is not of type {stored.str}")
        shape = self.decode(Shape, found[1:])
        _require(all(size >= 0 for size in shape), "an array has a negative size")
        count = math.prod(shape) * stored.itemsize
        if self._position + count > len(self._data):
            raise FileFormatError("file.length", "the file is shorter than its header says")
        array = np.frombuffer(self._data, stored, math.prod(shape), self._position)
        self._position += count
        return array.astype(dtype).reshape(shape)

    def finish(self) -> None:
        if self._position != len(self._data):
            raise FileFormatError("file.length", "the file is longer than its header says")


def _element(hint: Any) -> np.dtype[Any] | None:
    """Of a type of arrays that of its elements."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is NDArray:  # an alias of its own since numpy 2.5
        dtype: np.dtype[Any] = np.dtype(arguments[0])
        return dtype
    return np.dtype(get_args(arguments[1])[0]) if origin is np.ndarray else None


def _is_of(hint: Any, value: Any) -> bool:
    """Return whether ``value`` is an array of the type ``hint``."""
    dtype, found = _element(hint), value.get("array") if isinstance(value, dict) else None
    return bool(dtype and found and found[0] == dtype.newbyteorder("<").str)


def _kind(kind: type) -> str:
    return kind.operator() if issubclass(kind, Named) else kind.__name__.removeprefix("Stored")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise FileFormatError("file.header", f"the header is malformed: {message}")
