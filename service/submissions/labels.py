"""Labels of jobs, names and values that their callers find them by: the rule, and how they are written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from zenserve.errors import RequestError

MOST: Final = 16
NAME: Final = "^[a-z0-9][a-z0-9_.-]{0,62}$"
VALUE: Final = r"^[^\x00-\x1f\x7f-\x9f]{1,100}$"
PAIR: Final = f"{NAME[:-1]}={VALUE[1:]}"
"""As forms, addresses and the command line have them; the value may have further ``=``."""


def read(pairs: Iterable[str] | None) -> dict[str, str]:
    """From ``name=value`` each; None: none. Raises ``RequestError`` (``request.invalid``)."""
    labels: dict[str, str] = {}
    for pair in pairs or ():
        name, mark, value = pair.partition("=")
        if not mark:
            raise _invalid("label", "give it as name=value")
        if name in labels:
            raise _invalid("label", "two have one name: a job has one value for each")
        labels[name] = value
    return _checked(labels, "label")


def checked(labels: dict[str, str]) -> dict[str, str]:
    """As JSON has them. Raises ``RequestError`` (``request.invalid``)."""
    return _checked(labels, "labels")


def _checked(labels: dict[str, str], field: str) -> dict[str, str]:
    if len(labels) > MOST:
        raise _invalid(field, f"a job has {MOST} at most")
    for name, value in labels.items():
        if not _fits(NAME, name):
            raise _invalid(
                field, "a name has 1 to 63 of a-z, 0-9, _, . and -, and begins with a letter or a digit"
            )
        if not _fits(VALUE, value):
            raise _invalid(
                field, f"the value of {name} has 1 to 100 characters, none of them a control character"
            )
    return labels


def _fits(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern[1:-1], text) is not None  # Python's $ lets a last line break pass


def _invalid(field: str, reason: str) -> RequestError:
    return RequestError("request.invalid", f"{field}: {reason}", field=field)
