"""Registered models: commitments, datasets, circuits' keys by content, proofs of several schemes, shards.

Proofs of before say other statements than today's and go, with the keys they are under. Models stay: their
jobs are queued again, which makes their commitments and keys anew.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    _forget_proofs()
    # Not by Alembic's copies of tables: SQLite refuses to drop the old ones, which others refer to.
    op.execute("ALTER TABLE jobs ADD COLUMN parent_id VARCHAR(40) REFERENCES jobs (id)")
    op.create_index("jobs_by_parent", "jobs", ["parent_id"])
    op.drop_column("models", "input_privacy")
    op.drop_column("models", "proving_key")
    op.execute("ALTER TABLE models ADD COLUMN parent_id VARCHAR(40) REFERENCES models (id)")
    op.add_column("models", sa.Column("network", sa.String(64)))
    op.add_column("models", sa.Column("commitment", sa.String(96)))
    op.add_column("models", sa.Column("blinding", sa.LargeBinary()))
    op.add_column("models", sa.Column("registration", sa.JSON()))
    op.add_column("models", sa.Column("receipt", sa.JSON()))
    _create_tables()
    op.execute("UPDATE models SET weight_privacy = 'committed' WHERE weight_privacy = 'private'")
    op.execute(
        "UPDATE jobs SET state = 'queued', attempt = 0, stage = NULL, percent = 0, finished_at = NULL"
        " WHERE kind = 'model' AND state = 'succeeded'"
    )


def _forget_proofs() -> None:
    op.drop_table("proofs")
    op.execute("DELETE FROM jobs WHERE kind = 'proof'")
    op.execute("UPDATE models SET verification_key_id = NULL")
    op.execute("DELETE FROM verification_keys")


def _create_tables() -> None:
    op.create_table(
        "circuits",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("proving_key", sa.String(64), nullable=False),
        sa.Column(
            "verification_key_id", sa.String(64), sa.ForeignKey("verification_keys.id"), nullable=False
        ),
        sa.Column("created_at", sa.DateTime(), nullable=False),
    )
    op.create_table(
        "commitments",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("model_id", sa.String(40), sa.ForeignKey("models.id"), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("commitment", sa.String(96), nullable=False),
        sa.Column("opening", sa.String(64), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
    )
    op.create_table(
        "datasets",
        sa.Column("id", sa.String(40), sa.ForeignKey("jobs.id"), primary_key=True),
        sa.Column("model_id", sa.String(40), sa.ForeignKey("models.id"), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("privacy", sa.String(16), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("picked_for", sa.String(96)),
        sa.Column("shard_size", sa.Integer()),
        sa.Column("samples", sa.String(64), nullable=False),
        sa.Column("shards", sa.JSON()),
        sa.Column("openings", sa.String(64)),
    )
    op.create_table(
        "proofs",
        sa.Column("id", sa.String(40), sa.ForeignKey("jobs.id"), primary_key=True),
        sa.Column("model_id", sa.String(40), sa.ForeignKey("models.id"), nullable=False),
        sa.Column("scheme", sa.String(16), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("input", sa.String(64)),
        sa.Column("dataset_id", sa.String(40), sa.ForeignKey("datasets.id", ondelete="SET NULL")),
        sa.Column("verification_key_id", sa.String(64), sa.ForeignKey("verification_keys.id")),
        sa.Column("document", sa.JSON()),
    )
    op.create_table(
        "shards",
        sa.Column("id", sa.String(40), sa.ForeignKey("jobs.id"), primary_key=True),
        sa.Column("proof_id", sa.String(40), sa.ForeignKey("proofs.id"), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("opening", sa.LargeBinary()),
        sa.Column("proof", sa.LargeBinary()),
    )
    op.create_index("ix_shards_proof_id", "shards", ["proof_id"])


def downgrade() -> None:
    """Back to models and nothing else: what the older schema has no place for goes, and models are registered
    anew.
    """
    op.drop_index("ix_shards_proof_id", "shards")
    for table in ("shards", "proofs", "datasets", "commitments", "circuits"):
        op.drop_table(table)
    op.execute("UPDATE models SET verification_key_id = NULL, parent_id = NULL")
    op.execute("DELETE FROM verification_keys")
    op.execute("UPDATE jobs SET parent_id = NULL")
    op.execute("DELETE FROM jobs WHERE kind <> 'model'")
    for column in ("receipt", "registration", "blinding", "commitment", "network", "parent_id"):
        op.drop_column("models", column)
    op.drop_index("jobs_by_parent", "jobs")
    op.drop_column("jobs", "parent_id")
    op.add_column("models", sa.Column("proving_key", sa.String(64)))
    op.add_column(
        "models", sa.Column("input_privacy", sa.String(16), nullable=False, server_default="private")
    )
    op.execute("UPDATE models SET weight_privacy = 'private' WHERE weight_privacy = 'committed'")
    op.create_table(
        "proofs",
        sa.Column("id", sa.String(40), sa.ForeignKey("jobs.id"), primary_key=True),
        sa.Column("model_id", sa.String(40), sa.ForeignKey("models.id"), nullable=False),
        sa.Column("input", sa.String(64)),
        sa.Column("proof", sa.LargeBinary(192)),
        sa.Column("public_inputs", sa.JSON()),
        sa.Column("label", sa.Integer()),
    )
    op.execute(
        "UPDATE jobs SET state = 'queued', attempt = 0, stage = NULL, percent = 0 WHERE state = 'succeeded'"
    )
