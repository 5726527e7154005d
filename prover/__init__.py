"""Proof systems over BLS12-381 and the constraint systems that they prove.

``constraint_system``: what is proven, and ``adaptivity``, the guard of constraints on challenges;
``constraint_file``: its bytes. ``backends``: the processor or a GPU, for whatever any proof system computes.
``groth16``: a proof system with its setup, ceremonies and files.
"""
