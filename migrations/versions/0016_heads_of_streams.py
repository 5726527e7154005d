"""The first link of a stream's chain, which derives from the stream's head: in none, so far.

Only an addition: earlier code goes on working.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("streams", sa.Column("begins_with", sa.String(64)))


def downgrade() -> None:
    op.drop_column("streams", "begins_with")
