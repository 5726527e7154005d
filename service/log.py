"""Quiet structured logs: one line per event, ``time level event key=value …`` or JSON, on standard error.

Events carry ids, states and durations. Inputs, weights, keys and exception messages (which may quote
them) are never passed to a logger.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType, TracebackType

_context: ContextVar[dict[str, object]] = ContextVar("log", default={})  # noqa: B039  never changed


class _LineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = getattr(record, "fields", {})
        pairs = "".join(f" {key}={_plain(value)}" for key, value in fields.items())
        line = f"{_moment(record)} {record.levelname.lower()} {record.getMessage()}{pairs}"
        return "\n    ".join([line, *_frames(record)])


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if frames := _frames(record):
            line["frames"] = frames
        return json.dumps(line, default=str, ensure_ascii=False, separators=(",", ":"))


_FORMATTERS = {"text": _LineFormatter, "json": _JsonFormatter}


def _moment(record: logging.LogRecord) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z"


def _plain(value: object) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if any(c in text for c in ' "=\n') else text


def _frames(record: logging.LogRecord) -> list[str]:
    """Return the places and the class of an exception, without its message, after those of its causes."""
    frames: list[str] = []
    error = record.exc_info[1] if record.exc_info else None
    while error is not None:
        places = [f"{code.co_filename}:{line} {code.co_name}" for code, line in _places(error.__traceback__)]
        frames = [*places, type(error).__name__, *frames]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return frames


def _places(trace: TracebackType | None) -> Iterator[tuple[CodeType, int]]:
    while trace is not None:
        yield trace.tb_frame.f_code, trace.tb_lineno
        trace = trace.tb_next


def configure(level: str, form: str = "text") -> None:
    """Send this process's logs to standard error, as ``text`` or ``json``; libraries only from warnings
    upwards.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_FORMATTERS[form]())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("zenserve").setLevel(level)


@contextmanager
def context(**fields: object) -> Iterator[None]:
    """Put these fields into every event within the block, in what it calls, awaits and starts."""
    token = _context.set({**_context.get(), **fields})
    try:
        yield
    finally:
        _context.reset(token)


def request_id() -> str | None:
    """Of the request that is being answered here."""
    found = _context.get().get("request_id")
    return found if isinstance(found, str) else None


def event(name: str, *, level: int = logging.INFO, failed: bool = False, **fields: object) -> None:
    """Log one event. ``failed`` adds the frames of the exception being handled."""
    logger = logging.getLogger("zenserve")
    if logger.isEnabledFor(level):
        logger.log(level, name, extra={"fields": {**_context.get(), **fields}}, exc_info=failed)
