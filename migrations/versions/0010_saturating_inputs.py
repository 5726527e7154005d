"""The option of a model to clamp inputs to the range of its calibration: none has it, so far.

Only an addition: earlier code goes on working, and refuses such inputs.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    column = sa.Column("saturate", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("models", column)


def downgrade() -> None:
    op.drop_column("models", "saturate")
