"""Data that outlives a process: rows, files by content, and values sealed with the secret key."""
