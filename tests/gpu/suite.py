"""The device behind the interface of ``zenserve.kernels.Kernels``, so that the tests of kernels run on it.

``Extension`` has the functions that zenserve/kernels/bindings.cpp gives to Python: arrays of the host in and
out. What the device does not have skips the test that asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.gpu.known import device
from zenserve import kernels
from zenserve.gpu import elementwise, fixed_base, hashing, ntt, rows, sparse, sumcheck
from zenserve.gpu.device import Array
from zenserve.gpu.msm import Bases, msm
from zenserve.gpu.points import to_affine
from zenserve.kernels import Field, FrArray, Group, Kernels, PrimeField, ScalarField, WordArray
from zenserve.kernels.arrays import Progress
from zenserve.kernels.cube import Multilinear
from zenserve.kernels.hashing import Blake3, Digests
from zenserve.kernels.ntt import Order

SCALARS = elementwise.ScalarField(device)

ORDERS: tuple[Order, ...] = ("natural", "to_bit_reversed", "from_bit_reversed")


class DeviceKernels(Kernels):
    """``Kernels`` of the target "gpu"."""

    def __init__(self) -> None:
        self.target = "gpu"
        self._extension = cast(ModuleType, Extension())
        self.fr = ScalarField(self._extension, "fr", (4,))
        self.fp = PrimeField(self._extension, "fp", (6,))
        self.fp2 = Field(self._extension, "fp2", (2, 6))
        self.g1 = Group(self._extension, "g1", (2, 6))
        self.g2 = Group(self._extension, "g2", (2, 2, 6))
        self.blake3 = Blake3(self._extension)
        self.multilinear = Multilinear(self._extension)


@cache
def load() -> DeviceKernels:
    return DeviceKernels()


def missing(name: str) -> Callable[..., Any]:
    def skip(*_: object) -> None:
        pytest.skip(f"the device has no {name}")

    return skip


class Partial:
    """Skips the test that calls what is not there."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return missing(name)


class Extension(Partial):
    def __init__(self) -> None:
        self.fr = FieldKernels(SCALARS, kernels.fr)
        self.fp = FieldKernels(elementwise.Field(device, "Fp"), kernels.fp)
        self.fp2 = FieldKernels(elementwise.Field(device, "Fp2"), None)
        self.g1 = GroupKernels(elementwise.Group(device, "Fp"), kernels.g1)
        self.g2 = GroupKernels(elementwise.Group(device, "Fp2"), kernels.g2)
        self.Domain = DomainKernels
        self.blake3 = HashKernels()
        self.multilinear = CubeKernels()

    def csr_multiply(self, *arguments: NDArray[Any] | int | None) -> None:
        *matrix, z, _, out, _ = cast(list[NDArray[Any]], arguments)
        product = device.empty(out.shape, np.uint64)
        sparse.Matrix(device, *matrix).multiply(device.upload(z), product)
        out[...] = device.download(product)


class FieldKernels(Partial):
    def __init__(self, field: elementwise.Field, processor: PrimeField | None) -> None:
        self._field = field
        self._processor = processor

    def modulus(self, out: WordArray) -> None:
        assert self._processor is not None
        out[...] = np.frombuffer(self._processor.modulus.to_bytes(out.nbytes, "little"), np.uint64)

    def add(self, a: WordArray, b: WordArray, out: WordArray, _: int) -> None:
        out[...] = device.download(self._field.add(device.upload(a), device.upload(b)))

    def sub(self, a: WordArray, b: WordArray, out: WordArray, _: int) -> None:
        out[...] = device.download(self._field.sub(device.upload(a), device.upload(b)))

    def mul(self, a: WordArray, b: WordArray, out: WordArray, _: int) -> None:
        out[...] = device.download(self._field.mul(device.upload(a), device.upload(b)))

    def neg(self, a: WordArray, out: WordArray, _: int) -> None:
        out[...] = device.download(self._field.neg(device.upload(a)))

    def square(self, a: WordArray, out: WordArray, _: int) -> None:
        out[...] = device.download(self._field.square(device.upload(a)))

    def inverse(self, values: WordArray, _: int) -> None:
        values[...] = device.download(self._field.inverse(device.upload(values)))

    def to_canon(self, a: WordArray, out: WordArray, _: int) -> None:
        out[...] = device.download(self._field.to_canonical(device.upload(a)))

    def from_canon(self, a: WordArray, out: WordArray, _: int) -> None:
        out[...] = device.download(self._field.from_canonical(device.upload(a)))

    def from_int64(self, values: NDArray[np.int64], out: FrArray, _: int) -> None:
        out[...] = device.download(SCALARS.from_int64(device.upload(values)))

    def powers(self, first: FrArray, base: FrArray, out: FrArray, _: int) -> None:
        powers = SCALARS.powers(device.upload(first), device.upload(base), len(out))
        out[...] = device.download(powers)

    def first_unsatisfied(self, a: FrArray, b: FrArray, c: FrArray, _: int) -> int:
        row = sparse.first_unsatisfied(device, *map(device.upload, (a, b, c)))
        return len(a) if row is None else row


