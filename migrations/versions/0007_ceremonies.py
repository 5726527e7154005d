"""Ceremonies that the service holds, and models whose proofs take keys of theirs alone.

Only additions: code of before goes on working, and knows no such models.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column(
        "models", sa.Column("require_ceremony", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.create_table(
        "ceremonies",
        sa.Column("id", sa.String(40), sa.ForeignKey("jobs.id"), primary_key=True),
        sa.Column("model_id", sa.String(40), sa.ForeignKey("models.id", ondelete="SET NULL")),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("asked", sa.JSON(), nullable=False),
        sa.Column("powers", sa.String(64), nullable=False),
        sa.Column("powers_contributions", sa.Integer()),
        sa.Column("closes_with", sa.String(200)),
        sa.Column("rounds", sa.Integer()),
        sa.Column("closing_at", sa.DateTime()),
        sa.Column("beacon", sa.String(64)),
    )
    op.create_index("ceremonies_by_model", "ceremonies", ["model_id"])
    op.create_table(
        "ceremony_circuits",
        sa.Column(
            "ceremony_id",
            sa.String(40),
            sa.ForeignKey("ceremonies.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("position", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("circuit", sa.String(64), nullable=False),
        sa.Column("form", sa.JSON(), nullable=False),
        sa.Column("constraints", sa.Integer(), nullable=False),
        sa.Column("statement", sa.String(64), nullable=False),
        sa.Column("start", sa.String(64), nullable=False),
        sa.Column("state", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("next_size", sa.BigInteger(), nullable=False),
        sa.Column("verification_key_id", sa.String(64), sa.ForeignKey("verification_keys.id")),
    )
    op.create_table(
        "contributions",
        sa.Column("id", sa.String(40), sa.ForeignKey("jobs.id"), primary_key=True),
        sa.Column(
            "ceremony_id", sa.String(40), sa.ForeignKey("ceremonies.id", ondelete="CASCADE"), nullable=False
        ),
        sa.Column("beacon", sa.String(64)),
        sa.Column("place", sa.Integer()),
        sa.Column("name", sa.String(80)),
        sa.Column("hashes", sa.JSON()),
    )
    op.create_index("contributions_by_ceremony", "contributions", ["ceremony_id"])
    op.create_table(
        "handed_states",
        sa.Column(
            "contribution_id",
            sa.String(40),
            sa.ForeignKey("contributions.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("position", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("content", sa.String(64), nullable=False),
    )


def downgrade() -> None:
    ceremonies = "SELECT id FROM ceremonies UNION SELECT id FROM contributions"
    jobs = [row[0] for row in op.get_bind().execute(sa.text(ceremonies))]
    op.drop_table("handed_states")
    op.drop_table("contributions")
    op.drop_table("ceremony_circuits")
    op.drop_table("ceremonies")
    # Code of before knows no such jobs. Their events go with them.
    table = sa.table("jobs", sa.column("id", sa.String))
    op.execute(table.delete().where(table.c.id.in_(jobs)))
    op.drop_column("models", "require_ceremony")
