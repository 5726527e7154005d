"""What kernels take is known once the work is over, by their names, and of recorded ones together."""

from __future__ import annotations

import gc

import numpy as np

from zenserve.gpu import layers, times
from zenserve.gpu.device import Device
from zenserve.prover.backends.cpu import CPU
from zenserve.prover.backends.gpu import backend


def test_nothing_is_collected_while_launches_are_recorded() -> None:
    found = list[bool]()
    launch = Device().recorded(lambda: found.append(gc.isenabled()))
    launch()
    assert found
    assert not any(found)
    assert gc.isenabled()


def test_kernels_are_measured_in_the_context_alone() -> None:
    device, ones = Device(), np.ones(1, np.int64)
    long = np.dtype(np.int64)
    kernel, ending = layers.Combined(device, [long], [ones], [ones]), layers.Ending(device, long)
    x = device.upload(np.arange(5))

    def launch() -> None:
        kernel(1, [x], ending, x)

    launch()
    with backend(0).kernels() as seconds, times.measured() as others:
        launch()
        replayed = device.recorded(launch)
        replayed()
    launch()
    assert seconds.keys() == {"combine", times.RECORDED}
    assert min(seconds.values()) > 0
    assert not others
    assert not CPU.kernels().__enter__()
    with times.measured() as again:
        pass
    assert not again
