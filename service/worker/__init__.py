"""The process that does what jobs are about, one at a time: ``python -m zenserve.service.worker``."""
