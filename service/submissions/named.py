"""Parameters of a network's inputs by name, as forms and the command line have them.

They are the sizes of dimensions that an ONNX file only names, and the ranges of integer inputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from zenserve.errors import RequestError

_NAME: Final = r"[^\x00-\x1f\x7f-\x9f]{1,100}"
"""It may have ``=`` in it."""
_INTEGER: Final = "-?[0-9]{1,9}"
SIZE: Final = f"^{_NAME}=[1-9][0-9]{{0,8}}$"
RANGE: Final = f"^{_NAME}={_INTEGER}:{_INTEGER}$"


def sizes(pairs: Iterable[str] | None) -> dict[str, int]:
    """From ``NAME=SIZE`` each; None: none. Raises ``RequestError`` (``request.invalid``)."""
    found = _read("shape", pairs, SIZE, "NAME=SIZE, such as tokens=128")
    return {name: int(size) for name, size in found.items()}


def ranges(pairs: Iterable[str] | None) -> dict[str, tuple[int, int]]:
    """From ``NAME=LEAST:MOST`` each; None: none. Raises ``RequestError`` (``request.invalid``)."""
    ends = dict[str, tuple[int, int]]()
    for name, text in _read("range", pairs, RANGE, "NAME=LEAST:MOST, such as tokens=0:29999").items():
        least, most = (int(end) for end in text.split(":"))
        if least > most:
            raise _invalid("range", f"of {name!r} the least comes first")
        ends[name] = least, most
    return ends


def _read(field: str, pairs: Iterable[str] | None, pattern: str, form: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs or ():
        name, _, value = pair.rpartition("=")
        if not re.fullmatch(pattern[1:-1], pair):
            raise _invalid(field, f"give it as {form}")
        if name in found:
            raise _invalid(field, f"there are two of {name!r}")
        found[name] = value
    return found


def _invalid(field: str, reason: str) -> RequestError:
    return RequestError("request.invalid", f"{field}: {reason}", field=field)
