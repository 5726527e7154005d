"""Kernels that are written down from functions of arrays do what numpy does with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from zenserve.gpu import device, fused
from zenserve.gpu.device import Device

XP = device.namespace()


def mixed(factor: float, x: Any, y: Any, chosen: Any) -> tuple[Any, ...]:
    """All that can be written down."""
    xp = x.__array_namespace__()
    cells = xp.stack([x * share + y * (1 - share) for share in (0.0, 0.25, 1.0)])
    low, high = cells.min(axis=0), cells.max(axis=0)
    known = xp.zeros_like(x) + factor
    return (
        xp.where(chosen & ~(low == high), low / high, xp.exp(-abs(x)) + known),
        xp.clip(xp.nextafter(x, np.inf) - 1.0 / y, -2.0, 2.0) ** 2,
        xp.where(xp.isnan(xp.sqrt(x)) | (y > 0.5), xp.float_power(abs(y), 1.5), xp.sign(x)),
        xp.maximum(xp.minimum(x * np.inf, y), xp.floor(3 * x) + xp.rint(y)),
        xp.where(xp.isfinite(1.0 / x), xp.tanh(y) * xp.ceil(3 * x), xp.logaddexp(x, y) - xp.log(abs(y))),
    )


def test_operators_and_broadcasts() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((3, 1, 5)), rng.standard_normal((7, 1))
    x[0, 0, 0] = 0.0
    chosen = rng.uniform(size=(3, 7, 5)) < 0.5
    host = (x, y, chosen)
    wide = XP.asarray(np.repeat(x, 2, axis=2))[..., ::2]  # entries that do not lie beside each other
    made = fused.run(mixed, (2.5,), (wide, *map(XP.asarray, host[1:])), XP)
    with np.errstate(all="ignore"):
        expected = mixed(2.5, *np.broadcast_arrays(*host))
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(one.get(), other, rtol=1e-14)


def test_equal_terms_are_one_and_known_ones_none() -> None:
    def doubled(x: Any) -> tuple[Any, ...]:
        xp = x.__array_namespace__()
        return (xp.maximum(x + 1, x + 1) * 1.0 + (xp.zeros_like(x) + 2) * 3,)

    text, _, count = fused._source(doubled, (), (False,), 1)
    assert count == 1
    assert text.count("a0 +") == 1
    assert "*" not in text.split("zero = 0.0;")[1]


def test_what_is_not_known_is_not_decided() -> None:
    def asked(x: Any) -> tuple[Any, ...]:
        return (x if x > 0 else -x,)

    with pytest.raises(TypeError, match="not known"):
        fused.run(asked, (), (XP.asarray(np.ones(3)),), XP)


def test_nothing_is_launched_of_nothing() -> None:
    (made,) = fused.run(lambda x: (x + 1,), (), (XP.asarray(np.ones((0, 3))),), XP)
    assert made.shape == (0, 3)
    assert Device.of(made).index == 0
