"""Delivers what notices tell: by webhook, by a command, and as mail and chat."""
