"""Fields and curves are written once for any limb: 32-bit limbs, as GPUs have them, give the same words."""

from __future__ import annotations

import subprocess
from pathlib import Path

INCLUDE = Path(__file__).parents[2] / "zenserve" / "kernels" / "include"
PROGRAM = Path(__file__).with_name("limb_width.cpp")


def outcome(limb_bits: int, directory: Path) -> str:
    binary = directory / f"limbs_{limb_bits}"
    command = ["g++", "-std=c++20", "-O0", f"-DZEN_LIMB_BITS={limb_bits}", "-I", str(INCLUDE)]
    subprocess.run([*command, str(PROGRAM), "-o", str(binary)], check=True)
    return subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout


def test_32_and_64_bit_limbs_agree(tmp_path: Path) -> None:
    narrow, wide = outcome(32, tmp_path), outcome(64, tmp_path)
    assert narrow.splitlines()[-1] == "1 1 1"
    assert narrow == wide
