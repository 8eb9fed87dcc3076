"""A page as text, for a model to read."""
