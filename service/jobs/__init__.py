"""Jobs between a caller and a worker: their states, whose turn it is, the messages, how far they are."""
