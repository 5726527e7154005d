"""On a card there are the same bounds: by arrays that the host does not look into."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.bounds.networks import KINDS, integers, stream
from tests.gpu.emulator.arrays import waits
from tests.gpu.emulator.place import EMULATED
from zenserve import bounds
from zenserve.bounds import Ball, Bounds, Norm, Synonyms, attack
from zenserve.circuits.graphs.types import FloatArray
from zenserve.gpu import device

NORMS: tuple[Norm, ...] = ("inf", "2", "1")
XP = device.namespace()


def regions(x: FloatArray, radius: float, *, whole: bool) -> Iterator[bounds.Region]:
    radii = np.full(len(x), radius)
    for norm in NORMS:
        yield Ball(x, radii, norm, whole=whole)
    yield Ball(x, radii, "2", where=np.arange(x.shape[1]).reshape(-1, *(1 for _ in x.shape[2:])) == 0)


# Most of their seconds are g++'s: those of these kinds are of other tests, too.
SAMPLE = {("dense", False), ("dense", True), ("gelu", False)}


@pytest.mark.parametrize(
    ("kind", "whole"),
    [
        pytest.param(kind, whole, marks=() if (kind, whole) in SAMPLE else pytest.mark.large)
        for kind in KINDS
        for whole in (False, True)
    ],
)
def test_the_same_on_a_card(kind: str, whole: bool) -> None:
    rng = np.random.default_rng(11)
    graph = KINDS[kind].make(rng)
    x = rng.uniform(-1, 1, (2, *graph.input.shape))
    network, radius = bounds.read(graph), KINDS[kind].radius
    if whole:
        qgraph = integers(graph, rng)
        network, x, radius = bounds.read(qgraph), np.rint(100 * x), 2.0
    there = network.on(XP)
    lines = np.array([[[1.0, *(-1.0 for _ in range(graph.run(x[:1]).size - 1))]]] * 2)
    for region in regions(x, radius, whole=whole):
        for method in bounds.METHODS:
            here, found = (
                Bounds(network, region, method),
                Bounds(there, region.on(XP), method),
            )
            close(found.least(XP.asarray(lines)), here.least(lines))
            for name, interval in here.intervals.items():
                for one, other in zip(found.intervals[name], interval, strict=True):
                    close(one, other)


@pytest.mark.large
def test_sums_of_sums_on_a_card() -> None:
    rng = np.random.default_rng(15)
    network = bounds.read(stream(rng))
    x, lines = rng.uniform(-1, 1, (2, *network.input_shape)), np.array([[[1.0, -1.0, 0.0]]] * 2)
    region, there = Ball(x, np.full(2, 0.1), "2"), network.on(XP)
    here, found = Bounds(network, region, "forward"), Bounds(there, region.on(XP), "forward")
    close(found.least(XP.asarray(lines)), here.least(lines))
    for name, interval in here.intervals.items():
        for one, other in zip(found.intervals[name], interval, strict=True):
            close(one, other)


def close(found: FloatArray, expected: FloatArray) -> None:
    """But for elementary functions and the order of sums, which a device has its own of."""
    np.testing.assert_allclose(bounds.arrays.host(found), expected, rtol=1e-9, atol=1e-9)


def test_attacks_and_words() -> None:
    rng = np.random.default_rng(12)
    graph = KINDS["attention"].make(rng)
    network, x = bounds.read(graph), rng.uniform(-1, 1, (3, 4, 6))
    there, labels = network.on(XP), network.run(x).argmax(axis=1)
    choices = x[:, :, np.newaxis] + rng.uniform(-0.2, 0.2, (3, 4, 5, 6))
    for region in (Ball(x, np.full(3, 0.1), "1", rows=1), Ball(x, np.full(3, 0.1)), Synonyms(choices)):
        found = attack.projected(there, region.on(XP), labels, np.random.default_rng(1), steps=3)
        close(found, attack.projected(network, region, labels, np.random.default_rng(1), steps=3))


@pytest.mark.parametrize("method", bounds.METHODS)
@pytest.mark.parametrize(
    "kind", ["dense", *(pytest.param(kind, marks=pytest.mark.large) for kind in ("attention", "gelu"))]
)
def test_what_is_no_number_certifies_nothing_on_a_card(kind: str, method: bounds.Method) -> None:
    rng = np.random.default_rng(6)
    graph = KINDS[kind].make(rng)
    x = np.repeat(rng.uniform(-1, 1, (1, *graph.input.shape)), 4, axis=0)
    outputs = graph.run(x).reshape(4, -1)
    lines = np.eye(outputs.shape[1])[outputs.argmax(axis=1)][:, np.newaxis] - np.eye(outputs.shape[1])
    region = Ball(x, np.array([1e2, 1e150, 1e308, np.nan])).on(XP)
    with np.errstate(all="ignore"):
        least = bounds.arrays.host(Bounds(bounds.read(graph).on(XP), region, method).least(XP.asarray(lines)))
    assert not (np.where(lines.any(axis=2), least, np.inf) > 0).all(axis=1).any()


@pytest.mark.skipif(not EMULATED, reason="counted on the emulated device")
def test_nothing_waits_on_the_way() -> None:
    """A pass forwards through a network and a region that are known: none of its operations asks."""
    rng = np.random.default_rng(13)
    graph = KINDS["attention"].make(rng)
    x = rng.uniform(-1, 1, (3, *graph.input.shape))
    there, region = bounds.read(graph).on(XP), Ball(x, np.full(3, 0.1), "2").on(XP)
    Bounds(there, region, "forward")
    again = waits(lambda: Bounds(there, region, "forward"))
    assert again.total() == 0, again


def test_a_backend_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    from zenserve.prover import backends

    rng = np.random.default_rng(14)
    graph = KINDS["dense"].make(rng)
    network, x = bounds.read(graph), rng.uniform(-1, 1, (4, *graph.input.shape))
    labels = network.run(x).argmax(axis=1)

    def around(radii: FloatArray, samples: NDArray[np.int64]) -> Ball:
        return Ball(x[samples], radii)

    here = bounds.furthest(network, around, labels, 0.2, steps=64)
    forward = bounds.furthest(network, around, labels, 0.2, "forward", steps=64)
    monkeypatch.setattr(backends, "_missing_gpu", lambda _: None)
    monkeypatch.setenv(backends.VARIABLE, "gpu")
    np.testing.assert_array_equal(bounds.furthest(network, around, labels, 0.2, steps=64), here)
    for _ in range(2):  # recorded, and launched again
        found = bounds.furthest(network, around, labels, 0.2, "forward", steps=64)
        np.testing.assert_array_equal(found, forward)
    region = around(np.full(4, 0.05), np.arange(4))
    assert type(bounds.certify(network, region, labels, "forward").margins) is np.ndarray


@pytest.mark.parametrize("kind", [pytest.param("residual", marks=pytest.mark.large), "attention"])
def test_recorded_passes_send_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An emulated device says so where one would refuse."""
    from zenserve.prover import backends

    monkeypatch.setattr(backends, "_missing_gpu", lambda _: None)
    monkeypatch.setenv(backends.VARIABLE, "gpu")
    graph = KINDS[kind].make(np.random.default_rng(11))
    network, x = bounds.read(graph), np.random.default_rng(12).uniform(-1, 1, (2, *graph.input.shape))
    labels = network.run(x).argmax(axis=1)
    for method in bounds.METHODS:
        radii = bounds.furthest(
            network, lambda radii, some: Ball(x[some], radii, "2"), labels, 0.1, method, steps=4
        )
        assert radii.shape == labels.shape
