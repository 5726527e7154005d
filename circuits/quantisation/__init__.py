"""A float network and typical inputs to a network of integers (docs/quantisation.md)."""

from zenserve.circuits.graphs.calibration import METHODS, Method
from zenserve.circuits.quantisation.quantiser import quantise
from zenserve.circuits.quantisation.reporting import Report, report

__all__ = ["METHODS", "Method", "Report", "quantise", "report"]
