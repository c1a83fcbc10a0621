"""PostgreSQL as the second line of isolation: transactions as an actor, prepared statements, query files, migration operations."""
