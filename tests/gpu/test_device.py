"""What goes to the device and back, and can be seen of ``zenserve.gpu.device`` itself without a device."""

from __future__ import annotations

from contextlib import nullcontext
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.gpu.known import device
from tests.refusals import refuses
from zenserve import gpu
from zenserve.gpu.device import Device, missing

MIB = 1 << 17  # words


@pytest.mark.parametrize("words", [0, 1, MIB - 1, MIB, MIB + 1, 40 * MIB + 3])
def test_copies_of_any_length_arrive_whole(words: int) -> None:
    host = np.arange(1, words + 1, dtype=np.uint64)
    target = device.zeros(words + 1, np.uint64)
    for _ in range(2):
        source = host.copy()
        device.copy(source, target[:words])
        source.fill(0)
        arrived = device.download(target)
        np.testing.assert_array_equal(arrived[:words], host)
        assert arrived[words] == 0


def test_a_full_memory_is_an_error_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = pytest.importorskip("cupy", reason="pip install '.[gpu]'")
    spec = spec_from_file_location("real_device", Path(gpu.__file__).with_name("device.py"))
    assert spec is not None
    assert spec.loader is not None
    real: Any = module_from_spec(spec)
    spec.loader.exec_module(real)

    def full(*_: Any) -> Any:
        raise cupy.cuda.memory.OutOfMemoryError(1 << 40, 1 << 30, 0)

    monkeypatch.setattr(cupy, "empty", full)
    monkeypatch.setattr(real.Device, "current", lambda _: nullcontext())
    full_device: Any = real.Device(1)
    for allocate, arguments in ((full_device.zeros, (4, np.uint64)), (full_device.upload, (np.zeros(4),))):
        with refuses("resource.gpu_memory", match="ZENSERVE_BACKEND"):
            allocate(*arguments)


def test_a_device_that_is_not_there_is_told() -> None:
    assert missing() is None
    assert missing(1000) is not None


@pytest.mark.skipif(missing(1) is not None, reason="there is one device alone")
def test_devices_have_their_own_memory() -> None:
    """Large enough to go by the stages of the host, which each device reads."""
    others = Device(1)
    host = np.arange(2 * MIB, dtype=np.uint64)
    here, there = device.upload(host), others.upload(host[::-1].copy())
    others.fill(there[:MIB], 7)
    np.testing.assert_array_equal(device.download(here), host)
    assert (others.download(there)[:MIB] == 7).all()
    assert others.download(there)[-1] == 0
    with others.stream():
        np.testing.assert_array_equal(device.download(here), host)
        others.copy(host, there)
        np.testing.assert_array_equal(others.download(there), host)
