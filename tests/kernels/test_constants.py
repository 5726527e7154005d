"""The committed header is what its script derives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

KERNELS = Path(__file__).parents[2] / "zenserve" / "kernels"


def test_header_is_up_to_date() -> None:
    script = KERNELS / "scripts" / "derive_constants.py"
    derived = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout
    assert derived == (KERNELS / "include" / "zen" / "constants.hpp").read_text()
