"""Indexes of jobs without a parent: lists of proofs show no frames of streams.

Only an addition: code of before goes on working.
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"

ORDER = ["created_at", "id", "parent_id"]
INDEXES = {
    "jobs_by_tenant_alone": ["tenant_id", "kind", *ORDER],
    "jobs_by_tenant_and_state_alone": ["tenant_id", "kind", "state", *ORDER],
    "jobs_by_age_alone": ["kind", *ORDER],
}


def upgrade() -> None:
    alone = sa.text("parent_id IS NULL")
    for name, columns in INDEXES.items():
        op.create_index(name, "jobs", columns, sqlite_where=alone, postgresql_where=alone)


def downgrade() -> None:
    for name in INDEXES:
        op.drop_index(name, "jobs")
