"""Integer networks: what a float network becomes, and what a circuit proves."""

from circuits.quantised.graph import Output, QuantGraph, QuantInput

__all__ = ["Output", "QuantGraph", "QuantInput"]
