"""Everything that commands print: escaping, values, tables, and the two streams."""
