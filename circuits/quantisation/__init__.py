"""A float network and typical inputs to a network of integers (docs/quantisation.md)."""

from circuits.graphs.calibration import METHODS, Method
from circuits.quantisation.quantiser import quantise
from circuits.quantisation.reporting import Report, report

__all__ = ["METHODS", "Method", "Report", "quantise", "report"]
