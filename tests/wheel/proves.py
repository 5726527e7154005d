"""A proof by an installed zenserve, of whose checkout nothing is taken but a network.

Wheels are tested by it where they are built, in an environment that has one alone.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

import zenserve
from zenserve.kernels.target import available_targets

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


def main() -> None:
    assert Path(zenserve.__file__).is_relative_to(sysconfig.get_path("platlib")), zenserve.__file__
    images = np.load(DIGITS / "held_out.npz")["images"]
    calibration = np.load(DIGITS / "calibration.npy")
    proof = zenserve.prove(DIGITS / "digits.onnx", images[0], calibration=calibration)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        proof.save(folder)
        verifier = Path(sys.executable).with_name("zenserve-verify")
        command = [str(verifier), "proof.json", "--key", "key.json"]
        command += ["--registration", "registration.json", "--registration-key", "registration_key.json"]
        subprocess.run(command, cwd=folder, check=True)
    print(f"zenserve {zenserve.__file__} proves with {', '.join(available_targets())}")


main()
