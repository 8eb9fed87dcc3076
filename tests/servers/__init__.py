"""Servers that stand in for a model and a search, over real HTTP on loopback."""
