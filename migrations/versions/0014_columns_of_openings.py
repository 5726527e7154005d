"""The number of columns that an opening of a commitment shows.

A count of openings means nothing for another number of columns. Only an addition: earlier code goes on
working, and what it registers is to be registered anew.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("roots", sa.Column("columns", sa.Integer, nullable=False, server_default=sa.text("0")))


def downgrade() -> None:
    op.drop_column("roots", "columns")
