"""The times of a GPU's kernels in a job, where they were measured.

Only an addition: earlier code goes on working.
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("kernels", sa.JSON()))


def downgrade() -> None:
    op.drop_column("jobs", "kernels")
