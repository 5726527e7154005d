"""Commands start fast: what is slow to import is imported by those that need it."""

from __future__ import annotations

import subprocess
import sys

SLOW = ("numpy", "kernels", "onnx", "httpx", "sqlalchemy", "pydantic", "cryptography")


def test_the_command_line_loads_nothing_slow() -> None:
    program = f"import sys, service.cli; print([name for name in {SLOW} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert loaded.stdout.strip() == "[]"
