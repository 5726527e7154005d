"""The emulator does what CUDA's documentation says, and says so where a device would hang or break memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.gpu.emulator import modules
from tests.gpu.emulator.device import Device

device = Device()
MODULE = modules.compiled(device, Path(modules.__file__).with_name("builtins.cu"))
LANES = np.arange(32)


def values(count: int, bound: int = 1 << 20) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.random.default_rng(count).integers(0, bound, count, dtype=np.uint32)


def test_threads_beyond_the_end_return_early() -> None:
    x = values(1000)
    out = device.empty(1000, np.uint32)
    MODULE.launch("add_index", 4, 256, device.upload(x), out, np.int64(1000))
    np.testing.assert_array_equal(device.download(out), x + np.arange(1000))


@pytest.mark.parametrize("threads", [32, 128, 1024])
def test_a_tree_in_shared_memory_sums_a_block(threads: int) -> None:
    x = values(2500)
    blocks = -(-2500 // threads)
    out = device.empty(blocks, np.uint32)
    MODULE.launch(
        "tree_sum", blocks, threads, device.upload(x), out, np.int32(2500), shared_bytes=4 * threads
    )
    padded = np.pad(x, (0, blocks * threads - 2500)).reshape(blocks, threads)
    np.testing.assert_array_equal(device.download(out), padded.sum(axis=1, dtype=np.uint32))


def test_a_missing_barrier_shows() -> None:
    x = values(512)
    out = device.empty(2, np.uint32)
    MODULE.launch("racy_sum", 2, 256, device.upload(x), out, shared_bytes=1024)
    assert (device.download(out) != x.reshape(2, 256).sum(axis=1, dtype=np.uint32)).any()


def test_warps_exchange() -> None:
    x = values(64, 100)
    out = device.empty((64, 8), np.uint32)
    MODULE.launch("exchanges", 1, 64, device.upload(x), out)
    for warp, rows in zip(x.reshape(2, 32), device.download(out).reshape(2, 32, 8), strict=True):
        odd, same = (warp & 1) << LANES, warp[:, None] % 5 == warp % 5
        expected = [
            np.broadcast_to(warp[5], 32),
            np.where(LANES >= 3, np.roll(warp, 3), warp),
            np.where(LANES < 28, np.roll(warp, -4), warp),
            warp[LANES ^ 16],
            warp[LANES // 8 * 8 + 1],
            np.broadcast_to(odd.sum(), 32),
            (same << LANES).sum(axis=1),
            np.broadcast_to(2 * (warp == 7).any() + 1, 32),
        ]
        np.testing.assert_array_equal(rows.T, expected)


def test_words_of_64_bits_are_exchanged_whole() -> None:
    x = np.arange(32, dtype=np.uint64) << np.uint64(33)
    out = device.empty(32, np.uint64)
    MODULE.launch("wide_exchange", 1, 32, device.upload(x), out)
    np.testing.assert_array_equal(device.download(out), x[LANES ^ 1])


def test_many_exchanges_follow_each_other() -> None:
    x = values(4 * 256)
    array = device.upload(x)
    MODULE.launch("warp_scan", 4, 256, array)
    expected = x.reshape(-1, 32).cumsum(axis=1, dtype=np.uint32)
    np.testing.assert_array_equal(device.download(array).reshape(-1, 32), expected)


@pytest.mark.parametrize("limit", [5, 40, 128])
def test_threads_that_returned_are_not_waited_for(limit: int) -> None:
    x = values(3 * 128)
    counts = device.zeros(16, np.uint32)
    MODULE.launch("histogram", 3, 128, device.upload(x), counts, np.uint32(limit))
    expected = np.bincount(x.reshape(3, 128)[:, :limit].ravel() % 16, minlength=16)
    np.testing.assert_array_equal(device.download(counts), expected)


def test_atomics() -> None:
    narrow, wide = device.upload(np.array([100, 0, 0, 0, 5, 0], np.uint32)), device.zeros(1, np.uint64)
    MODULE.launch("atomics", 1, 64, narrow, wide)
    assert device.download(narrow).tolist() == [3, 63, 0xFFFFFFFF, 5, 11, 9]
    assert device.download(wide).tolist() == [64 << 40]


def test_integer_functions() -> None:
    out = device.empty(8, np.uint64)
    MODULE.launch("integers", 1, 32, out)
    assert device.download(out)[:8].tolist() == [8, 64, 4, 31, 64, 1 << 31, 3, 3]


def test_grids_have_two_dimensions() -> None:
    out = device.empty((3, 5), np.uint32)
    MODULE.launch("grid_place", (5, 3), 32, out)
    np.testing.assert_array_equal(device.download(out), 100 * np.arange(3)[:, None] + np.arange(5))
    MODULE.launch("grid_place", 0, 32, out)  # nothing


def test_what_cannot_go_on_is_reported_and_the_next_launch_works() -> None:
    out = device.empty(64, np.uint32)
    with pytest.raises(
        modules.LaunchError, match=r"deadlock: 32 threads at __syncthreads; lanes ffff0000 of warp 0"
    ):
        MODULE.launch("deadlock", 1, 64)
    with pytest.raises(modules.LaunchError, match=r"__ballot_sync, while other lanes .* __shfl_sync"):
        MODULE.launch("mismatch", 1, 32, out)
    with pytest.raises(modules.LaunchError, match="illegal address"):
        MODULE.launch("write_at", 1, 32, out, np.int64(64))
    with pytest.raises(modules.LaunchError, match="illegal address"):
        MODULE.launch("write_shared_at", 1, 32, np.int64(8), shared_bytes=32)
    with pytest.raises(modules.LaunchError, match="illegal address"):
        MODULE.launch("recurse", 1, 32, out, np.uint32(100))
    test_a_tree_in_shared_memory_sums_a_block(128)


def test_memory_that_nobody_wrote_shows() -> None:
    out = device.empty(32, np.uint32)
    assert (device.download(out) == 0xA5A5A5A5).all()
    out.fill(0)
    MODULE.launch("read_shared", 1, 32, out, shared_bytes=128)
    assert (device.download(out) == 0xA5A5A5A5).all()


def test_an_argument_too_narrow_for_its_parameter_shows() -> None:
    x = device.upload(values(32))
    with pytest.raises(modules.LaunchError, match="illegal address"):
        MODULE.launch("write_at", 1, 32, x, np.int32(3))


@pytest.mark.parametrize("wrong", [3, np.zeros(3, np.uint32), np.int8(3), 0.5])
def test_other_arguments_are_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match="kernels take"):
        MODULE.launch("grid_place", 1, 32, wrong)


def test_views_along_the_first_axis_are_arrays_and_others_are_not() -> None:
    array = device.zeros((4, 32), np.uint32)
    MODULE.launch("read_shared", 1, 32, array[2], shared_bytes=128)
    assert device.download(array).any(axis=1).tolist() == [False, False, True, False]
    with pytest.raises(TypeError, match="kernels take"):
        MODULE.launch("grid_place", 1, 32, array[:, 3:5])


def test_numpy_does_not_compute_on_the_device() -> None:
    with pytest.raises(TypeError, match="on the device"):
        device.zeros(3, np.uint32) + 1
    with pytest.raises(TypeError, match="on the device"):
        np.cumsum(device.zeros(3, np.uint32))


@pytest.mark.parametrize(("threads", "shared"), [(48, 0), (2048, 0), (0, 0), (32, 228 << 10)])
def test_blocks_that_no_device_takes_are_refused(threads: int, shared: int) -> None:
    with pytest.raises(modules.LaunchError, match="block"):
        MODULE.launch("deadlock", 1, threads, shared_bytes=shared)


def test_errors_of_the_compiler_are_shown(tmp_path: Path) -> None:
    source = tmp_path / "wrong.cu"
    source.write_text('extern "C" __global__ void f(int* p) { *p = undeclared; }')
    with pytest.raises(modules.CompileError, match="undeclared"):
        modules.compiled(device, source)
