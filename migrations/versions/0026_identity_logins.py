"""Logins of users that an OpenID provider vouches for, and room for their names in the audit log.

Only an addition: code of before goes on working, and knows none of those logins.
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.create_table(
        "identity_logins",
        sa.Column("digest", sa.LargeBinary(32), primary_key=True),
        sa.Column("issuer", sa.String(500), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("groups", sa.JSON, nullable=False),
        sa.Column("created_at", sa.DateTime, nullable=False),
        sa.Column("expires_at", sa.DateTime, nullable=False),
    )
    _resize({"actor": (60, 300), "target": (80, 300)})


def downgrade() -> None:
    _resize({"actor": (300, 60), "target": (300, 80)})
    op.drop_table("identity_logins")


def _resize(columns: dict[str, tuple[int, int]]) -> None:
    with op.batch_alter_table("audit_log") as table:
        for name, (old, new) in columns.items():
            table.alter_column(
                name,
                type_=sa.String(new),
                existing_type=sa.String(old),
                existing_nullable=name == "target",
                postgresql_using=f"left({name}, {new})",
            )
