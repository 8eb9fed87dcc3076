"""The speed of livedata, measured against other tools for its job: ``python -m benchmarks``."""
