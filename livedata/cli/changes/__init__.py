"""``livedata changes``: `commands` has its command line, `feed` reads, `by_name` formats for programs."""
