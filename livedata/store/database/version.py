"""Which version of the store's tables this program reads and writes."""

# With its name, so that two changes that each add a migration meet here: the later renumbers.
VERSION = "0014"  # fresh_runs
"""The newest migration."""
