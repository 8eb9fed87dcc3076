"""``livedata notice`` and ``feed``: `commands` has their command line."""
