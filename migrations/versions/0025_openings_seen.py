"""Openings that a host saw and the database does not know of: it was restored, and all hosts know.

Only an addition: code of before goes on working, and notices what its own host saw.
"""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.add_column("ledger", sa.Column("seen", sa.BigInteger, nullable=False, server_default=sa.text("0")))


def downgrade() -> None:
    op.drop_column("ledger", "seen")
