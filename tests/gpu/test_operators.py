"""Operators from files run on a GPU as on the processor: masked shares, quotients, means, largest entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from circuits import load_onnx, quantise
from gpu.device import Device
from tests.circuits.operators import test_arithmetic as arithmetic
from tests.circuits.operators.test_masks import CONSTANT
from tests.circuits.operators.test_moving import Case, floats
from tests.gpu.test_layers import require_same

CASES: dict[str, Callable[[Any], Case]] = {
    "masks": lambda _: CONSTANT["added twice"],
    "whole quotients": arithmetic.computed_quotients("Mod"),
    **{each.__name__: each for each in (arithmetic.averages, arithmetic.global_max, arithmetic.quotient)},
}


@pytest.mark.parametrize("name", CASES)
def test_as_the_processor(name: str) -> None:
    rng = np.random.default_rng(2)
    case = CASES[name](rng)
    graph = quantise(load_onnx(arithmetic.model(case)), floats(rng, 32, *case[2]))
    require_same(Device(), graph, 4, 4)
