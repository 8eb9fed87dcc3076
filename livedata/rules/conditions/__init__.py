"""Conditions: what rows are asked for, and which revisions matter (rules 16)."""
