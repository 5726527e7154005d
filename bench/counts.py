"""How many constraints the gadgets for large circuits take.

    python -m bench.counts [--json FILE]

Each row is a whole circuit around one gadget, its tensors committed in a segment: every constraint that a
proof would need, tables and powers of the challenge included. "a unit" divides them by the range-checked
values, or by the multiplications that are checked. "soundness" is -log2 of the probability that a random
challenge misses a wrong value.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from circuits.r1cs.builder import Builder
from circuits.r1cs.linear import Linear
from circuits.r1cs.lookups import Lookups
from circuits.r1cs.products import Convolution, Products
from circuits.r1cs.program import Program
from circuits.r1cs.ranges import RangeChecks

SEGMENT = "tensors"


def range_check(bits: int, count: int) -> Program:
    """Each of ``count`` committed values lies in [0, 2^bits)."""
    builder = Builder()
    (values,) = _committed(builder, (count,))
    RangeChecks(Lookups(builder)).check("range", values, bits)
    return builder.program()


def convolution(shape: Convolution) -> Program:
    """y = conv(x, w), all three committed."""
    builder = Builder()
    x, w, y = _committed(
        builder,
        (shape.batch, shape.inputs, *shape.image),
        (shape.outputs, shape.inputs, *shape.kernel),
        (shape.batch, shape.outputs, *shape.out),
    )
    Products(builder).convolve("conv", x, w, y, shape)
    return builder.program()


def matmul(m: int, k: int, n: int) -> Program:
    """Z = X Y, all three committed."""
    builder = Builder()
    x, y, z = _committed(builder, (m, k), (k, n), (m, n))
    Products(builder).matmul("product", x, y, z, (m, k, n))
    return builder.program()


def _committed(builder: Builder, *shapes: tuple[int, ...]) -> list[Linear]:
    builder.segment(SEGMENT)
    tensors = [builder.committed(SEGMENT, f"tensor{index}", *shape) for index, shape in enumerate(shapes)]
    return [Linear.wires(tensor.ravel()) for tensor in tensors]


@dataclass(frozen=True)
class Case:
    """``units``: what the constraints are divided by."""

    name: str
    build: Callable[[], Program]
    units: int


WIDE_CONVOLUTION = Convolution(1, 64, 32, (28, 28), (5, 5), padding=((2, 2), (2, 2)))
CASES = (
    Case("range_check_16bit_x100000", lambda: range_check(16, 100_000), 100_000),
    # Same padding: 28×28 outputs in each of 32 channels.
    Case("conv_64_to_32_5x5_28", lambda: convolution(WIDE_CONVOLUTION), 32 * 28 * 28 * 64 * 25),
    Case("matmul_256", lambda: matmul(256, 256, 256), 256**3),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    chosen = parser.parse_args()
    table = Table("name", "constraints", "a unit", "units", "committed", "soundness", title="Whole circuits")
    for column in table.columns[1:]:
        column.justify = "right"
    rows = []
    for case in CASES:
        program = case.build()
        statement = program.statement
        committed = sum(segment.size for segment in statement.segments)
        table.add_row(
            case.name,
            f"{statement.constraints:,}",
            f"{statement.constraints / case.units:.3g}",
            f"{case.units:,}",
            f"{committed:,}",
            f"{program.soundness_bits:.0f} bits",
        )
        rows.append({"name": case.name, "constraints": statement.constraints})
    Console(width=110).print(table)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
