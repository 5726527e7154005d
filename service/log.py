"""Quiet structured logs: one line per event, ``time level event key=value …``, on standard error.

Events carry ids, states and durations. Inputs, weights, keys and exception messages (which may quote
them) are never passed to a logger.
"""

from __future__ import annotations

import json
import logging
import time


class _LineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields: dict[str, object] = getattr(record, "fields", {})
        pairs = "".join(f" {key}={_plain(value)}" for key, value in fields.items())
        line = f"{moment}Z {record.levelname.lower()} {record.getMessage()}{pairs}"
        if record.exc_info and (trace := _frames(record)):
            line += f"\n{trace}"
        return line


def _plain(value: object) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if any(c in text for c in ' "=\n') else text


def _frames(record: logging.LogRecord) -> str:
    """Where it happened and the exception's class, without its message."""
    if not record.exc_info or record.exc_info[0] is None:
        return ""
    lines = []
    trace = record.exc_info[2]
    while trace is not None:
        code = trace.tb_frame.f_code
        lines.append(f"    {code.co_filename}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return "\n".join([*lines, f"    {record.exc_info[0].__name__}"])


def configure(level: str) -> None:
    """Send this process's logs to standard error; libraries only from warnings upwards."""
    handler = logging.StreamHandler()
    handler.setFormatter(_LineFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("zenserve").setLevel(level)


def event(name: str, *, level: int = logging.INFO, failed: bool = False, **fields: object) -> None:
    """Log one event. ``failed`` adds the frames of the exception being handled."""
    logging.getLogger("zenserve").log(level, name, extra={"fields": fields}, exc_info=failed)
