"""``livedata notice``: `commands` has their command line."""
