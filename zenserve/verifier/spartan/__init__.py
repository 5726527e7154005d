"""The verifier's half of Spartan, with a Reed-Solomon commitment: hashes only (docs/spartan.md)."""
