"""Which addresses may be read, and through which proxy."""
