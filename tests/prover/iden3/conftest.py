from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

SNARKJS = "snarkjs@0.7.6"

Snarkjs = Callable[..., str]


@pytest.fixture(scope="session")
def snarkjs_program() -> str:
    """The path of snarkjs, from npm's registry on the first run; a skip where that cannot be."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("snarkjs needs node and npm")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zenserve" / SNARKJS
    program = cache / "node_modules" / ".bin" / "snarkjs"
    if not program.exists():
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
    return str(program)


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
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
