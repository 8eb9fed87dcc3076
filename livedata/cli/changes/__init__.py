"""``livedata changes``: `commands` has its command line, `feed` reads, `by_name` is a format."""
