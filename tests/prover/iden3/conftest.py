from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.programs import Find

SNARKJS = "snarkjs@0.7.6"

Snarkjs = Callable[..., str]


@pytest.fixture(scope="session")
def snarkjs_program(program: Find) -> str:
    """The path of snarkjs, from npm's registry on the first run; a skip where that cannot be."""
    npm = program("npm")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zenserve" / SNARKJS
    snarkjs = cache / "node_modules" / ".bin" / "snarkjs"
    if not snarkjs.exists():
        options = [
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--fetch-retries=0",
            "--fetch-timeout=20000",
        ]
        cache.mkdir(parents=True, exist_ok=True)
        install = [npm, "install", *options, "--prefix", str(cache), SNARKJS]
        if subprocess.run(install, capture_output=True, check=False, timeout=180).returncode:
            pytest.skip(f"npm could not install {SNARKJS}")
    return str(snarkjs)


@pytest.fixture
def snarkjs(snarkjs_program: str, tmp_path: Path) -> Snarkjs:
    """Runs snarkjs in ``tmp_path`` and gives what it printed; fails the test where it fails."""

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [snarkjs_program, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,  # 2^12 powers take a busy machine minutes
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
