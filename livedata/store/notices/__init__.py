"""Notices: who is told of what, what waits to be delivered, and the tokens of feeds."""
