"""The abilities of a worker on this host: its queues, its memory, its GPU."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from typing import Any, Final, Self

from zenserve.base.memory import free_memory
from zenserve.prover import backends
from zenserve.service.settings import QueueName, Settings

_QUERY: Final = (
    "--query-gpu=name,memory.used,memory.total,utilization.gpu",
    "--format=csv,noheader,nounits",
)
_DEVICES_SECONDS: Final = 5.0


@dataclass
class Abilities:
    """The queues that a worker takes from, and its threads and backend."""

    queues: list[QueueName]
    backend: str
    threads: int
    memory: int | None
    """Bytes that a job may take; None: whatever is free."""
    most: int = 0
    """Bytes that were ever free for a job: what it can have once others here are over."""
    bus: str | None = None
    """The PCI address of the GPU that it proves on."""
    _devices: list[dict[str, Any]] | None = None
    _devices_at: float = float("-inf")

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Raises ``ResourceError`` as ``backends.chosen`` does."""
        backend = backends.chosen()
        queues = [queue for queue in settings.queues if queue == "cpu" or backend.name == "gpu"]
        return cls(queues, backend.name, settings.threads, settings.worker_memory_bytes, bus=backend.bus())

    def free_memory(self) -> int:
        """Bytes that a job may take now."""
        free = free_memory()
        free = free if self.memory is None else min(free, self.memory)
        self.most = max(self.most, free)
        return free

    def columns(self) -> dict[str, Any]:
        """Return the columns of the worker's row."""
        self.free_memory()
        return {
            "host": socket.gethostname(),
            "queues": self.queues,
            "backend": self.backend,
            "threads": self.threads,
            "memory": self.most,
            "devices": self._seen_devices(self.bus) if self.bus else None,
        }

    def _seen_devices(self, bus: str) -> list[dict[str, Any]] | None:
        if time.monotonic() - self._devices_at > _DEVICES_SECONDS:
            self._devices, self._devices_at = _devices(bus), time.monotonic()
        return self._devices


def _devices(bus: str) -> list[dict[str, Any]] | None:
    """As the driver's own tool tells."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    try:
        answer = subprocess.run(  # noqa: S603  a fixed command, but for CUDA's address
            [program, f"--id={bus}", *_QUERY], capture_output=True, text=True, timeout=2, check=True
        )
        return [_device(line) for line in answer.stdout.splitlines() if line.strip()]
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def _device(line: str) -> dict[str, Any]:
    name, used, total, busy = (part.strip() for part in line.split(","))
    return {
        "name": name,
        "memory_used": int(used) << 20,
        "memory_total": int(total) << 20,
        "busy": int(busy) if busy.isdecimal() else None,
    }
