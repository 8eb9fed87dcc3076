"""The shapes that explain a Run: what it recorded, its diagnostics, its entities, its causes."""
