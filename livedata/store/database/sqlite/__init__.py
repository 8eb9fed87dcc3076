"""SQLite: everything that only this database does."""
