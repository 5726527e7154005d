"""Writes the API's description, of which web/client/schema.ts is made: python -m scripts.openapi."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zenserve.service.app import create_app
from zenserve.service.runtime import Runtime
from zenserve.service.settings import Settings


def description() -> dict[str, Any]:
    """OpenAPI 3.1, as ``/openapi.json`` has it: the same under all settings."""
    with TemporaryDirectory() as folder:
        runtime = Runtime.open(Settings(data_dir=Path(folder, "data"), auth="off"))
        try:
            return create_app(runtime).openapi()
        finally:
            runtime.close()


if __name__ == "__main__":
    json.dump(description(), sys.stdout)
