"""All tables by name, and what they are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from zenserve.circuits.papers import figures, zen, zeno
from zenserve.circuits.papers.counts import PRIVATE, PUBLIC
from zenserve.circuits.papers.render import Cell, Table
from zenserve.circuits.papers.zen import Counter
from zenserve.circuits.svg import bar_chart
from zenserve.errors import RequestError

BITS: Final = (8, 4, 2)


@dataclass(frozen=True)
class Scope:
    """The networks and layers that tables have rows for."""

    zen: tuple[str, ...] = tuple(figures.ZEN)
    zeno: tuple[str, ...] = figures.ZENO
    convolutions: tuple[tuple[int, int], ...] = figures.CONVOLUTIONS
    dense: tuple[int, ...] = figures.DENSE


ALL: Final = Scope()
QUICK: Final = Scope(ALL.zen[:2], ALL.zeno[:1], ALL.convolutions[:2], ALL.dense[:2])

_MAKERS: Final[dict[str, Callable[[Scope, Counter], Table]]] = {
    "zen-5.3": lambda scope, count: zen.inference(scope.zen, count),
    "zen-5.4": lambda scope, count: zen.accuracy(scope.zen, count),
    "zen-5.9": lambda scope, count: zen.kernels(count),
    "zen-conv": lambda scope, count: zen.convolutions(scope.convolutions, count),
    "zen-dense": lambda scope, count: zen.dense_layers(scope.dense, count),
    "zeno-networks": lambda scope, count: zeno.networks(scope.zeno, count),
    "zeno-circuit": lambda scope, count: zeno.circuit_computation(),
    "zeno-knit": lambda scope, count: zeno.knit_encoding(scope.zeno, count),
    "zeno-sharing": lambda scope, count: zeno.sharing(scope.zeno, count),
    "zeno-end-to-end": lambda scope, count: zeno.end_to_end(scope.zeno, count),
    "bits": lambda scope, count: precisions(scope, count),
}
NAMES: Final = tuple(_MAKERS)


def make(name: str, scope: Scope, count: Counter) -> Table:
    """The table of this name."""
    return _MAKERS[name](scope, count)


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """These names, all if there are none. Raises ``RequestError`` (``request.unknown_table``)."""
    for name in names:
        if name not in NAMES:
            raise RequestError(
                "request.unknown_table",
                f"there is no table {name[:80]!r}: the tables are {', '.join(NAMES)}",
                field="name",
            )
    return tuple(dict.fromkeys(names)) or NAMES


def precisions(scope: Scope, count: Counter) -> Table:
    """Fewer bits than the papers have."""
    rows: list[tuple[Cell, ...]] = []
    bars: dict[str, list[float]] = {}
    for networks, circuits in ((scope.zen, PRIVATE), (scope.zeno, PUBLIC)):
        for network in networks:
            for circuit in circuits:
                totals = [count(network, replace(circuit, bits=bits)).total() for bits in BITS]
                said = network, circuit.weights, f"level {circuit.level}"
                rows.append((*said, *totals, totals[0] / totals[-1]))
            for bits, total in zip(BITS, totals, strict=True):
                bars.setdefault(f"{bits} bits", []).append(total)
    return Table(
        "bits",
        "8, 4 and 2 bits, input private",
        "Constraints with weights and activations of so many bits. The papers have 8 alone. What fewer cost "
        "in accuracy is in docs/quantisation.md.",
        (
            *("network", "weights are", "circuit"),
            *(f"{bits} bits" for bits in BITS),
            f"{BITS[0]} / {BITS[-1]} bits",
        ),
        tuple(rows),
        bar_chart(
            f"Constraints by bits, {PRIVATE[-1].label}; ZENO's networks with public weights",
            "constraints",
            [zen.short(network) for network in (*scope.zen, *scope.zeno)],
            bars,
            logarithmic=True,
        ),
    )
