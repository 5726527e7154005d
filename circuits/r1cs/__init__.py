"""Rank-1 constraints and the witnesses that satisfy them: wires, rows, gadgets, lookups and products."""
