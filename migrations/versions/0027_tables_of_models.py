"""The names of the columns and classes of a model's table.

Only an addition: earlier code goes on working, and models without one take arrays of numbers.
"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    op.add_column("models", sa.Column("table", sa.JSON, nullable=True))


def downgrade() -> None:
    op.drop_column("models", "table")
