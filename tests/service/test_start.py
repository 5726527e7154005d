"""Commands start fast: what is slow to import is imported by those that need it."""

from __future__ import annotations

import subprocess
import sys

import pytest

SERVERS = ("sqlalchemy", "alembic", "celery", "fastapi", "httpx", "cryptography")
SLOW = ("numpy", "zenserve.kernels", "onnx", "pydantic", *SERVERS)


@pytest.mark.parametrize(
    ("module", "needless"),
    [
        ("zenserve.service.cli", SLOW),
        ("zenserve.service.intake", SERVERS),
        (
            "zenserve.service.worker.__main__",
            ("alembic", "fastapi", "starlette", "onnx", "zenserve.client.api"),
        ),
    ],
)
def test_nothing_needless_is_loaded(module: str, needless: tuple[str, ...]) -> None:
    """``zenserve.service.intake`` is the sandbox's: it starts for every file, and has nothing to do with
    servers. A worker starts again when it dies, and answers no requests.
    """
    program = f"import sys, {module}; print([name for name in {needless} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert loaded.stdout.strip() == "[]"
