"""What is installed is ``zenserve``, whatever else stands beside it, and proving takes no server."""

from __future__ import annotations

import json
import os
import subprocess
import venv
from pathlib import Path

import pytest

from tests.wheel.test_wheel import wheel  # noqa: F401  a fixture

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
OTHERS = ("kernels==0.17.2", "circuits==3.2.5", "prover==0.1.0", "migrations==0.1.1")
"""Of PyPI, with packages that have the names of rooms of ours."""
SERVERS = {"alembic", "celery", "fastapi", "py-ecc", "redis", "sqlalchemy", "typer", "uvicorn"}
PROOF = """
import sys, numpy, zenserve
images = numpy.load(sys.argv[1] + "/held_out.npz")["images"]
calibration = numpy.load(sys.argv[1] + "/calibration.npy")
zenserve.prove(sys.argv[1] + "/digits.onnx", images[0], calibration=calibration).save("proof")
assert zenserve.verify("proof").valid
"""
NAMES = """
import json
from importlib.metadata import distribution, distributions
ours = [file for name in ("zenserve", "zenserve-client") for file in distribution(name).files]
tops = {file.parts[0] for file in ours if file.parts[0] != ".." and ".dist-info" not in file.parts[0]}
installed = [each.name.lower() for each in distributions()]
print(json.dumps([sorted(tops), len(ours) - len(set(ours)), installed]))
"""


@pytest.mark.large
def test_it_stands_beside_packages_of_its_rooms_names(wheel: Path, tmp_path: Path) -> None:  # noqa: F811
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / "bin"
    environment = {"PATH": str(programs), "HOME": str(tmp_path)}
    environment |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}

    def run(*command: str | Path, code: int = 0) -> str:
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, check=False, capture_output=True, text=True
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    pip = (programs / "python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:")
    run(*pip, *wheel.parent.glob("*.whl"))
    run(*pip, *OTHERS)
    run(programs / "python", "-c", PROOF, DIGITS)
    run(programs / "zenserve-verify", "proof/proof.json", "--key", "proof/key.json")
    tops, twice, installed = json.loads(run(programs / "python", "-c", NAMES))
    assert (tops, twice) == (["zenserve"], 0)
    assert not SERVERS & {*installed}
    assert "zenserve[service]" in run(programs / "zenserve", "--help", code=1)
