"""Tables in Python: over a store, and over a server that runs."""
