"""The relations between the integers of a network, with proven bounds. No proof system is assumed.

``relation``: tensors and the relations between them; ``bounds``: the bounds of integers, their proofs, and
the capacity of a field; ``functions``: the functions that lookups prove; ``planes``: sliding windows;
``integers``.
"""
