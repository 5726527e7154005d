"""Networks of integers to constraints."""

from circuits.lowering.argmax import argmax, argmax_tally
from circuits.lowering.network import Level, Lowering, arithmetic, best_plan
from circuits.lowering.optimiser import Plan
from circuits.lowering.tally import Tally

__all__ = [
    "Level",
    "Lowering",
    "Plan",
    "Tally",
    "argmax",
    "argmax_tally",
    "arithmetic",
    "best_plan",
]
