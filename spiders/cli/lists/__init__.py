"""The list of a page as a source: proved, or why there is none."""
