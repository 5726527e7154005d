"""What goes to the device and back, and what can be seen of ``gpu.device`` itself without a device."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpu
from gpu import device
from zenerrors import ResourceError

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
    cupy = pytest.importorskip("cupy", reason="zenserve[gpu] is not installed")
    spec = spec_from_file_location("real_device", Path(gpu.__file__).with_name("device.py"))
    assert spec is not None
    assert spec.loader is not None
    real: Any = module_from_spec(spec)
    spec.loader.exec_module(real)

    def full(*_: Any) -> Any:
        raise cupy.cuda.memory.OutOfMemoryError(1 << 40, 1 << 30, 0)

    for name in ("empty", "zeros", "asarray"):
        monkeypatch.setattr(cupy, name, full)
    for allocate, arguments in ((real.zeros, (4, np.uint64)), (real.upload, (np.zeros(4),))):
        with pytest.raises(ResourceError, match="ZENSERVE_BACKEND") as refusal:
            allocate(*arguments)
        assert refusal.value.code == "resource.gpu_memory"
