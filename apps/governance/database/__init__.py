"""PostgreSQL access: transactions under an actor's role, prepared statements, full-text search and operations for migrations."""
