"""The groups G1 and G2 of BLS12-381."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import ModuleType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from zenserve.codes import Code
from zenserve.errors import EncodingError
from zenserve.kernels.arrays import (
    FrArray,
    Progress,
    WordArray,
    as_csr,
    as_element,
    as_elements,
    as_vector,
    require_in_place,
)
from zenserve.kernels.ntt import Domain

_DECODE_ERRORS: Final[Mapping[int, tuple[Code, str]]] = {
    1: ("encoding.flags", "its flag bits do not form a compressed point"),
    2: ("encoding.not_canonical", "a coordinate is not below the field's modulus"),
    3: ("encoding.not_on_curve", "no point of the curve has this x"),
    4: ("encoding.not_in_subgroup", "the point is on the curve but outside the subgroup of order r"),
}


class Group:
    """Points are affine, uint64[..., *shape] in Montgomery form; the point at infinity is all zeros.

    Scalars are uint64[n, 4], Montgomery. Points given to operations are trusted to lie on the curve.
    ``ValueError`` for arrays of another dtype or shape.
    """

    def __init__(self, extension: ModuleType, name: str, shape: tuple[int, ...]) -> None:
        self._kernel = getattr(extension, name)
        self.name = name
        self.shape = shape
        self.encoded_bytes = 4 * math.prod(shape)  # x alone
        self.generator = np.empty(shape, dtype=np.uint64)
        self._kernel.generator(self.generator)

    def add(self, p: WordArray, q: WordArray, *, threads: int = 1) -> WordArray:
        """p[i] + q[i], or one point added to all."""
        p, q = as_elements(p, self.shape, "p"), as_elements(q, self.shape, "q")
        if q.shape not in (p.shape, self.shape):
            raise ValueError(f"q must have the shape of p, {p.shape}, or be one point, not {q.shape}")
        out = np.empty_like(p)
        self._kernel.add(p, q, out, threads)
        return out

    def neg(self, p: WordArray) -> WordArray:
        p = as_elements(p, self.shape, "p")
        out = np.empty_like(p)
        self._kernel.neg(p, out)
        return out

    def mul(
        self, points: WordArray, scalars: FrArray, *, threads: int = 1, progress: Progress | None = None
    ) -> WordArray:
        """scalars[i] * points[i] for every i, or one scalar, uint64[4], times them all.

        The points must lie in the subgroup: outside of it the result is another one.
        """
        if scalars.ndim == 1:
            points = as_vector(points, self.shape, "points")
            scalars = as_element(scalars, (4,), "scalars")[None]
        else:
            points, scalars = self._pair(points, scalars)
        out = np.empty_like(points)
        self._kernel.mul(points, scalars, out, threads, progress)
        return out

    def msm(
        self,
        bases: WordArray,
        scalars: FrArray,
        *,
        multiples: WordArray | None = None,
        threads: int = 1,
        progress: Progress | None = None,
    ) -> WordArray:
        """The sum of scalars[i] * bases[i], one affine point. Small scalars, negatives too, are cheap.

        ``multiples``: none, or 2^64 times each of the bases, then 2^128 times, then 2^192 times: 3 n points,
        with which fewer than half a million full scalars are summed faster.
        """
        bases, scalars = self._pair(bases, scalars)
        if multiples is not None:
            multiples = as_vector(multiples, self.shape, "multiples")
            if len(multiples) != 3 * len(bases):
                raise ValueError(f"{len(multiples)} multiples are not those of {len(bases)} bases")
        out = np.empty(self.shape, dtype=np.uint64)
        self._kernel.msm(bases, multiples, scalars, out, threads, progress)
        return out

    def msm_memory(self, count: int, *, multiples: bool = False, threads: int = 1) -> int:
        """Bytes of scratch that ``msm`` takes for ``count`` scalars of full length; shorter ones need less.

        A digit takes 4 bytes, 60 to 100 bytes a scalar; each thread takes 2 MiB for the points of one task.
        """
        return int(self._kernel.msm_memory(count, multiples, threads))

    def fixed_base(
        self, base: WordArray, scalars: FrArray, *, threads: int = 1, progress: Progress | None = None
    ) -> WordArray:
        """scalars[i] * base for every i: uint64[n, *shape]."""
        base, scalars = as_element(base, self.shape, "base"), as_vector(scalars, (4,), "scalars")
        out = np.empty((len(scalars), *self.shape), dtype=np.uint64)
        self._kernel.fixed_base(base, scalars, out, threads, progress)
        return out

    def intt(
        self, domain: Domain, points: WordArray, *, threads: int = 1, progress: Progress | None = None
    ) -> None:
        """In place: points[i] becomes the sum of ω^(-i j) points[j] over n = domain.size, divided by n.

        Powers [τ^j] become [L_i(τ)], the Lagrange polynomials of the domain. ``points`` is uint64[n, *shape],
        in the subgroup.
        """
        require_in_place(points, (domain.size, *self.shape), "points")
        self._kernel.intt(domain.kernel, points, threads, progress)

    def csr_multiply_transposed(
        self,
        offsets: NDArray[np.int64],
        columns: NDArray[np.uint32],
        coefficients: NDArray[np.uint32],
        pool: FrArray,
        points: WordArray,
        out: WordArray,
        *,
        threads: int = 1,
        progress: Progress | None = None,
    ) -> None:
        """out += M^T points, in place; points are uint64[rows, *shape], out uint64[variables, *shape].

        The matrix is given as to ``zenserve.kernels.csr_multiply``. Short coefficients, negative ones too,
        are cheap.
        """
        matrix = as_csr(offsets, columns, coefficients, pool, variables=len(out))
        require_in_place(out, (len(out), *self.shape), "out")
        points = as_vector(points, self.shape, "points")
        if len(points) != len(offsets) - 1:
            raise ValueError(f"points must be {len(offsets) - 1}, one for each row, not {len(points)}")
        self._kernel.csr_multiply_transposed(*matrix, points, out, threads, progress)

    def is_infinity(self, points: WordArray) -> NDArray[np.bool_]:
        points = as_elements(points, self.shape, "points")
        return np.logical_not(points.any(axis=tuple(range(points.ndim - len(self.shape), points.ndim))))

    def is_on_curve(self, points: WordArray) -> NDArray[np.bool_]:
        """True where a point satisfies the curve's equation or is infinity, in the subgroup or not."""
        return self._predicate(self._kernel.is_on_curve, points)

    def in_subgroup(self, points: WordArray, *, threads: int = 1) -> NDArray[np.bool_]:
        """True where r times the point (which must be on the curve) is infinity."""
        return self._predicate(self._kernel.in_subgroup, points, threads)

    def compress(self, points: WordArray) -> bytes:
        """The ZCash / IETF encoding, 48 (G1) or 96 (G2) bytes a point, concatenated."""
        points = as_elements(points, self.shape, "points").reshape(-1, *self.shape)
        out = np.empty(len(points) * self.encoded_bytes, dtype=np.uint8)
        self._kernel.compress(points, out)
        return out.tobytes()

    def decompress(self, data: bytes) -> WordArray:
        """uint64[n, *shape] from concatenated encodings. Infinity is accepted: the caller decides about it.

        Raises ``EncodingError`` (``encoding.length``, ``.flags``, ``.not_canonical``, ``.not_on_curve``,
        ``.not_in_subgroup``) for anything but the canonical encoding of points of the subgroup.
        """
        encoded = np.frombuffer(data, dtype=np.uint8)
        count, rest = divmod(len(encoded), self.encoded_bytes)
        if rest:
            raise EncodingError(
                "encoding.length",
                f"{len(encoded)} bytes are no whole number of {self.name} points, {self.encoded_bytes} each",
            )
        out = np.empty((count, *self.shape), dtype=np.uint64)
        failure = self._kernel.decompress(encoded, out)
        if failure is not None:
            index, status = failure
            code, reason = _DECODE_ERRORS[status]
            raise EncodingError(code, f"{self.name} point {index}: {reason}")
        return out

    def _predicate(self, kernel: object, points: WordArray, *options: int) -> NDArray[np.bool_]:
        points = as_elements(points, self.shape, "points")
        out = np.empty(points.shape[: points.ndim - len(self.shape)], dtype=np.bool_)
        kernel(points, out, *options)  # type: ignore[operator]
        return out

    def _pair(self, points: WordArray, scalars: FrArray) -> tuple[WordArray, FrArray]:
        points, scalars = as_vector(points, self.shape, "points"), as_vector(scalars, (4,), "scalars")
        if len(points) != len(scalars):
            raise ValueError(f"{len(points)} points and {len(scalars)} scalars do not pair up")
        return points, scalars
