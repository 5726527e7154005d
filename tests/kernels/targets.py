"""The targets that tests run on."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

import pytest

from tests.gpu.emulator import place
from zenserve import kernels

PROCESSOR = (
    *kernels.available_targets(),
    *(["emulated"] if find_spec("zenserve.kernels._kernels_emulated") else []),
)
"""The targets of this processor, and the emulated one where it was built."""

TARGETS = (*PROCESSOR, "gpu")
"""Every kernel test runs on all of these. A test that asks for what the GPU lacks is skipped there."""

FEW = frozenset({"gpu"} if place.EMULATED else ())
"""Where hundreds of points take as long as thousands elsewhere."""


def each(targets: Sequence[str]) -> list[object]:
    """Parameters of a test. Emulated vectors are for hosts without the instructions, and elsewhere large."""
    real = "x86_ifma" in targets
    later = pytest.param("emulated", marks=pytest.mark.large if real else ())
    return [later if target == "emulated" else target for target in targets]


def load(target: str) -> kernels.Kernels:
    if target != "gpu":
        return kernels.load(target)
    from tests.gpu import suite

    return suite.load()
