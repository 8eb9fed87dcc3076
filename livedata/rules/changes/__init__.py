"""What a Run or an edit does to the rows: Checks, comparison, edits, invariants."""
