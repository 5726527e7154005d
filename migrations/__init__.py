"""Alembic migrations of the service's database. They run when the service starts."""
