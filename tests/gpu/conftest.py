"""Where there is no device, the emulated one takes its place before ``gpu`` is imported."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable

import pytest

from tests.gpu.emulator import device, place
from zenserve.kernels import FrArray, fr
from zenserve.prover import backends
from zenserve.prover.groth16 import proving as groth16
from zenserve.prover.spartan import proving as spartan


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Chooses the backend, and starts the randomness of proofs again."""
    if place.EMULATED:
        monkeypatch.setattr(backends, "_missing_gpu", device.missing)

    def choose(name: str) -> None:
        monkeypatch.setenv(backends.VARIABLE, name)
        rng = random.Random(8)

        def drawn(count: int) -> FrArray:
            return fr.from_ints(rng.randrange(fr.modulus) for _ in range(count))

        for proving in (groth16, spartan):
            monkeypatch.setattr(proving, "random_elements", drawn)
        monkeypatch.setattr(secrets, "token_bytes", rng.randbytes)

    return choose
