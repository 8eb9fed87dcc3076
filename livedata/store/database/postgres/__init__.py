"""PostgreSQL: everything that only this database does."""
