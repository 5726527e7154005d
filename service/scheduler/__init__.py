"""What has to be done again and again, by whoever is up: the reaper, and the courier of webhooks."""
