"""Spartan over Fr: proofs without a setup, of the same constraint systems as Groth16's (docs/spartan.md)."""
