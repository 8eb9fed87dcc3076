"""``livedata rows``: `commands` has its command line, each command a module of its name."""
