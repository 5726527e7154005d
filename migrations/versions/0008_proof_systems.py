"""The proof system that a model is registered with, and that a verification key is of: Groth16, so far.

Only additions: code of before goes on working, and knows no models of other systems.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_TABLES = ("models", "verification_keys")


def upgrade() -> None:
    for table in _TABLES:
        column = sa.Column("system", sa.String(40), nullable=False, server_default="groth16-bls12-381")
        op.add_column(table, column)


def downgrade() -> None:
    for table in _TABLES:
        op.drop_column(table, "system")
