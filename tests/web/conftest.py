"""Node and the packages of web/, or a reason why not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

WEB: Final = Path(__file__).parents[2] / "web"
_BIN: Final = Path(sys.prefix) / "bin"

Node = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def node() -> Node:
    """Runs ``node`` with these arguments in web/, with what it is given to read, and an environment beside
    ours. The test is skipped where web/'s packages are not there.
    """
    if not (WEB / "node_modules" / ".installed").exists():
        pytest.skip("the packages of web/ are not installed: make web/node_modules/.installed")

    def run(
        *arguments: str, given: str | None = None, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(_BIN / "node"), *arguments],
            cwd=WEB,
            input=given,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            check=False,
        )

    return run
