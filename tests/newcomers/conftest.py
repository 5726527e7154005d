"""Environments that have what strangers can install alone: the built wheels, and the registry's packages.

Wheels are built from this tree, unless ``ZENSERVE_WHEELS`` names the folder that has them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]

Environment = Callable[..., Path]


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds the wheels of ``zenserve`` and ``zenserve-client``."""
    if built := os.environ.get("ZENSERVE_WHEELS"):
        return Path(built).resolve()
    folder = tmp_path_factory.mktemp("wheels")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder)]
    run([*pip, str(ROOT), str(ROOT / "packages" / "client")], folder)
    return folder


@pytest.fixture(scope="session")
def environment(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Make an environment that has ``distribution``, from the wheels, and ``packages``, from the registry.

    Return its folder of programs. The test is skipped where the registry cannot be reached.
    """

    def make(distribution: str, *packages: str) -> Path:
        folder = tmp_path_factory.mktemp(distribution) / "environment"
        run([sys.executable, "-m", "venv", folder], wheels)
        wanted = [distribution, *packages]
        try:
            run([folder / "bin" / "pip", "install", "--quiet", "--find-links", wheels, *wanted], wheels)
        except subprocess.CalledProcessError as error:
            if "No matching distribution" in str(error.stderr):
                pytest.skip(f"the registry has no {' '.join(packages)}, or cannot be reached")
            raise
        return folder / "bin"

    return make


def run(command: list[str | Path], folder: Path) -> str:
    """Run ``command`` in ``folder`` as a newcomer does: nothing of this checkout is on a path.

    Return its standard output; raise ``CalledProcessError`` where it fails.
    """
    hidden = ("PYTHON", "ZENSERVE", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout, done.stderr, file=sys.stderr)
        done.check_returncode()
    return done.stdout
