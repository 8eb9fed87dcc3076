"""``livedata changes``: `commands` has its command line, `feed` reads and prints."""
