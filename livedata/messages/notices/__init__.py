"""Notices in words: what they tell, and what of a secret address a person is shown."""
