"""Integer networks: what a float network becomes, and what a circuit proves."""

from circuits.quantised.graph import MOST_CLASSES, Output, QuantGraph

__all__ = ["MOST_CLASSES", "Output", "QuantGraph"]
