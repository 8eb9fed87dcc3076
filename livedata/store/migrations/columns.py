"""What migrations share with the tables as they are declared: names of constraints, and text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Text

# By rule: a migration can only drop what has a name.
NAMES: Final[Mapping[str, str]] = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
}
# PostgreSQL sorts text by the language of the database: `_ a B Z` here, `B Z _ a` there. With the
# collation "C" it goes by code points, as SQLite and Python do.
TEXT: Final = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that every database sorts alike."""
