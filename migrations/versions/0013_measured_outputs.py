"""The output of a network that a dataset's labels or targets are of: the only one, so far.

Only an addition: earlier code goes on working, and knows datasets of networks of one output alone.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("datasets", sa.Column("output", sa.String(64), nullable=True))


def downgrade() -> None:
    op.drop_column("datasets", "output")
