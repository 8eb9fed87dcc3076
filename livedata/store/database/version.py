"""Which version of the store's tables this program reads and writes."""

VERSION = "0019"
"""The newest migration."""
