"""What databases write each in their own way, of the columns and indexes of a table."""

from __future__ import annotations

from sqlalchemy import Index, Text, text

# PostgreSQL sorts text by the language of the database: `_ a B Z` here, `B Z _ a` there. With the
# collation "C" it goes by code points, as SQLite and Python do.
TEXT = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that every database sorts alike."""


def partial_index(name: str, *columns: str, where: str, unique: bool = True) -> Index:
    """An index over the rows that fulfil a condition."""
    some = text(where)  # SQLAlchemy has it apart for each database; both mean the same
    return Index(name, *columns, unique=unique, sqlite_where=some, postgresql_where=some)
