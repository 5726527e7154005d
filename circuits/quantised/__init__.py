"""Integer networks: what a float network becomes, and what a circuit proves."""

from zenserve.circuits.quantised.graph import Integers, Output, QuantGraph, QuantInput

__all__ = ["Integers", "Output", "QuantGraph", "QuantInput"]
