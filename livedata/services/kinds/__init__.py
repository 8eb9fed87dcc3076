"""The two kinds of Runs: what differs between them, and the one place that chooses."""
