"""Float networks beside the integers, and how far the two are apart: older models have none.

Only an addition: code of before goes on working.
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.add_column("models", sa.Column("floats", sa.String(64)))
    op.add_column(
        "models", sa.Column("accept_difference", sa.Boolean, nullable=False, server_default=sa.false())
    )
    op.add_column("proofs", sa.Column("difference", sa.JSON))


def downgrade() -> None:
    op.drop_column("proofs", "difference")
    op.drop_column("models", "accept_difference")
    op.drop_column("models", "floats")
