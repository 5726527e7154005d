"""Contracts and calldata for Ethereum: a Groth16 verifier for one key, by the precompiles of EIP-2537."""
