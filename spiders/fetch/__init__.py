"""Requests in turn, to public addresses only, with bounds on every answer."""
