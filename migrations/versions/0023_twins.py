"""Models of one network under several proof systems: no two are, so far.

Only an addition: code of before goes on working.
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.add_column("models", sa.Column("twin_id", sa.String(40)))
    there = sa.text("twin_id IS NOT NULL")
    op.create_index("models_by_twin", "models", ["twin_id"], sqlite_where=there, postgresql_where=there)


def downgrade() -> None:
    op.drop_index("models_by_twin", "models")
    op.drop_column("models", "twin_id")
