"""The quantisation report of a model.

Only an addition: earlier code goes on working.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("models", sa.Column("report", sa.JSON()))


def downgrade() -> None:
    op.drop_column("models", "report")
