"""Products of stacks of matrices are numpy's, however they lie."""

from __future__ import annotations

import numpy as np
import pytest

from zenserve.gpu import device, matrices

XP = device.namespace()


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (6, 4, 1)),
        ((2, 6, 1, 4), (2, 1, 4, 7)),
        ((0, 3, 4), (4, 2)),
        ((2, 3, 0), (0, 5)),
    ],
)
def test_shapes(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal(left), rng.standard_normal(right)
    found = matrices.product(XP, XP.asarray(a), XP.asarray(b))
    np.testing.assert_allclose(found.get(), a @ b, rtol=1e-13, atol=1e-13)


def test_onto() -> None:
    rng = np.random.default_rng(5)
    a, b, c = (rng.standard_normal(shape) for shape in ((3, 4, 5), (5, 6), (3, 4, 6)))
    onto = XP.asarray(c)
    made = matrices.product(XP, XP.asarray(a), XP.asarray(b), onto)
    assert made is onto
    np.testing.assert_allclose(onto.get(), c + a @ b, rtol=1e-13, atol=1e-13)


def test_views() -> None:
    """Transposed, parts of larger ones, of which entries do not lie beside each other, and repeated ones."""
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((5, 6, 8)), rng.standard_normal((5, 8, 8))
    x, y = XP.asarray(a), XP.asarray(b)
    for one, other, expected in (
        (x, y.swapaxes(-1, -2), a @ b.swapaxes(-1, -2)),
        (y.swapaxes(-1, -2), y, b.swapaxes(-1, -2) @ b),
        (x[::2, 1:4], y[::2, :, 2:5], a[::2, 1:4] @ b[::2, :, 2:5]),
        (x[..., ::2], y[:, ::2], a[..., ::2] @ b[:, ::2]),
        (x.swapaxes(0, 1), y[0], a.swapaxes(0, 1) @ b[0]),
        (XP.broadcast_to(x[:1], (5, 6, 8)), y, a[:1] @ b),
        (XP.broadcast_to(x[:, :1], (5, 6, 8)), y, np.repeat(a[:, :1], 6, axis=1) @ b),
    ):
        np.testing.assert_allclose(matrices.product(XP, one, other).get(), expected, rtol=1e-13, atol=1e-13)
