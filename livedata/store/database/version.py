"""Which version of the store's tables this program reads and writes."""

VERSION = "0016"
"""The newest migration."""
