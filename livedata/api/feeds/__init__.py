"""Feeds of changes for feed readers, who have a token in their address and no key."""
