"""The shapes that explain a Run: its records, its diagnostics, its entities, its causes."""
