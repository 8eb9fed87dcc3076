"""``livedata changes``: `commands` has its command line, `feed` reads, two modules format."""
