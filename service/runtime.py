"""The objects that every process of the service works with: settings, database, store, vault and queue."""

from __future__ import annotations

from dataclasses import dataclass

from zenserve.service.jobs.queue import Queue
from zenserve.service.settings import Settings
from zenserve.service.storage import private
from zenserve.service.storage.database import Database
from zenserve.service.storage.store import Store
from zenserve.service.storage.vault import Vault


@dataclass(frozen=True)
class Runtime:
    settings: Settings
    database: Database
    store: Store
    vault: Vault
    queue: Queue

    @classmethod
    def open(cls, settings: Settings) -> Runtime:
        """Open the data directory, making it on first use.

        Raises ``RequestError`` (``request.settings``) where others could read it.
        """
        private.own(settings.data_dir)
        return cls(
            settings,
            Database.from_settings(settings),
            Store.from_settings(settings),
            Vault.from_settings(settings),
            Queue(settings),
        )

    def close(self) -> None:
        self.queue.close()
        self.database.close()
