"""A GPU: points go there and back in pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from threading import Lock
from typing import Final

import numpy as np

from zenserve.base.memory import Kept
from zenserve.base.randomness import Secrets
from zenserve.gpu import modules, msm, ntt, points, times
from zenserve.gpu.device import Device
from zenserve.gpu.fixed_base import FixedBase, multiply_each
from zenserve.gpu.sparse import Matrix
from zenserve.kernels import FrArray, Group, Progress, WordArray
from zenserve.prover.blocks import Csr

_OTHERS: Final = ("scan", "sparse", "hashing", "rows", "sumcheck", "integers", "scalars")
_MOST_KEPT: Final = 1 << 33
"""Bytes."""
_PIECE: Final = 1 << 20
"""Points that are made at a time, between reports of progress."""


class GpuBackend:
    """``zenserve.prover.backends.Backend`` on one device. ``kept``: what proofs keep there for others.

    To make it compiles for some seconds what provers take and this machine has not compiled before.
    """

    name = "gpu"

    def __init__(self, index: int) -> None:
        self.index = index
        self.device = Device(index)
        self.kept = Kept(_MOST_KEPT, self.device.free_bytes)
        both = map(points.source, ("Fp", "Fp2"))
        others = ((name,) for name in _OTHERS)
        field = "elementwise", "ZEN_ELEMENT=Fr", "ZEN_CALL_PRODUCTS"
        modules.prepare(self.device, [*msm.sources(), *both, ntt.source(), field, *others])

    def bus(self) -> str:
        return self.device.bus()

    def kernels(self) -> AbstractContextManager[dict[str, float]]:
        return times.measured()

    def fixed_base(
        self, group: Group, scalars: FrArray, threads: int, progress: Progress | None
    ) -> WordArray:
        device = self.device
        base = FixedBase(device, device.upload(group.generator), len(scalars))

        def multiply(piece: slice, out: WordArray) -> None:
            with device.current(), Secrets() as secret:
                points = device.empty(out.shape, np.uint64)
                base.multiply(secret(device.upload(scalars[piece])), points)
                out[...] = device.download(points)

        return _in_pieces(multiply, (len(scalars), *group.shape), progress)

    def multiply(
        self, group: Group, points: WordArray, scalar: FrArray, threads: int, progress: Progress | None
    ) -> WordArray:
        device = self.device

        def multiply(piece: slice, out: WordArray) -> None:
            with device.current(), Secrets() as secret:
                factor = secret(device.upload(scalar[None]))
                products = secret(multiply_each(device, device.upload(points[piece]), factor))
                out[...] = device.download(products)

        return _in_pieces(multiply, points.shape, progress)


_backend = cache(GpuBackend)
_MAKING: Final = Lock()


def backend(index: int) -> GpuBackend:
    """The one of this process on the device of this index, whichever thread asks first."""
    with _MAKING:
        return _backend(index)


def joined(device: Device, parts: Sequence[Csr]) -> Matrix:
    """The rows of all ``parts``, one after the other."""
    entries = np.cumsum([0, *(len(part.columns) for part in parts)])
    pools = np.cumsum([0, *(len(part.pool) for part in parts)])
    offsets = [part.offsets[:-1] + entries[i] for i, part in enumerate(parts)]
    return Matrix(
        device,
        np.concatenate([*offsets, entries[-1:]]),
        np.concatenate([part.columns for part in parts]),
        np.concatenate([part.coefficients + np.uint32(pools[i]) for i, part in enumerate(parts)]),
        np.concatenate([part.pool_mont for part in parts]),
    )


def _in_pieces(
    work: Callable[[slice, WordArray], None], shape: tuple[int, ...], progress: Progress | None
) -> WordArray:
    """``work`` writes each slice of an array of this shape."""
    out = np.empty(shape, dtype=np.uint64)
    for start in range(0, len(out), _PIECE):
        piece = slice(start, start + _PIECE)
        work(piece, out[piece])
        if progress is not None:
            progress(min(start + _PIECE, len(out)) / len(out))
    return out
