"""What outlives a process: rows, files by content, and what is sealed with the secret key."""
