"""Measures of datasets: what their shards are made to fit, where the caller says it.

Only an addition: code of before goes on working.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("datasets", sa.Column("measure", sa.String(16)))


def downgrade() -> None:
    op.drop_column("datasets", "measure")
