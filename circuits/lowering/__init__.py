"""Networks of integers to constraints."""

from circuits.lowering.network import Level, Lowering, arithmetic

__all__ = ["Level", "Lowering", "arithmetic"]
