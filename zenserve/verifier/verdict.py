"""The answer of a proof system to a verifier: whether a proof holds, and a stable name for why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NoReturn

OK: Final = "ok"
LINK_MISMATCH: Final = "link_mismatch"
"""A commitment is not to what was proven about: ``index`` says which."""
SUM_MISMATCH: Final = "sum_mismatch"
"""Commitments do not add up to the total."""


@dataclass(frozen=True)
class Verdict:
    """``reason``: one of the ``reasons`` of the proof system that answers; ``detail``: a sentence.

    ``index``: the part of the proof that the reason is about; for a ``link_mismatch`` the place among the
    commitments that were given.
    A verdict is true where the proof is valid, so that ``if verify(...)`` means what it says.
    """

    valid: bool
    reason: str
    detail: str
    index: int | None = None

    def __bool__(self) -> bool:
        return self.valid


class RefusedError(Exception):
    """Ends a judgement: ``reason`` is a stable name, ``detail`` a sentence, "" for the reason's own;
    ``remedy`` says what to do about it, where that is more than to distrust the document.
    """

    def __init__(self, reason: str, detail: str, remedy: str | None) -> None:
        self.reason = reason
        self.detail = detail
        self.remedy = remedy


def refuse(reason: str, detail: str = "", remedy: str | None = None) -> NoReturn:
    raise RefusedError(reason, detail, remedy)
