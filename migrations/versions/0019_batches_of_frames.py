"""Batches of frames: no stream has any, so far.

Only an addition: code of before goes on working.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.add_column("streams", sa.Column("batch_seconds", sa.Integer()))
    op.add_column("frames", sa.Column("batch", sa.Integer()))


def downgrade() -> None:
    op.drop_column("frames", "batch")
    op.drop_column("streams", "batch_seconds")
