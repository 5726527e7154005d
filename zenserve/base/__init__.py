"""The base of provers and the service: files of sections, progress, threads and the system's randomness."""
