"""The service: HTTP API, database, jobs, artifact store and command line (see docs/service.md)."""
