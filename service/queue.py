"""The queue: Celery over files in the data directory, carrying job ids and nothing else.

A message is a hint that a job may be waiting. Losing one costs a moment (the reaper sends another), and
one too many costs nothing (the second claim finds no queued job). So there is no result backend, and the
broker need not be durable.
"""

from __future__ import annotations

from pathlib import Path

from celery import Celery  # type: ignore[import-untyped]

TASK = "zenserve.run_job"
QUEUE = "zenserve"


class Queue:
    """Sends job ids to the workers."""

    def __init__(self, folder: Path) -> None:
        for name in ("messages", "control"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self.celery = Celery("zenserve", set_as_current=False)
        self.celery.conf.update(
            broker_url="filesystem://localhost",
            broker_transport_options={
                "data_folder_in": str(folder / "messages"),
                "data_folder_out": str(folder / "messages"),
                "control_folder": str(folder / "control"),
                "polling_interval": 0.1,
            },
            broker_connection_retry_on_startup=True,
            task_default_queue=QUEUE,
            task_ignore_result=True,
            # One message at a time, given up only when its job is done: a worker that stops in good
            # order puts it back, and none waits behind a long proof in a worker's memory.
            task_acks_late=True,
            worker_prefetch_multiplier=1,
            worker_enable_remote_control=False,
            worker_hijack_root_logger=False,
            worker_redirect_stdouts=False,
        )

    def send(self, job_id: str) -> None:
        """Call this after the commit that made the job: a worker may read the database at once."""
        self.celery.send_task(TASK, args=[job_id])

    def is_empty(self) -> bool:
        with self.celery.connection_for_read() as connection, connection.channel() as channel:
            return int(channel._size(QUEUE)) == 0

    def close(self) -> None:
        self.celery.close()
