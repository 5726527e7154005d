"""The queues: Celery over Redis, or over files in the data directory, carrying job ids and nothing else.

A message is a hint that its queue holds work; which job a worker then takes is ``scheduling``'s
choice. Losing a message costs a moment (the reaper sends another), and one too many costs nothing (the claim
that it leads to finds no queued job). So there is no result backend, and the broker need not be durable.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from celery import Celery  # type: ignore[import-untyped]

from zenserve.service import log
from zenserve.service.settings import QueueName, Settings

if TYPE_CHECKING:
    from redis import Redis

REST_SECONDS: Final = 2.0
_LONGEST_SECONDS: Final = 15.0
"""More than any attempt to send takes."""
TASK: Final = "zenserve.run_job"
_PREFIX: Final = "zenserve."
SCHEDULER_SECONDS: Final = 60
_SCHEDULER: Final = f"{_PREFIX}beat"


class Queue:
    """Sends job ids to the workers."""

    def __init__(self, settings: Settings) -> None:
        self._turn = threading.Lock()
        self._is_down = False
        self._quiet_until = 0.0
        self._scheduler_file = settings.data_dir / "beat"
        self._redis: Redis | None = None
        if settings.broker_url is not None:
            url = settings.broker_url.get_secret_value()
            from redis import Redis  # it brings OpenTelemetry's SDK along

            self._redis = Redis.from_url(url, socket_timeout=3, socket_connect_timeout=3)
            broker = _redis(url)
        else:
            broker = _folder(settings.data_dir / "broker")
        self.celery = Celery("zenserve", set_as_current=False)
        self.celery.conf.update(
            **broker,
            broker_connection_retry_on_startup=True,
            broker_connection_max_retries=None,
            task_ignore_result=True,
            # One message at a time, given up only when its job is done: a worker that stops in good
            # order puts it back, and none waits behind a long proof in a worker's memory. One that the broker
            # delivers again, after hours, finds its job taken.
            task_acks_late=True,
            worker_prefetch_multiplier=1,
            worker_enable_remote_control=False,
            worker_hijack_root_logger=False,
            worker_redirect_stdouts=False,
        )

    def send(self, job_id: str, queue: QueueName = "cpu") -> None:
        """Tell the workers. Call this after the commit that queued the job: one may read it at once.

        A broker that is down costs time, not the job: the reaper tells them later. Then only one caller tries
        at a time, and after a rest, else all would wait for it.
        """
        if not self._may_try():
            return
        try:
            self.celery.send_task(TASK, args=[job_id], queue=_PREFIX + queue, retry=False)
        except Exception:
            self._found(down=True)
            log.event("queue.unreachable", level=30, id=job_id, failed=True)
        else:
            self._found(down=False)

    def _may_try(self) -> bool:
        with self._turn:
            moment = time.monotonic()
            if moment < self._quiet_until:
                return False
            if self._is_down:
                self._quiet_until = moment + _LONGEST_SECONDS
            return True

    def _found(self, *, down: bool) -> None:
        with self._turn:
            self._is_down = down
            self._quiet_until = time.monotonic() + REST_SECONDS if down else 0.0

    def is_empty(self, queue: QueueName = "cpu") -> bool:
        """Return whether no message waits for a worker."""
        with self.celery.connection_for_read() as connection, connection.channel() as channel:
            return int(channel._size(_PREFIX + queue)) == 0

    def scheduler_lives(self) -> None:
        """Leave word that somebody looks after what workers leave behind."""
        if self._redis is not None:
            self._redis.set(_SCHEDULER, 1, ex=SCHEDULER_SECONDS)
        else:
            self._scheduler_file.touch()

    def has_scheduler(self) -> bool:
        """Return whether a scheduler has lately reported."""
        if self._redis is not None:
            return bool(self._redis.exists(_SCHEDULER))
        try:
            return time.time() - self._scheduler_file.stat().st_mtime < SCHEDULER_SECONDS
        except FileNotFoundError:
            return False

    def ping(self) -> None:
        """Raises what the broker's library raises where it does not answer."""
        with self.celery.connection_for_read() as connection:
            connection.ensure_connection(max_retries=1, timeout=3)

    def close(self) -> None:
        self.celery.close()
        if self._redis is not None:
            self._redis.close()


def names(queues: Sequence[QueueName]) -> list[str]:
    """The queues as the broker knows them."""
    return [_PREFIX + queue for queue in queues]


def _redis(url: str) -> dict[str, Any]:
    return {
        "broker_url": url,
        "broker_transport_options": {
            "max_retries": 0,  # when sending: callers wait
            "socket_timeout": 10,
            "socket_connect_timeout": 3,
            "socket_keepalive": True,
            "health_check_interval": 10,
        },
    }


def _folder(folder: Path) -> dict[str, Any]:
    return {
        "broker_url": "folder://localhost",
        "broker_transport": "zenserve.service.jobs.folder:Transport",
        "broker_transport_options": {"folder": str(folder), "polling_interval": 0.1},
    }
