"""A network layer by layer, from the description of its circuit: shapes, types, and what each layer costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from zenserve.circuits.schemes.cost import layer_of

SHARED: Final = "shared"
"""The name for what belongs to no single layer: lookup tables, commitments."""


@dataclass(frozen=True)
class Layer:
    """``seconds``: of a proof, shared out by rows; None before there was one. ``low``, ``high``: the ends of
    what its integers of ``bits`` stand for, where it has a type of its own.
    """

    name: str
    operator: str
    shape: list[int] | None
    weights: list[int] | None
    rows: int
    seconds: float | None
    bits: int | None
    low: float | None
    high: float | None

    @property
    def moves(self) -> bool:
        """True if the layer has neither rows nor weights: it only moves values."""
        return bool(self.operator) and not self.rows and not self.weights


def layers(circuit: Mapping[str, Any], seconds: float | None) -> list[Layer]:
    """The inputs, the nodes in order, the output and what they share; ``seconds``: what a proof takes."""
    nodes = {node["name"]: node for node in circuit["architecture"]}
    several = {f"input/{kind['name']}": kind for kind in circuit["quantisation"].get("inputs", [])}
    inputs = several or {"input": circuit["quantisation"]["input"]}
    shapes = {name: {"shape": kind["shape"]} for name, kind in inputs.items()}
    known = {**shapes, **nodes, "output": {}, SHARED: {}}
    rows = _rows(circuit, known)
    types = {**inputs, **_types(circuit)}
    share = seconds / sum(rows.values()) if seconds is not None else None
    return [
        _layer(name, node, rows[name], share, types.get(name))
        for name, node in known.items()
        if rows[name] or node
    ]


def _layer(
    name: str, node: Mapping[str, Any], rows: int, share: float | None, kind: Mapping[str, Any] | None
) -> Layer:
    low, high = _ends(kind) if kind else (None, None)
    return Layer(
        name=name,
        operator=node.get("operator", ""),
        shape=node.get("shape"),
        weights=node.get("weights"),
        rows=rows,
        seconds=rows * share if share is not None else None,
        bits=kind["bits"] if kind else None,
        low=low,
        high=high,
    )


def _rows(circuit: Mapping[str, Any], known: Mapping[str, Any]) -> Counter[str]:
    rows = Counter[str]()
    for block, count in circuit["constraints"]["by_gadget"].items():
        layer = layer_of(block, known)
        rows[layer if layer in known else SHARED] += count
    return rows


def _types(circuit: Mapping[str, Any]) -> dict[str, Any]:
    described = circuit["quantisation"]["layers"]
    return {layer["name"]: layer["rescale"]["output"] for layer in described if "rescale" in layer}


def _ends(kind: Mapping[str, Any]) -> tuple[float, float]:
    scale, zero, top = kind["scale"], kind["zero_point"], (1 << kind["bits"]) - 1
    return scale * (0 - zero), scale * (top - zero)
