"""A broker that is a folder: for each queue a folder in it, for each message a file in that.

kombu's own writes its files where readers look for them, and one may read half a message. Here a file is
written under another name first, so that it is there as a whole or not at all. Who removes it has it.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from queue import Empty
from typing import Any
from uuid import uuid4

from kombu.transport import virtual

_MESSAGES = "*.json"


class Channel(virtual.Channel):
    """The channel that kombu requires of a broker, for queues that messages are sent to by name."""

    def _put(self, queue: str, message: dict[str, Any], **_: object) -> None:
        whole = self._folder(queue) / f"{time.time_ns()}-{uuid4().hex}.json"
        written = whole.with_suffix(".part")
        written.write_text(json.dumps(message))
        written.rename(whole)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        """The oldest message. Raises ``Empty``."""
        for file in sorted(self._folder(queue).glob(_MESSAGES)):
            # Another was faster; or the host went down when it was written, and nothing but its name is left.
            with suppress(FileNotFoundError, ValueError):
                text = file.read_text()
                file.unlink()
                return json.loads(text)
        raise Empty

    def _size(self, queue: str) -> int:
        return sum(1 for _ in self._folder(queue).glob(_MESSAGES))

    def _purge(self, queue: str) -> int:
        files = list(self._folder(queue).glob(_MESSAGES))
        for file in files:
            file.unlink(missing_ok=True)
        return len(files)

    def _folder(self, queue: str) -> Path:
        folder = Path(self.connection.client.transport_options["folder"], queue)
        folder.mkdir(parents=True, exist_ok=True)
        return folder


class Transport(virtual.Transport):
    """The transport that Celery's setting ``broker_transport`` names."""

    Channel = Channel
    driver_type = driver_name = "folder"

    def driver_version(self) -> str:
        return "1"
