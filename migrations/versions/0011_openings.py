"""The openings left of each commitment, where its proof system counts them, and its replacements.

Only additions: earlier code goes on working, and registers no models of such systems.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "ledger",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("epoch", sa.String(32), nullable=False),
        sa.Column("spent", sa.BigInteger, nullable=False),
        sa.Column("place", sa.String(80)),
    )
    op.create_table(
        "roots",
        sa.Column("root", sa.String(64), primary_key=True),
        sa.Column("registered", sa.String(64), nullable=False),
        sa.Column("owner", sa.String(40), nullable=False),
        sa.Column("epoch", sa.String(32), nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        sa.Column("proofs", sa.Integer, nullable=False),
        sa.Column("renewals", sa.Integer, nullable=False),
        sa.Column("height", sa.Integer, nullable=False),
        sa.Column("opening", sa.String(64)),
        sa.Column("renewing_until", sa.DateTime),
        sa.Column("created_at", sa.DateTime, nullable=False),
    )
    op.create_index("roots_by_registered", "roots", ["registered"])
    op.create_index("roots_by_owner", "roots", ["owner"])


def downgrade() -> None:
    op.drop_table("roots")
    op.drop_table("ledger")
