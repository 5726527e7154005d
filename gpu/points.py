"""Points of G1 and G2 on the device: XYZZ sums to affine points, and repeated doublings."""

from __future__ import annotations

from typing import Final

import numpy as np

from zenserve.gpu import modules
from zenserve.gpu.device import Array, Device
from zenserve.gpu.modules import Module, Source
from zenserve.gpu.segmented import WORKERS

THREADS: Final = 128

PIECE: Final = 1 << 17
"""Points that are worked on at a time: they fill the card, and scratch memory stays small."""

_FIELDS: Final = {(2, 6): "Fp", (2, 2, 6): "Fp2"}


def field_of(shape: tuple[int, ...], name: str) -> str:
    """The coordinate field, as device code calls it, of points of this shape; else ``ValueError``."""
    if shape not in _FIELDS:
        raise ValueError(
            f"{name} must be points, uint64[..., 2, 6] or uint64[..., 2, 2, 6], not [..., {shape}]"
        )
    return _FIELDS[shape]


def source(field: str) -> Source:
    return "points", f"ZEN_F={field}", "ZEN_CALL_PRODUCTS"


def module(device: Device, field: str) -> Module:
    return modules.load(device, *source(field))


def blocks(threads: int) -> int:
    return -(-threads // THREADS)


def empty_sums(device: Device, count: int, points: Array) -> Array:
    """Room for XYZZ sums of such points: uint64[count, 4, 6] or uint64[count, 4, 2, 6]."""
    return device.empty((count, 4, *points.shape[2:]), np.uint64)


def to_affine(device: Device, sums: Array, out: Array) -> None:
    """out[i] = sums[i], XYZZ sums as affine points."""
    module(device, field_of(out.shape[1:], "out")).launch(
        "to_affine", blocks(min(len(out), WORKERS)), THREADS, sums, np.int64(len(out)), out
    )


def doubled(device: Device, points: Array, times: int, out: Array) -> None:
    """out[i] = 2^times points[i]."""
    kernels = module(device, field_of(points.shape[1:], "points"))
    for begin in range(0, len(points), PIECE):
        piece = points[begin : begin + PIECE]
        sums = empty_sums(device, len(piece), points)
        kernels.launch(
            "double_points", blocks(len(piece)), THREADS, piece, np.int64(len(piece)), np.int32(times), sums
        )
        to_affine(device, sums, out[begin : begin + PIECE])
