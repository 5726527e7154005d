"""Transforms on the device against the CPU's, byte for byte, and against Horner's rule."""

from __future__ import annotations

import random
from typing import Any, get_args

import numpy as np
import pytest

from tests.gpu.emulator.place import EMULATED
from tests.gpu.known import device
from tests.kernels.strategies import R
from zenserve.gpu import modules, ntt
from zenserve.kernels import Kernels


@pytest.fixture(scope="module")
def k() -> Kernels:
    return Kernels("portable")


def random_elements(seed: int, *shape: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Any canonical values, a few of them the least and the greatest."""
    draw = np.random.default_rng(seed)
    values = draw.integers(0, 1 << 62, (*shape, 4), dtype=np.uint64)
    extremes = np.frombuffer((0).to_bytes(32, "little") + (R - 1).to_bytes(32, "little"), dtype=np.uint64)
    places = draw.random(shape)
    values[places < 0.05], values[places > 0.95] = extremes.reshape(2, 4)
    return values


def test_evaluations_by_horners_rule(k: Kernels) -> None:
    domain, rng = ntt.Domain(device, 4), random.Random(4)
    coefficients, shift = [rng.randrange(R) for _ in range(16)], rng.randrange(2, R)
    omega = k.fr.to_ints(domain.omega)[0]
    values = device.upload(k.fr.from_ints(coefficients))
    domain.ntt(values, coset=k.fr.from_ints([shift])[0])
    points = [shift * pow(omega, i, R) for i in range(16)]
    expected = [sum(c * pow(x, e, R) for e, c in enumerate(coefficients)) % R for x in points]
    assert k.fr.to_ints(device.download(values)) == expected


@pytest.mark.parametrize("log_size", [0, 1, 2, 3, 5, 9, 10, 11, 13, 16])
@pytest.mark.parametrize("with_coset", [False, True])
@pytest.mark.parametrize("order", get_args(ntt.Order))
def test_every_order_equals_the_cpu(k: Kernels, log_size: int, with_coset: bool, order: ntt.Order) -> None:
    reference, domain = k.domain(log_size), ntt.Domain(device, log_size)
    np.testing.assert_array_equal(domain.omega, reference.omega)
    coset = k.fr.from_ints([7])[0] if with_coset else None
    for transform in ("ntt", "intt"):
        expected = random_elements(log_size, domain.size)
        values = device.upload(expected)
        getattr(reference, transform)(expected, coset=coset, order=order)
        getattr(domain, transform)(values, coset=coset, order=order)
        np.testing.assert_array_equal(device.download(values), expected)


@pytest.mark.parametrize("log_size", [0, 2, 10, 12])
def test_batches_are_transformed_row_by_row(k: Kernels, log_size: int) -> None:
    reference, domain = k.domain(log_size), ntt.Domain(device, log_size)
    start = random_elements(log_size, 2, 3, domain.size)
    values = device.upload(start)
    domain.ntt(values, order="to_bit_reversed")
    expected = start.copy()
    for row in expected.reshape(6, domain.size, 4):
        reference.ntt(row, order="to_bit_reversed")
    np.testing.assert_array_equal(device.download(values), expected)
    domain.intt(values, order="from_bit_reversed")
    np.testing.assert_array_equal(device.download(values), start)
    coset = k.fr.from_ints([3])[0]
    domain.ntt(values, coset=coset)
    for row in start.reshape(6, domain.size, 4):
        reference.ntt(row, coset=coset)
    np.testing.assert_array_equal(device.download(values), start)


def test_three_passes(k: Kernels) -> None:
    log_size = ntt.TILE_LOG + 9
    assert len(ntt.passes(log_size)) == 3
    reference, domain = k.domain(log_size), ntt.Domain(device, log_size)
    start = random_elements(1, domain.size)
    values, expected = device.upload(start), start.copy()
    domain.ntt(values, order="to_bit_reversed")
    reference.ntt(expected, order="to_bit_reversed", threads=2)
    np.testing.assert_array_equal(device.download(values), expected)
    domain.intt(values, order="from_bit_reversed")
    np.testing.assert_array_equal(device.download(values), start)


@pytest.mark.parametrize("log_size", range(ntt.MAX_LOG_SIZE + 1))
def test_passes_make_every_layer_once_on_tiles_that_fit(log_size: int) -> None:
    depth = 0
    for each in ntt.passes(log_size):
        assert each.depth == depth
        assert each.layers + each.log_columns <= ntt.TILE_LOG
        depth += each.layers
        assert each.log_columns <= log_size - depth
    assert depth == log_size


@pytest.mark.parametrize("log_size", [0, 1, 4, 10, 11, 15, 17])
def test_the_quotient_equals_the_cpus(k: Kernels, log_size: int) -> None:
    reference, domain = k.domain(log_size), ntt.Domain(device, log_size)
    expected = [random_elements(seed, domain.size) for seed in range(3)]
    values = [device.upload(each) for each in expected]
    reference.quotient(*expected, threads=2)
    domain.quotient(*values)
    np.testing.assert_array_equal(device.download(values[0]), expected[0])


def test_quotients_of_a_batch(k: Kernels) -> None:
    reference, domain = k.domain(11), ntt.Domain(device, 11)
    expected = [random_elements(seed, 2, domain.size) for seed in range(3)]
    values = [device.upload(each) for each in expected]
    for a, b, c in zip(*expected, strict=True):
        reference.quotient(a, b, c)
    domain.quotient(*values)
    np.testing.assert_array_equal(device.download(values[0]), expected[0])


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="log_size must be from 0 to 27, not 28"):
        ntt.Domain(device, 28)
    domain = ntt.Domain(device, 3)
    with pytest.raises(ValueError, match=r"uint64\[..., 8, 4\], not uint64\(4, 4\)"):
        domain.ntt(device.empty((4, 4), np.uint64), order="to_bit_reversed")
    with pytest.raises(ValueError, match="not int64"):
        domain.intt(device.empty((8, 4), np.int64), order="from_bit_reversed")
    with pytest.raises(ValueError, match="c must be C-contiguous"):
        domain.quotient(*(device.empty((size, 4), np.uint64) for size in (8, 8, 16)))
    with pytest.raises(ValueError, match="one shape"):
        domain.quotient(*(device.empty((*batch, 8, 4), np.uint64) for batch in ((2,), (2,), ())))
    with pytest.raises(ValueError, match="coset must be uint64"):
        domain.ntt(device.zeros((8, 4), np.uint64), coset=np.ones(3, dtype=np.uint64))
    with pytest.raises(ValueError, match="coset must not be zero"):
        domain.intt(device.zeros((8, 4), np.uint64), coset=np.zeros(4, dtype=np.uint64))


@pytest.mark.skipif(not EMULATED, reason="looks into the emulated device's work")
def test_tables_are_there_before_another_stream_can_use_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A domain may be made on one stream and used on another, and so may its first quotient's factors."""
    done: list[str] = []
    launch = modules.Module.launch

    def remember(module: modules.Module, kernel: str, *rest: Any, **options: Any) -> None:
        done.append(kernel)
        launch(module, kernel, *rest, **options)

    monkeypatch.setattr(modules.Module, "launch", remember)
    monkeypatch.setattr(device, "synchronize", lambda: done.append("wait"))
    domain = ntt.Domain(device, 3)
    assert done[-2:] == ["extend_powers", "wait"]
    domain.quotient(*(device.zeros((8, 4), np.uint64) for _ in range(3)))
    last = len(done) - done[::-1].index("extend_powers")
    assert done[last] == "wait"
