"""``source.toml``: reading a declaration, writing one, and the line of each of its keys."""
