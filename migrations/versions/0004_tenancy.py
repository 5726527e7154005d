"""Tenants that are suspended or on their way out, labels of jobs, what each tenant used, secrets that rotate.

Only additions: code of before goes on working.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def _added() -> dict[str, list[sa.Column[object]]]:
    """New columns of old tables."""
    return {
        "tenants": [sa.Column("suspended_at", sa.DateTime()), sa.Column("deleted_at", sa.DateTime())],
        "jobs": [
            sa.Column("labels", sa.JSON()),
            sa.Column("size", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        ],
        "webhooks": [
            sa.Column("previous_secret", sa.LargeBinary()),
            sa.Column("previous_until", sa.DateTime()),
        ],
    }


def upgrade() -> None:
    for table, columns in _added().items():
        for column in columns:
            op.add_column(table, column)
    op.create_table(
        "job_labels",
        sa.Column("job_id", sa.String(40), sa.ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("name", sa.String(63), primary_key=True),
        sa.Column("value", sa.String(100), nullable=False),
        sa.Column("tenant_id", sa.String(40), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
    )
    op.create_index(
        "job_labels_by_value", "job_labels", ["tenant_id", "name", "value", "created_at", "job_id"]
    )
    op.create_table(
        "usage",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("tenant_id", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("ended_at", sa.DateTime(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
    )
    op.create_index("usage_by_tenant", "usage", ["tenant_id", "ended_at"])
    op.create_table(
        "issuers",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("since", sa.DateTime(), nullable=False),
    )
    _name_issuers()


def _name_issuers() -> None:
    """Record the issuers of existing receipts: their keys stay known when the secret changes."""
    models = sa.table("models", sa.column("id", sa.String), sa.column("receipt", sa.JSON(none_as_null=True)))
    jobs = sa.table("jobs", sa.column("id", sa.String), sa.column("created_at", sa.DateTime))
    issuers = sa.table("issuers", sa.column("id", sa.String), sa.column("since", sa.DateTime))
    signed = (
        sa.select(models.c.receipt, jobs.c.created_at)
        .join(jobs, jobs.c.id == models.c.id)
        .where(models.c.receipt.is_not(None))
        .order_by(jobs.c.created_at)
    )
    since: dict[str, object] = {}
    for receipt, moment in op.get_bind().execute(signed):
        since.setdefault(receipt["issuer"], moment)
    op.bulk_insert(issuers, [{"id": key, "since": moment} for key, moment in since.items()])


def downgrade() -> None:
    op.drop_table("issuers")
    op.drop_index("usage_by_tenant", "usage")
    op.drop_table("usage")
    op.drop_index("job_labels_by_value", "job_labels")
    op.drop_table("job_labels")
    for table, columns in _added().items():
        for column in columns:
            op.drop_column(table, column.name)
