"""Notices in words: what they tell, and why one was not delivered."""
