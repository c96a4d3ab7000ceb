"""The first version of the schema."""

from alembic import op

from agent.store.schema import script

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    connection = op.get_bind()
    for statement in script(revision, connection.dialect.name):
        connection.exec_driver_sql(statement)
