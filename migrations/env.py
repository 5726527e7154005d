"""Runs the migrations on the connection that ``zenserve.service.storage.schema`` hands over."""

from alembic import context

from zenserve.service.storage.records.base import Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
