"""The lanes' arithmetic against the scalar one: emulated everywhere, for real where the processor has it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from zenserve import kernels

INCLUDE = Path(__file__).parents[2] / "zenserve" / "kernels" / "include"
PROGRAM = Path(__file__).with_name("lanes.cpp")
FLAGS = {
    "emulated": ["-O0", "-DZEN_LANES", "-Wno-psabi"],
    # Assembly that takes all registers is compiled at -O1 only.
    "x86_adx": ["-O1", "-DZEN_TARGET_X86_ADX", "-mavx2", "-mbmi2", "-madx"],
    "x86_ifma": ["-O0", "-DZEN_LANES", "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx512ifma"],
}


# Emulation is for hosts without the instructions.
_REAL = "x86_ifma" in kernels.available_targets()


@pytest.mark.parametrize(
    "target", [pytest.param("emulated", marks=pytest.mark.large if _REAL else ()), "x86_adx", "x86_ifma"]
)
def test_lanes_agree_with_scalars(target: str, tmp_path: Path) -> None:
    if target != "emulated" and target not in kernels.available_targets():
        pytest.skip(f"this processor cannot run {target}")
    binary = tmp_path / "lanes"
    command = ["g++", "-std=c++20", *FLAGS[target], "-I", str(INCLUDE)]
    subprocess.run([*command, str(PROGRAM), "-o", str(binary)], check=True)
    outcome = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    checks, mismatches = map(int, outcome.split())
    assert checks > 50_000
    assert mismatches == 0
