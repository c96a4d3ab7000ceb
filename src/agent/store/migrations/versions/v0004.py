"""The fourth version: gap records."""

from alembic import op

from agent.store.databases import script

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Makes its tables."""
    connection = op.get_bind()
    for statement in script(revision, connection.dialect.name):
        connection.exec_driver_sql(statement)
