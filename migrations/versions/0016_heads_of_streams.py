"""What a stream's chain begins with, beside the head that it is of: in none, so far.

Only an addition: code of before goes on working.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("streams", sa.Column("begins_with", sa.String(64)))


def downgrade() -> None:
    op.drop_column("streams", "begins_with")
