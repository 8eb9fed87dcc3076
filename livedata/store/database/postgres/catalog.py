"""Questions to the catalog of a PostgreSQL database: what it says of itself."""

from __future__ import annotations

# Tables of the queue that wakes workers up may stand beside ours.
TABLES = """
SELECT relname FROM pg_class WHERE relnamespace = CAST(current_schema() AS regnamespace)
AND relkind IN ('r', 'p') AND relname NOT LIKE 'procrastinate%'
"""
"""The names of all tables of the schema."""
SIZE = """
SELECT CAST(coalesce(sum(pg_total_relation_size(oid)), 0) AS bigint) FROM pg_class
WHERE relnamespace = CAST(current_schema() AS regnamespace) AND relkind = 'r'
"""
"""The bytes of all tables of the schema, with their indexes."""
UNIQUE_INDEXES = """
SELECT t.relname, string_agg(CAST(a.attname AS text), ',' ORDER BY k.place)
FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(number, place)
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number
WHERE i.indisunique AND NOT i.indisprimary
AND t.relnamespace = CAST(current_schema() AS regnamespace) GROUP BY t.relname, i.indexrelid
"""
"""(table, columns with commas between) of every unique index but primary keys."""
REFERENCES = """
SELECT child.relname, a.attname, parent.relname, b.attname
FROM pg_constraint c JOIN pg_class child ON child.oid = c.conrelid
JOIN pg_class parent ON parent.oid = c.confrelid
JOIN pg_attribute a ON a.attrelid = child.oid AND a.attnum = c.conkey[1]
JOIN pg_attribute b ON b.attrelid = parent.oid AND b.attnum = c.confkey[1]
WHERE c.contype = 'f' AND c.connamespace = CAST(current_schema() AS regnamespace) ORDER BY 1, 2
"""
"""(table, column, table referred to, column there) of every reference."""


def dangling(table: str, column: str, parent: str, key: str) -> str:
    """The question for the places of the rows of `table` whose reference leads nowhere."""
    return (
        f"SELECT CAST(c.ctid AS text) FROM {table} c LEFT JOIN {parent} p "  # noqa: S608  (our names)
        f"ON p.{key} = c.{column} WHERE c.{column} IS NOT NULL AND p.{key} IS NULL"
    )
