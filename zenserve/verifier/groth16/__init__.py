"""Groth16's half of the verifier: proofs, verifying keys, openings, transcripts of setups, the equations."""
