"""Messages on their way through the folder that is the broker of one host."""

from __future__ import annotations

import builtins
import io
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from queue import Empty
from typing import Any

import pytest

from zenserve.service.jobs.queue import Queue
from zenserve.service.settings import Settings


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return Queue(Settings(data_dir=tmp_path))


def received(queue: Queue) -> list[str]:
    """The job ids of all messages that a worker finds now."""
    found: list[str] = []
    with (
        queue.celery.connection_for_read() as connection,
        closing(connection.SimpleQueue("zenserve.cpu")) as end,
    ):
        while True:
            try:
                message = end.get_nowait()
            except Empty:
                return found
            found.append(message.payload[0][0])
            message.ack()


def test_messages_arrive_once_and_in_order(queue: Queue) -> None:
    for number in range(5):
        queue.send(f"job_{number}")
    assert not queue.is_empty()
    assert received(queue) == [f"job_{number}" for number in range(5)]
    assert queue.is_empty()
    assert received(queue) == []


def test_a_message_that_is_being_written_is_not_there_yet(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    _write_slowly(monkeypatch, lambda: seen.append(received(queue)))
    queue.send("job_1")
    monkeypatch.undo()
    assert seen
    assert not any(seen)
    assert received(queue) == ["job_1"]


def test_a_message_that_a_crash_of_the_host_emptied_holds_nobody_up(queue: Queue, tmp_path: Path) -> None:
    for number in range(2):
        queue.send(f"job_{number}")
    first, _ = sorted(tmp_path.glob("broker/*/*"))
    first.write_text("")
    assert received(queue) == ["job_1"]
    assert queue.is_empty()


def test_a_message_that_another_takes_first_is_the_others(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        queue.send(f"job_{number}")
    real, others = Path.read_text, iter([True])

    def slow(path: Path, *given: Any) -> str:
        text = real(path, *given)
        if next(others, False):
            path.unlink()
        return text

    monkeypatch.setattr(Path, "read_text", slow)
    assert received(queue) == ["job_1"]


def _write_slowly(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
    """Whatever is written to a file from now on is written in two halves, with time for others between."""
    real = builtins.open

    def opened(file: Any, mode: str = "r", *options: Any, **named: Any) -> Any:
        stream = real(file, mode, *options, **named)
        if "w" not in mode:
            return stream
        write = stream.write

        def slowly(text: Any) -> None:
            meanwhile()
            write(text[: len(text) // 2])
            stream.flush()
            meanwhile()
            write(text[len(text) // 2 :])

        return _Slow(stream, slowly)

    monkeypatch.setattr(builtins, "open", opened)
    monkeypatch.setattr(io, "open", opened)


class _Slow:
    """A file whose ``write`` is another."""

    def __init__(self, stream: Any, write: Callable[[Any], None]) -> None:
        self._stream = stream
        self.write = write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __enter__(self) -> _Slow:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
