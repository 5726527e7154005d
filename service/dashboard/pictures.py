"""Inputs that are images, as PNG."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

_GREY, _RGB = 0, 2
_COLOURS: Final = {1: _GREY, 3: _RGB}
_SIDES: Final = range(4, 1025)


@dataclass(frozen=True)
class Picture:
    """``rows``: of bytes, as many for each pixel as there are ``channels``."""

    width: int
    height: int
    channels: int
    rows: Sequence[bytes]

    @classmethod
    def of(cls, values: Sequence[int], shape: Sequence[int], top: int) -> Self | None:
        """Of integers from 0 to ``top``, in the order of the shape; None where that is no image's: height and
        width, with one or three channels before them.
        """
        if not is_picture(shape):
            return None
        channels, height, width = [1, *shape][-3:]
        shades = bytes(255 * value // top for value in values)
        area, stride = width * height, channels * width
        planes = [shades[start : start + area] for start in range(0, len(shades), area)]
        pixels = bytes(shade for pixel in zip(*planes, strict=True) for shade in pixel)
        rows = [pixels[start : start + stride] for start in range(0, len(pixels), stride)]
        return cls(width, height, channels, rows)

    def png(self) -> bytes:
        """The file (RFC 2083)."""
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, _COLOURS[self.channels], 0, 0, 0)
        data = zlib.compress(b"".join(b"\0" + row for row in self.rows))
        chunks = ((b"IHDR", header), (b"IDAT", data), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in chunks)


def is_picture(shape: Sequence[int]) -> bool:
    """Return whether values of this shape are those of an image."""
    return (
        len(shape) in (2, 3)
        and (len(shape) == 2 or shape[0] in _COLOURS)
        and all(side in _SIDES for side in shape[-2:])
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
