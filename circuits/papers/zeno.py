"""ZENO's tables and figures 6.9 to 6.13: private image, public weights, or both private."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from zenserve.circuits.papers.counts import PRIVATE, PUBLIC, Circuit
from zenserve.circuits.papers.figures import (
    ZENO_CIRCUIT,
    ZENO_END_TO_END,
    ZENO_KNIT,
    ZENO_SECONDS,
    ZENO_SHARING,
)
from zenserve.circuits.papers.render import Cell, Table
from zenserve.circuits.papers.zen import IMAGES, Counter, short
from zenserve.circuits.svg import bar_chart

_RESULTS: Final = Path(__file__).parents[3] / "bench" / "results"
_PEER: Final = "gate by gate"


def networks(names: Sequence[str], count: Counter) -> Table:
    """The networks by level."""
    rows: list[tuple[Cell, ...]] = []
    bars: dict[str, list[float]] = {}
    for circuits in (PUBLIC, PRIVATE):
        for name in names:
            vanilla = count(name, circuits[0]).total()
            for circuit in circuits:
                found = count(name, circuit)
                total = found.total()
                rows.append(
                    (name, *_said(circuit), total, found.total("weights"), found.checks, vanilla / total)
                )
                if circuit in PUBLIC:
                    bars.setdefault(circuit.label, []).append(total)
    return Table(
        "zeno-networks",
        "ZENO's networks by level, image private",
        "Constraints. Weights: range checks of private weights. Checks: of inputs, sums, remainders, "
        "quotients, signs and clamps, tables included, for every ReLU; ZENO's released circuits have none.",
        (
            *("network", "weights are", "circuit", "constraints", "of them weights", "of them checks"),
            "level 0 / this",
        ),
        tuple(rows),
        bar_chart(
            "Constraints, image private, weights public",
            "constraints",
            [short(name) for name in names],
            bars,
            logarithmic=True,
        ),
    )


def circuit_computation() -> Table:
    """Return the table of speedups of circuit computation over general compilers."""
    rows: list[tuple[Cell, ...]] = [
        ("ZENO over Arkworks", claim.weights, claim.what, claim.factor) for claim in ZENO_CIRCUIT
    ]
    rows += [("ZenServe over gates", "public", name, ratio) for name, ratio in _measured()]
    return Table(
        "zeno-circuit",
        "circuit computation, image private",
        "Speedups. ZENO: least, most and mean, over Arkworks. ZenServe: over the same circuits made gate by "
        "gate, both in Python, as `python -m bench.compiler` measured.",
        ("what", "weights are", "circuit", "times as fast"),
        tuple(rows),
    )


def knit_encoding(names: Sequence[str], count: Counter) -> Table:
    """Level 3 over level 2, with public weights."""
    rows: list[tuple[Cell, ...]] = [("ZENO, at most", None, None, ZENO_KNIT)]
    for name in names:
        before, after = (count(name, PUBLIC[level]).total() for level in (2, 3))
        rows.append((name, before, after, before / after))
    return Table(
        "zeno-knit",
        "knit encoding, image private, weights public",
        "ZENO's factor is for the time of security computation, ZenServe's for the constraints of the whole "
        "circuit.",
        ("network", "level 2", "level 3", "factor"),
        tuple(rows),
    )


def sharing(names: Sequence[str], count: Counter) -> Table:
    """Return the table of constraints that many images share."""
    rows: list[tuple[Cell, ...]] = [("ZENO", None, None, None, None, ZENO_SHARING)]
    for circuits in (PUBLIC, PRIVATE):
        for name in names:
            for circuit in circuits:
                found = count(name, circuit)
                alone, together = IMAGES * found.total(), found.over(IMAGES)
                rows.append((name, *_said(circuit), alone, together, 100 * (alone / together - 1)))
    return Table(
        "zeno-sharing",
        f"constraints shared over {IMAGES} images",
        f"ZenServe: constraints of {IMAGES} statements, and of one about all images that has the range "
        "checks of weights and the lookup tables once, each other row as before.",
        ("network", "weights are", "circuit", f"{IMAGES} statements", "one statement", "gain, %"),
        tuple(rows),
    )


def end_to_end(names: Sequence[str], count: Counter) -> Table:
    """From the image to the proof."""
    rows: list[tuple[Cell, ...]] = [
        ("all networks", claim.weights, claim.factor, None, None, None) for claim in ZENO_END_TO_END
    ]
    for name in names:
        ours, theirs = ZENO_SECONDS.get(name, (None, None))
        factor = theirs / ours if ours and theirs else None
        rows.append((name, "public", factor, ours, theirs, count(name, PUBLIC[-1]).total()))
    return Table(
        "zeno-end-to-end",
        "end to end, image private",
        "ZENO over Arkworks: at most, over all networks; seconds for one proof on its authors' machine. "
        f"ZenServe: constraints at {PUBLIC[-1].label}, every ReLU proven; no times, since no benchmark "
        "proves these networks yet.",
        (
            *("network", "weights are", "ZENO / Arkworks", "ZENO, seconds", "Arkworks, seconds"),
            "ZenServe, constraints",
        ),
        tuple(rows),
    )


def _said(circuit: Circuit) -> tuple[str, str]:
    return circuit.weights, f"level {circuit.level}"


def _measured() -> list[tuple[str, float]]:
    """Circuits and ratios of the latest run of ``bench.compiler``; none outside a checkout."""
    files = sorted(_RESULTS.glob("compiler-*.json"))
    rows = json.loads(files[-1].read_text())["rows"] if files else []
    return [
        (row["name"].removeprefix("circuit_"), row["ratio"])
        for row in rows
        if row.get("peer") == _PEER and "ratio" in row
    ]
