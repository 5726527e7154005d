"""Networks made smaller: what a bank's cheaper models are made of (docs/streams.md)."""
