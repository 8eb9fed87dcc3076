"""A Run once more, from what it recorded."""