class GroupKernels(Partial):
    def __init__(self, group: elementwise.Group, processor: Group) -> None:
        self._group = group
        self._processor = processor
        self._tables: dict[tuple[bytes, int], fixed_base.FixedBase] = {}

    def generator(self, out: WordArray) -> None:
        out[...] = self._processor.generator

    def add(self, p: WordArray, q: WordArray, out: WordArray, _: int) -> None:
        out[...] = device.download(self._group.add(device.upload(p), device.upload(q)))

    def neg(self, p: WordArray, out: WordArray) -> None:
        out[...] = device.download(self._group.neg(device.upload(p)))

    def mul(
        self, points: WordArray, scalars: FrArray, out: WordArray, _: int, progress: Progress | None
    ) -> None:
        require_no_progress(progress)
        out[...] = device.download(
            fixed_base.multiply_each(device, device.upload(points), device.upload(scalars))
        )

    def fixed_base(
        self, base: WordArray, scalars: FrArray, out: WordArray, _: int, progress: Progress | None
    ) -> None:
        """A base's table is kept: emulated, it takes longer than the products."""
        require_no_progress(progress)
        key = base.tobytes(), fixed_base.choose_width(len(scalars))
        if key not in self._tables:
            self._tables[key] = fixed_base.FixedBase(device, device.upload(base), len(scalars))
        products = device.empty(out.shape, np.uint64)
        self._tables[key].multiply(device.upload(scalars), products)
        out[...] = device.download(products)

    def msm(
        self,
        bases: WordArray,
        _multiples: WordArray | None,
        scalars: FrArray,
        out: WordArray,
        _: int,
        progress: Progress | None,
    ) -> None:
        """The device makes multiples of its own."""
        require_no_progress(progress)
        total = msm(Bases(device, device.upload(bases)), device.upload(scalars))
        point = device.empty((1, *out.shape), np.uint64)
        to_affine(device, total.reshape(1, *total.shape), point)
        out[...] = device.download(point)[0]

    def is_on_curve(self, points: WordArray, out: NDArray[np.bool_]) -> None:
        out[...] = device.download(self._group.is_on_curve(device.upload(points))) != 0

    def in_subgroup(self, points: WordArray, out: NDArray[np.bool_], _: int) -> None:
        out[...] = device.download(self._group.in_subgroup(device.upload(points))) != 0


class HashKernels:
    """The device hashes whole columns: slabs are put together again."""

    def chunks(
        self,
        matrix: FrArray,
        salts: Digests | None,
        first: int,
        length: int,
        key: Digests,
        chains: Digests,
        _: int,
        progress: Progress | None,
    ) -> None:
        require_no_progress(progress)
        if not first:
            self._slabs, self._salts = list[FrArray](), salts
        self._slabs.append(matrix)

    def join(self, chains: Digests, key: Digests, out: Digests, _: int) -> None:
        """Where the columns are a power of two also of a matrix whose columns are in bit-reversed order."""
        matrix, salts = np.concatenate(self._slabs), self._salts
        count = matrix.shape[1]
        bits = (count - 1).bit_length()
        padded = np.zeros((len(matrix), 1 << bits, 4), np.uint64)
        padded[:, :count] = matrix
        own = None if salts is None else np.zeros((1 << bits, 32), np.uint8)
        if own is not None and salts is not None:
            own[:count] = salts
        reverse = [int(f"{i:0{bits}b}"[::-1], 2) if bits else 0 for i in range(1 << bits)]
        found = []
        for places, turned in ((slice(None), False), (reverse, True)):
            leaves = device.empty((1 << bits, 32), np.uint8)
            parts = device.upload(np.ascontiguousarray(padded[:, places])), device.upload(key), leaves
            hashing.columns(device, *parts, own if own is None else device.upload(own), turned=turned)
            found.append(device.download(leaves)[:count])
        np.testing.assert_array_equal(found[0], found[1])
        out[...] = found[0]

    def tree(self, nodes: Digests, key: Digests, _: int) -> None:
        array = device.upload(nodes)
        hashing.tree(device, array, device.upload(key))
        nodes[...] = device.download(array)


class CubeKernels(Partial):
    def eq(self, point: FrArray, out: FrArray, _: int) -> None:
        table = device.empty(out.shape, np.uint64)
        sumcheck.Weights(device, device.upload(point)).table(table)
        out[...] = device.download(table)

    def combine_rows(self, matrix: FrArray, coefficients: FrArray, out: FrArray, _: int) -> None:
        total = device.upload(out)
        rows.combine(device, device.upload(matrix), device.upload(coefficients), total)
        out[...] = device.download(total)


class DomainKernels:
    scratch_bytes = staticmethod(missing("scratch_bytes"))

    def __init__(self, log_size: int) -> None:
        self._domain = ntt.Domain(device, log_size)

    def omega(self, out: FrArray) -> None:
        out[...] = self._domain.omega

    def transform(
        self,
        values: FrArray,
        coset: FrArray | None,
        order: int,
        inverse: bool,
        _: int,
        progress: Progress | None,
    ) -> None:
        require_no_progress(progress)
        array = device.upload(values)
        transform = self._domain.intt if inverse else self._domain.ntt
        transform(array, coset=coset, order=ORDERS[order])
        values[...] = device.download(array)

    def quotient(self, a: FrArray, b: FrArray, c: FrArray, _: int, progress: Progress | None) -> None:
        require_no_progress(progress)
        arrays: list[Array] = [device.upload(values) for values in (a, b, c)]
        self._domain.quotient(*arrays)
        a[...] = device.download(arrays[0])


def require_no_progress(progress: Progress | None) -> None:
    if progress is not None:
        pytest.skip("the device does not tell its progress")
