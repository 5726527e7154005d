"""Margins of certificates: proofs of before have none.

Only an addition: code of before goes on working.
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("proofs", sa.Column("margins", sa.LargeBinary()))


def downgrade() -> None:
    op.drop_column("proofs", "margins")
