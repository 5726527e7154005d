"""Constraint counts are pinned: a rise is a failure, a fall an improvement to write into the file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.counts import convolution, matmul, range_check
from bench.report import read
from zenserve.circuits.r1cs.products import Convolution

ROOT = Path(__file__).parents[2]
PINNED = json.loads((Path(__file__).parent / "constraint_counts.json").read_text())
# What the circuits may cost at most, whatever the pinned file says.
LIMITS = {
    "range_check_16bit_x100000": 320_000,
    "conv_64_to_32_5x5_28": 250_000,
    "matmul_256": 200_000,
}


def test_the_command_reports_the_pinned_counts_and_they_keep_their_limits(tmp_path: Path) -> None:
    output = tmp_path / "rows.json"
    command = [sys.executable, "-m", "bench.counts", "--json", str(output)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    counts = {row.name: row.median for row in read(output)[1]}
    assert counts == PINNED["large"]
    assert all(counts[name] <= limit for name, limit in LIMITS.items())


def test_small_circuits_cost_what_is_pinned() -> None:
    programs = {
        "range_check_8bit_x64": range_check(8, 64),
        "range_check_11bit_x1000": range_check(11, 1000),
        "range_check_32bit_x10": range_check(32, 10),
        "conv_3_to_4_3x3_8": convolution(Convolution(1, 3, 4, (8, 8), (3, 3), padding=((1, 1), (1, 1)))),
        "conv_3_to_4_3x3_8_stride_2_batch_3": convolution(
            Convolution(3, 3, 4, (8, 8), (3, 3), (2, 2), ((1, 0), (1, 0)))
        ),
        "conv_8_to_8_1x1_4": convolution(Convolution(1, 8, 8, (4, 4), (1, 1))),
        "matmul_8": matmul(8, 8, 8),
        "matrix_vector_32": matmul(32, 32, 1),
    }
    assert {name: program.constraint_system.constraints for name, program in programs.items()} == PINNED[
        "small"
    ]
