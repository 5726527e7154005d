"""The HTTP API: authentication, permissions, checks of requests, and responses."""
