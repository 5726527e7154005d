"""Sizes of dimensions that an ONNX file only names, as callers give them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from zenerrors import RequestError

PAIR: Final = r"^[^\x00-\x1f\x7f-\x9f]{1,100}=[1-9][0-9]{0,8}$"
"""A name, which may have ``=`` in it, and a size."""


def read(pairs: Iterable[str] | None) -> dict[str, int]:
    """From ``NAME=SIZE`` each; None: none. Raises ``RequestError`` (``request.invalid``)."""
    sizes: dict[str, int] = {}
    for pair in pairs or ():
        name, _, size = pair.rpartition("=")
        if not re.fullmatch(PAIR[1:-1], pair):
            raise _invalid("give it as NAME=SIZE, such as tokens=128")
        if name in sizes:
            raise _invalid(f"there are two sizes of {name!r}")
        sizes[name] = int(size)
    return sizes


def _invalid(reason: str) -> RequestError:
    return RequestError("request.invalid", f"shape: {reason}", field="shape")
