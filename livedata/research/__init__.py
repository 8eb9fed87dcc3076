"""The research harness: what a research Run does, over ports, and nothing of how they are met."""
