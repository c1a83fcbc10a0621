"""PostgreSQL as the second wall: transactions that run as an actor, prepared statements, operations of migrations."""
