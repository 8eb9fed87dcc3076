"""Notices: who is told of what, what is put into the outbox, and what is taken out of it."""
