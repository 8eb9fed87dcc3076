"""Types of columns that databases have each in their own way."""

from __future__ import annotations

from sqlalchemy import Text

# PostgreSQL sorts text by the language of the database: `_ a B Z` here, `B Z _ a` there. With the
# collation "C" it goes by code points, as SQLite and Python do.
TEXT = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that every database sorts alike."""
