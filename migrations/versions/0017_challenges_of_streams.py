"""Challenges of streams: no stream has one, so far.

Only an addition: code of before goes on working.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("streams", sa.Column("challenge", sa.String(200)))


def downgrade() -> None:
    op.drop_column("streams", "challenge")
