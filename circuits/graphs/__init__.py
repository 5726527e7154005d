"""What networks are made of: nodes and their types, graphs, and how reals become integers."""
