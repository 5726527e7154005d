"""The kind of a dataset's samples, labels or targets: labels, so far.

Only an addition: earlier code goes on working, and knows datasets with labels alone.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    column = sa.Column("compared", sa.String(16), nullable=False, server_default="labels")
    op.add_column("datasets", column)


def downgrade() -> None:
    op.drop_column("datasets", "compared")
