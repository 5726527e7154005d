"""The check that a statement fits iden3's formats: Groth16 without segments."""

from __future__ import annotations

from collections.abc import Sized

from zenserve.errors import StatementError


def require_plain(segments: Sized, what: str) -> None:
    """``StatementError`` (``statement.segments``) where ``what`` has segments."""
    if len(segments):
        raise StatementError(
            "statement.segments",
            f"{what} has {len(segments)} segments, and iden3's formats know none: use ZenServe's own",
        )
