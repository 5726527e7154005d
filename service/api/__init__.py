"""What callers meet: who is let in, what they may do and send, and how they are answered."""
