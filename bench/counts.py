"""How many constraints the gadgets for large circuits take.

    python -m bench.counts [--json FILE] [--quick]

Each row is a whole circuit around one gadget, its tensors committed in a segment: every constraint that a
proof would need, tables and powers of the challenge included. "a unit" divides them by the range-checked
values, or by the multiplications that are checked. "soundness" is -log2 of the probability that a random
challenge misses a wrong value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.measure import arguments
from bench.report import Report, Row
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import Linear
from zenserve.circuits.r1cs.lookups import Lookups
from zenserve.circuits.r1cs.products import Convolution, Products
from zenserve.circuits.r1cs.program import Program
from zenserve.circuits.r1cs.ranges import RangeChecks

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


def row(case: Case) -> Row:
    program = case.build()
    count = program.constraint_system.constraints
    said = {
        "a_unit": count / case.units,
        "committed": sum(segment.size for segment in program.constraint_system.segments),
        "soundness_bits": round(program.soundness_bits),
    }
    return Row(case.name, case.units, count, unit="constraints", more=said)


def main() -> None:
    options = arguments(__doc__)
    report = Report("counts")
    report.show("Whole circuits; size = units", map(row, CASES[: 1 if options.quick else None]))
    report.write(options.json)


if __name__ == "__main__":
    main()
