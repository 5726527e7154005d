"""Networks of integers to constraints."""

from circuits.lowering.argmax import argmax, argmax_cost
from circuits.lowering.cost import Cost
from circuits.lowering.network import Level, Lowering, arithmetic, best_plan
from circuits.lowering.optimiser import Plan

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
