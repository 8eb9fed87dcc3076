"""The providers of research: each in a file of its own, imported only when a Run asks it."""
