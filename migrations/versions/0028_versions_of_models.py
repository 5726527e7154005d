"""Versions of models by name, and how many each tenant has registered under a name.

Models of before get theirs in the order in which they were made; a twin has that of the model whose network
it is of. Only an addition: code of before goes on working, and what it registers is version 1.
"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.add_column("models", sa.Column("version", sa.Integer, nullable=False, server_default=sa.text("1")))
    op.create_index("models_by_name", "models", ["name", "version"])
    op.create_table(
        "model_names",
        sa.Column("tenant_id", sa.String(40), sa.ForeignKey("tenants.id"), primary_key=True),
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("versions", sa.Integer, nullable=False),
    )
    _count()


def _count() -> None:
    models = sa.table("models", *map(sa.column, ("id", "name", "twin_id", "version")))
    jobs = sa.table("jobs", *map(sa.column, ("id", "tenant_id", "created_at")))
    names = sa.table("model_names", *map(sa.column, ("tenant_id", "name", "versions")))
    rows = sa.select(models.c.id, models.c.name, models.c.twin_id, jobs.c.tenant_id)
    rows = rows.join_from(models, jobs, models.c.id == jobs.c.id).order_by(jobs.c.created_at, models.c.id)
    connection = op.get_bind()
    given: dict[str, int] = {}
    newest: dict[tuple[str, str], int] = {}
    for model_id, name, twin_id, tenant_id in connection.execute(rows).all():
        known = given.get(twin_id) if twin_id else None
        version = known or newest.get((tenant_id, name), 0) + 1
        newest[tenant_id, name] = max(version, newest.get((tenant_id, name), 0))
        given[model_id] = version
        if twin_id:
            given.setdefault(twin_id, version)  # the first may be gone
        connection.execute(sa.update(models).where(models.c.id == model_id).values(version=version))
    for (tenant_id, name), versions in newest.items():
        connection.execute(sa.insert(names).values(tenant_id=tenant_id, name=name, versions=versions))


def downgrade() -> None:
    op.drop_table("model_names")
    op.drop_index("models_by_name", "models")
    op.drop_column("models", "version")
