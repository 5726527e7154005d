"""Relations that certify that a network keeps a label throughout a box (docs/robustness.md has the proofs).

The forward pass bounds the entries of every tensor, over the box, by their least and largest integers. The
backward pass starts from the label's lead over each rival: the lead is at least the sum of ``2^exponent line
· tensor`` over all tensors that have a line, plus the constants paid so far. A relation that is no sum is
passed with two lines that the prover chooses and the circuit checks.

Tensors of lines are [batch, *shape, r] for r rivals.
"""
