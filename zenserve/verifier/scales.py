"""The real numbers that a proof's integers represent, by the scales in the description of its circuit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def real_logits(circuit: Mapping[str, Any], logits: Sequence[int]) -> list[float] | None:
    """The network's outputs in its own units; None where they are sums whose scale the description does not
    tell. ``circuit``: as key files have it.
    """
    quantisation, nodes = circuit["quantisation"], circuit["architecture"]
    reads = {node["name"]: node["reads"] for node in nodes}
    layers = {layer["name"]: layer for layer in quantisation["layers"]}
    types = {name: layer["rescale"]["output"] for name, layer in layers.items() if "rescale" in layer}
    last = _back(nodes[-1]["name"], reads, layers)
    if last in types:
        return [types[last]["scale"] * (logit - types[last]["zero_point"]) for logit in logits]
    scales = layers.get(last, {}).get("weight", {}).get("scale", ())
    if len(scales) not in (1, len(logits)):
        return None
    # A step of the sums is one of the weights times one of what they weigh.
    step = types.get(_back(reads[last][0], reads, types), quantisation["input"])["scale"]
    return [logit * scales[index % len(scales)] * step for index, logit in enumerate(logits)]


def _back(name: str, reads: Mapping[str, list[str]], known: Mapping[str, Any]) -> str:
    """The nearest of the ``known`` from this node backwards, past what only moves values; else the input."""
    while name not in known and name in reads:
        name = reads[name][0]
    return name
