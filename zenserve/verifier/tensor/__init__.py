"""The tensor system: committed tensors, linear functionals of them, and lookups that add up. docs/tensor.md
has the protocol."""
