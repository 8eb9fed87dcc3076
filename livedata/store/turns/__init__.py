"""Whose turn it is where Runs of several owners wait."""
