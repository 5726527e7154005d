"""The choice of a bank's model for each frame of a stream, which verifiers recompute: integers, no floats."""
