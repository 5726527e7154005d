"""Networks of floats: the graph, its rewrites, and tensors that write one down."""
