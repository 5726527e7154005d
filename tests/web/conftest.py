"""Node and the packages of web/, or a reason why not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

WEB: Final = Path(__file__).parents[2] / "web"
_BIN: Final = Path(sys.prefix) / "bin"

Node = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def node() -> Node:
    """Runs ``node`` with these arguments in web/; the test is skipped where its packages are not there."""
    if not (WEB / "node_modules" / ".installed").exists():
        pytest.skip("the packages of web/ are not installed: make web/node_modules/.installed")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(_BIN / "node"), *arguments], cwd=WEB, capture_output=True, text=True, check=False
        )

    return run
