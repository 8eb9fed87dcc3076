"""Which groups of a page are its lists."""
