"""Jobs, models, proofs, verification keys and workers."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(40)),
        sa.Column("lease_expires_at", sa.DateTime()),
        sa.Column("stage", sa.String(64)),
        sa.Column("percent", sa.Double(), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("timings", sa.JSON(), nullable=False),
        sa.Column("problem", sa.JSON()),
        sa.Column("failures", sa.JSON(), nullable=False),
        sa.Column("idempotency_key", sa.String(255), unique=True),
        sa.Column("request_mac", sa.LargeBinary(32)),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("enqueued_at", sa.DateTime(), nullable=False),
        sa.Column("started_at", sa.DateTime()),
        sa.Column("finished_at", sa.DateTime()),
    )
    op.create_index("jobs_by_state", "jobs", ["state", "lease_expires_at"])
    op.create_table(
        "verification_keys",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("circuit", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("heartbeat_at", sa.DateTime(), nullable=False),
    )
    op.create_table(
        "models",
        sa.Column("id", sa.String(40), sa.ForeignKey("jobs.id"), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("input_privacy", sa.String(16), nullable=False),
        sa.Column("weight_privacy", sa.String(16), nullable=False),
        sa.Column("bits", sa.Integer(), nullable=False),
        sa.Column("quantised", sa.String(64), nullable=False),
        sa.Column("proving_key", sa.String(64)),
        sa.Column("verification_key_id", sa.String(64), sa.ForeignKey("verification_keys.id")),
    )
    op.create_table(
        "proofs",
        sa.Column("id", sa.String(40), sa.ForeignKey("jobs.id"), primary_key=True),
        sa.Column("model_id", sa.String(40), sa.ForeignKey("models.id"), nullable=False),
        sa.Column("input", sa.String(64)),
        sa.Column("proof", sa.LargeBinary(192)),
        sa.Column("public_inputs", sa.JSON()),
        sa.Column("label", sa.Integer()),
    )


def downgrade() -> None:
    for table in ("proofs", "models", "workers", "verification_keys"):
        op.drop_table(table)
    op.drop_index("jobs_by_state", "jobs")
    op.drop_table("jobs")
