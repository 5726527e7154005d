"""Shared code of operators' commands on the database and files of a deployment itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from zenserve.errors import RequestError

if TYPE_CHECKING:
    from zenserve.service.runtime import Runtime
    from zenserve.service.settings import Settings


@contextmanager
def opened() -> Iterator[Runtime]:
    """The deployment that the settings name. None is made where there is none.

    Raises ``RequestError`` (``request.settings``), ``ResourceError`` (``resource.schema``).
    """
    from zenserve.service.runtime import Runtime
    from zenserve.service.settings import Settings
    from zenserve.service.storage import private, schema

    settings = Settings.read()
    require(settings)
    private.close_to_others()
    runtime = Runtime.open(settings)
    try:
        schema.require(runtime.database)
        yield runtime
    finally:
        runtime.close()


def require(settings: Settings) -> None:
    """Raises ``RequestError`` (``request.settings``) where no deployment is, or another is meant."""
    from zenserve.service.storage.database import is_made

    if "ZENSERVE_URL" in os.environ and not settings.model_fields_set & {"database_url", "data_dir"}:
        raise RequestError(
            "request.settings",
            "this works on a deployment itself, where its settings are, and not through ZENSERVE_URL: run it"
            " there (docker compose exec api zenserve …), or set ZENSERVE_DATA_DIR or ZENSERVE_DATABASE_URL",
            field="ZENSERVE_URL",
        )
    if not is_made(settings):
        raise RequestError(
            "request.settings",
            f"no service keeps its data in {settings.data_dir}: `zenserve serve` makes one there; or set"
            " ZENSERVE_DATA_DIR or ZENSERVE_DATABASE_URL to the one that you mean",
            field="ZENSERVE_DATA_DIR",
        )
