"""Tenants and keys, what jobs need to be shared out, their events, webhooks, uploads, the audit log, totals.

All that was there before belongs to the tenant ``tnt_local``. Only additions: code of before goes on working.
"""

import hashlib

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_LOCAL = "tnt_local"


def _added() -> dict[str, list[sa.Column[object]]]:
    """New columns of old tables."""
    return {
        "jobs": [
            sa.Column("tenant_id", sa.String(40), nullable=False, server_default=_LOCAL),
            sa.Column("queue", sa.String(8), nullable=False, server_default="cpu"),
            sa.Column("priority", sa.Integer(), nullable=False, server_default=sa.text("0")),
            sa.Column("memory", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
            sa.Column("cost", sa.Double(), nullable=False, server_default=sa.text("0")),
            sa.Column("available_at", sa.DateTime()),
            sa.Column("deadline_at", sa.DateTime()),
            sa.Column("expected", sa.JSON()),
            sa.Column("trace", sa.String(55)),
            sa.Column("expires_at", sa.DateTime()),
        ],
        "circuits": [
            sa.Column("proving_key_bytes", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
            sa.Column("constraints", sa.Integer(), nullable=False, server_default=sa.text("0")),
            sa.Column("uses", sa.Integer(), nullable=False, server_default=sa.text("0")),
            sa.Column("seconds", sa.JSON()),
        ],
        "models": [sa.Column("estimate", sa.JSON())],
        "commitments": [
            sa.Column("tenant_id", sa.String(40), nullable=False, server_default=_LOCAL),
            sa.Column("idempotency_key", sa.String(64)),
            sa.Column("request_mac", sa.LargeBinary(32)),
        ],
        "workers": [
            sa.Column("host", sa.String(255), nullable=False, server_default=""),
            sa.Column("queues", sa.JSON()),
            sa.Column("backend", sa.String(8), nullable=False, server_default="cpu"),
            sa.Column("threads", sa.Integer(), nullable=False, server_default=sa.text("1")),
            sa.Column("memory", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
            sa.Column("devices", sa.JSON()),
        ],
    }


_INDEXES = (
    ("jobs_by_tenant", "jobs", ["tenant_id", "kind", "created_at", "id"]),
    ("jobs_by_tenant_and_state", "jobs", ["tenant_id", "kind", "state", "created_at", "id"]),
    ("jobs_by_age", "jobs", ["kind", "created_at", "id"]),
    ("jobs_by_expiry", "jobs", ["expires_at"]),
    ("jobs_by_end", "jobs", ["finished_at"]),
    ("commitments_by_tenant", "commitments", ["tenant_id", "created_at", "id"]),
    ("commitments_by_model", "commitments", ["model_id"]),
    ("datasets_by_model", "datasets", ["model_id"]),
    ("proofs_by_model", "proofs", ["model_id"]),
    ("ix_api_keys_tenant_id", "api_keys", ["tenant_id"]),
    ("ix_webhooks_tenant_id", "webhooks", ["tenant_id"]),
    ("deliveries_by_webhook", "deliveries", ["webhook_id", "created_at", "id"]),
    ("deliveries_by_time", "deliveries", ["state", "next_at"]),
    ("audit_by_tenant", "audit_log", ["tenant_id", "id"]),
)
_PARTIAL_INDEXES = (
    ("proofs_with_input", "proofs", ["id"], "input IS NOT NULL"),
    ("shards_with_opening", "shards", ["proof_id"], "opening IS NOT NULL"),
)


def upgrade() -> None:
    for table, columns in _added().items():
        for column in columns:
            op.add_column(table, column)
    _create_tables()
    for name, table, names in _INDEXES:
        op.create_index(name, table, names)
    op.create_index("commitments_by_key", "commitments", ["idempotency_key"], unique=True)
    for name, table, names, condition in _PARTIAL_INDEXES:
        where = sa.text(condition)
        op.create_index(name, table, names, sqlite_where=where, postgresql_where=where)
    op.execute(
        f"INSERT INTO tenants (id, name, created_at) VALUES ('{_LOCAL}', 'local', CURRENT_TIMESTAMP)"  # noqa: S608
    )
    _tell_keys_of_tenants_apart()


def _tell_keys_of_tenants_apart() -> None:
    """An idempotency key is kept as the digest of its tenant and itself (``scoped`` of jobs)."""
    jobs = sa.table("jobs", sa.column("id", sa.String), sa.column("idempotency_key", sa.String))
    connection = op.get_bind()
    for job_id, key in connection.execute(sa.select(jobs).where(jobs.c.idempotency_key.is_not(None))).all():
        digest = hashlib.sha256(f"{_LOCAL}/{key}".encode()).hexdigest()
        connection.execute(sa.update(jobs).where(jobs.c.id == job_id).values(idempotency_key=digest))


def _create_tables() -> None:
    op.create_table(
        "tenants",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("max_queued", sa.Integer()),
        sa.Column("max_running", sa.Integer()),
        sa.Column("retention_days", sa.Integer()),
        sa.Column("served_at", sa.DateTime()),
        sa.Column("created_at", sa.DateTime(), nullable=False),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("tenant_id", sa.String(40), sa.ForeignKey("tenants.id"), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("expires_at", sa.DateTime()),
        sa.Column("revoked_at", sa.DateTime()),
        sa.Column("last_used_at", sa.DateTime()),
    )
    op.create_table(
        "logins",
        sa.Column("digest", sa.LargeBinary(32), primary_key=True),
        sa.Column("key_id", sa.String(40), sa.ForeignKey("api_keys.id", ondelete="CASCADE"), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("expires_at", sa.DateTime(), nullable=False),
    )
    op.create_table(
        "job_events",
        sa.Column("job_id", sa.String(40), sa.ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("revision", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("stage", sa.String(64)),
        sa.Column("attempt", sa.Integer(), nullable=False),
    )
    op.create_table(
        "artifacts",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
    )
    op.create_table(
        "uploads",
        sa.Column("tenant_id", sa.String(40), sa.ForeignKey("tenants.id"), primary_key=True),
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.String(64), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("expires_at", sa.DateTime(), nullable=False),
    )
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("tenant_id", sa.String(40), sa.ForeignKey("tenants.id"), nullable=False),
        sa.Column("url", sa.String(2000), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("disabled_at", sa.DateTime()),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column(
            "webhook_id", sa.String(40), sa.ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False
        ),
        sa.Column("job_id", sa.String(40), nullable=False),
        sa.Column("event", sa.String(40), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempts", sa.JSON(), nullable=False),
        sa.Column("next_at", sa.DateTime(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
    )
    op.create_table(
        "audit_log",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("tenant_id", sa.String(40), nullable=False),
        sa.Column("actor", sa.String(60), nullable=False),
        sa.Column("action", sa.String(60), nullable=False),
        sa.Column("target", sa.String(80)),
        sa.Column("request_id", sa.String(40)),
        sa.Column("address", sa.String(64)),
    )
    op.create_table(
        "totals",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("label", sa.String(120), primary_key=True),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
    )


def downgrade() -> None:
    for name, table, _, _ in _PARTIAL_INDEXES:
        op.drop_index(name, table)
    op.drop_index("commitments_by_key", "commitments")
    for name, table, _ in reversed(_INDEXES):
        op.drop_index(name, table)
    for table in (
        "totals",
        "audit_log",
        "deliveries",
        "webhooks",
        "uploads",
        "artifacts",
        "job_events",
        "logins",
        "api_keys",
        "tenants",
    ):
        op.drop_table(table)
    for table, columns in _added().items():
        for column in columns:
            op.drop_column(table, column.name)
