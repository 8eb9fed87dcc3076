"""Research Runs: the harness between a model, a search, sites and the store."""
