"""Periodic work, done by any scheduler that runs: the reaper, and the courier of webhooks."""
