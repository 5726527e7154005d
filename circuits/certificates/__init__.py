"""That a network keeps a label throughout a box, as relations (docs/robustness.md has the proofs).

Forwards, of every tensor the least and the largest integers that the box leaves of its entries. Backwards,
from the label's lead over each rival: the lead is at least the sum of ``2^exponent line · tensor`` over all
tensors that have a line, and of what has been paid. Through whatever is no sum a line is led by two lines
that the prover chooses and the circuit checks.

Tensors of lines are [batch, *shape, r] for r rivals.
"""
