"""Streams, the models of their banks, and the places of proofs in them.

Only additions: code of before goes on working, and knows no streams.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "streams",
        sa.Column("id", sa.String(40), sa.ForeignKey("jobs.id"), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("classes", sa.Integer(), nullable=False),
        sa.Column("input_privacy", sa.String(16), nullable=False),
        sa.Column("deadline_seconds", sa.Integer()),
        sa.Column("backlog", sa.Integer(), nullable=False),
        sa.Column("rules", sa.JSON(), nullable=False),
        sa.Column("samples", sa.String(64)),
        sa.Column("head", sa.JSON()),
        sa.Column("begun_at", sa.DateTime()),
        sa.Column("count", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("over", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("ended_at", sa.DateTime()),
    )
    op.create_table(
        "stream_models",
        sa.Column(
            "stream_id", sa.String(40), sa.ForeignKey("streams.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("place", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("model_id", sa.String(40), sa.ForeignKey("models.id"), nullable=False),
    )
    op.create_index("stream_models_by_model", "stream_models", ["model_id"])
    op.create_table(
        "frames",
        sa.Column("id", sa.String(40), sa.ForeignKey("proofs.id"), primary_key=True),
        sa.Column("stream_id", sa.String(40), sa.ForeignKey("streams.id"), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("model", sa.Integer()),
        sa.Column("seen", sa.Integer()),
        sa.Column("answer", sa.Integer()),
        sa.Column("link", sa.LargeBinary(32)),
    )
    op.create_index("frames_by_stream", "frames", ["stream_id", "number"], unique=True)


def downgrade() -> None:
    """Proofs of frames stay, each by itself."""
    op.execute("UPDATE jobs SET parent_id = NULL WHERE parent_id IN (SELECT id FROM streams)")
    jobs = [row[0] for row in op.get_bind().execute(sa.text("SELECT id FROM streams"))]
    op.drop_table("frames")
    op.drop_table("stream_models")
    op.drop_table("streams")
    # Code of before knows no such jobs. Their events go with them.
    table = sa.table("jobs", sa.column("id", sa.String))
    op.execute(table.delete().where(table.c.id.in_(jobs)))
