"""Tables in Python: of the store of this machine, and of a server (rules 18)."""
