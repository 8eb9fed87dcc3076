"""``livedata key``, ``credits`` and ``usage``: `commands` has their command line."""
