"""Networks of integers to constraints."""

from zenserve.circuits.lowering.argmax import argmax, argmax_cost
from zenserve.circuits.lowering.cost import Cost
from zenserve.circuits.lowering.network import Level, Lowering, arithmetic, best_plan
from zenserve.circuits.lowering.optimiser import Plan

__all__ = [
    "Cost",
    "Level",
    "Lowering",
    "Plan",
    "argmax",
    "argmax_cost",
    "arithmetic",
    "best_plan",
]
