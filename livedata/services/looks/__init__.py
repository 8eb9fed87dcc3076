"""Looks at pages: who asks for one and makes a dataset of it, and who executes it."""
