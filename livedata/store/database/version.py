"""Which version of the store's tables this program reads and writes."""

VERSION = "0018"
"""The newest migration."""
