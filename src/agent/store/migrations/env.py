"""Runs the migrations on the connection that `agent.store.migrating` opened."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
