"""A topic of ``bench.gpu_bounds``: single operators at the sizes of Faith's sentences, PyTorch beside them.

Of 25 words, in batches of one word that may move and of all; 128 numbers a word, 512 inside, four heads. Ours
are intervals and forms of what an operator makes of forms, rounded outward, in float64, replayed; PyTorch's
the two lines of each entry, as they come, in float32 (``bench.peers.operators``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from bench.measure import in_turn, seconds
from bench.report import Row
from examples.sentences.network import HEADS, INSIDE, WIDTH
from zenserve.bounds import Ball
from zenserve.bounds.activation import function
from zenserve.bounds.elementwise import Clamp, Function
from zenserve.bounds.linear import Linear
from zenserve.bounds.maps import Kernel, Moved
from zenserve.bounds.network import Forms
from zenserve.bounds.product import Product
from zenserve.circuits.graphs.types import Shape
from zenserve.gpu.device import Device, namespace
from zenserve.relations.planes import Sliding

WORDS: Final = 25
FASTER: Final = {"matmul": 5.1, "relu": 141.0, "tanh": 138.0, "dot product": 26.5}
"""Operators, and by how much Faith is faster than PyTorch on an A100, as its paper has it."""


class _Case(NamedTuple):
    """``ours`` of a region's forms of ``shape``; in PyTorch's lines words come first, ``peers_shape``."""

    shape: Shape
    ours: Callable[[Ball, Forms], Any]
    peers_shape: Shape
    peer: Callable[[Any, Any], Any]


def _cases() -> dict[str, _Case]:
    import torch

    from bench.peers import operators as peer

    xp = namespace()
    weight = np.random.default_rng(5).standard_normal((INSIDE, WIDTH)) / 12
    there, size = torch.tensor(weight.T, dtype=torch.float32, device="cuda"), WIDTH // HEADS
    read, inside, heads = (WIDTH, WORDS, 1), (INSIDE, WORDS, 1), (HEADS, WORDS, size)
    kernel = Kernel(weight[..., np.newaxis, np.newaxis], Sliding(read, (1, 1)))
    dense = Linear("made", ("x",), inside, False, (kernel,), np.zeros(())).on(xp)
    turned = (HEADS, size, WORDS)
    places = np.arange(WIDTH * WORDS).reshape(heads).swapaxes(1, 2)
    turn = Linear("y", ("x",), turned, False, (Moved(places, heads),), np.zeros(())).on(xp)
    product = Product("made", ("x", "y"), (HEADS, WORDS, WORDS), False, True, 1.0, size)

    def multiplied(region: Ball, x: Forms) -> None:
        made = dense.through([x.size]).forward([x])
        region.reach(made, dense.rounds)

    def bent(of: Function) -> Callable[[Ball, Forms], object]:
        return lambda region, x: region.bend(x, 64, None, of, 64)

    def dotted(region: Ball, x: Forms) -> None:
        known, _ = region.reach(x._replace(rest=x.rest.copy(), size=x.size.copy()))
        y, other = turn.through([x.size]).forward([x]), turn.image(known)
        made = product.relaxed(known, other).forward([x, y])
        region.reach(made, 64, product.image(known, other))

    return {
        "matmul": _Case(read, multiplied, (WORDS, WIDTH), lambda x, radius: peer.dense(x, there, radius)),
        "relu": _Case(inside, bent(Clamp(0, np.inf)), (WORDS, INSIDE), peer.relu),
        "tanh": _Case(inside, bent(function("tanh(x)")), (WORDS, INSIDE), peer.tanh),
        "dot product": _Case(
            heads,
            dotted,
            heads,
            lambda x, radius: peer.dot(x, peer.Lines(*(each.transpose(-1, -2) for each in x)), radius),
        ),
    }


def operator(name: str, *, compiled: bool) -> Iterator[Row]:
    case = _cases()[name]
    for count in (1, WORDS):
        contestants = {"zenserve": _ours(case, count), **dict(_peers(case, count, compiled=compiled))}
        for who, timing in in_turn(contestants, repetitions=9).items():
            more = {"faith": FASTER[name]} if timing.ratio is None else {}
            yield Row.of(f"{name}, {count} words, {who}", count, timing, peer=who, more=more)


def _ours(case: _Case, count: int) -> Callable[[], float]:
    xp, device, rng = namespace(), Device(), np.random.default_rng(6)
    offset, slope = (xp.asarray(rng.standard_normal((count, *case.shape, *more))) for more in ((), (WIDTH,)))
    marked = np.arange(offset[0].size).reshape(case.shape) < WIDTH
    region = Ball(offset, xp.full(count, 0.05), "2", where=xp.asarray(marked))
    forms = Forms(slope / 100, offset, xp.zeros_like(offset), abs(offset) + 1)
    launch = device.recorded(lambda: case.ours(region, forms))

    def call() -> None:
        launch()
        device.synchronize()

    return lambda: seconds(call)


def _peers(case: _Case, count: int, *, compiled: bool) -> Iterator[tuple[str, Callable[[], float]]]:
    import torch

    from bench.peers.operators import Lines

    slope = torch.randn(count, WIDTH, *case.peers_shape, device="cuda") / 100
    offset, radius = (
        torch.randn(count, *case.peers_shape, device="cuda"),
        torch.full((count,), 0.05, device="cuda"),
    )
    lines = Lines(slope, offset, slope.clone(), offset.clone())

    def timed(call: Callable[[Any, Any], Any]) -> Callable[[], float]:
        call(lines, radius), call(lines, radius)
        return lambda: seconds(lambda: (call(lines, radius), torch.cuda.synchronize()))

    yield "torch_eager", timed(case.peer)
    if compiled:
        yield "torch_compile", timed(torch.compile(case.peer, dynamic=False))
