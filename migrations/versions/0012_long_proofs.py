"""The place of a document's proofs that are too long for a row: in none, so far.

Only an addition: earlier code goes on working, and takes such a document for one without proofs.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("proofs", sa.Column("proofs", sa.String(64)))


def downgrade() -> None:
    op.drop_column("proofs", "proofs")
