"""The parts of networks: nodes and their types, graphs, and the quantisation of reals to integers."""
