"""The transcript of the ceremony that made a key's secrets.

Only an addition: earlier code goes on working.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("verification_keys", sa.Column("transcript", sa.JSON()))


def downgrade() -> None:
    op.drop_column("verification_keys", "transcript")
