"""The processor's kernels."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Final

from zenserve.kernels import FrArray, Group, Progress, WordArray


class CpuBackend:
    """``zenserve.prover.backends.Backend`` on ``threads`` threads."""

    name = "cpu"
    index = None

    def bus(self) -> None:
        return None

    def kernels(self) -> AbstractContextManager[dict[str, float]]:
        return nullcontext({})

    def fixed_base(
        self, group: Group, scalars: FrArray, threads: int, progress: Progress | None
    ) -> WordArray:
        return group.fixed_base(group.generator, scalars, threads=threads, progress=progress)

    def multiply(
        self, group: Group, points: WordArray, scalar: FrArray, threads: int, progress: Progress | None
    ) -> WordArray:
        return group.mul(points, scalar, threads=threads, progress=progress)


CPU: Final = CpuBackend()
