"""The third version: approvals and counts of tools, in PostgreSQL only."""

from alembic import op

from agent.store.databases import script

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Makes its tables."""
    connection = op.get_bind()
    for statement in script(revision, connection.dialect.name):
        connection.exec_driver_sql(statement)
