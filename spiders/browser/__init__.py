"""Pages rendered by a browser, which reaches public addresses only."""
