"""How fast livedata is, measured against what else one would use: ``python -m benchmarks``."""
