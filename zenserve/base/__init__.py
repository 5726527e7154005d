"""What provers and the service need: files of sections, progress, threads and the system's randomness."""
