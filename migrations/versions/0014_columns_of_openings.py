"""How many columns an opening of a commitment shows: by another number the count of openings means nothing.

Only an addition: code of before goes on working, and what it registers is to be registered anew.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("roots", sa.Column("columns", sa.Integer, nullable=False, server_default=sa.text("0")))


def downgrade() -> None:
    op.drop_column("roots", "columns")
