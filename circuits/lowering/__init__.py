"""Networks of integers to constraints."""

from circuits.lowering.network import Level, Lowering

__all__ = ["Level", "Lowering"]
