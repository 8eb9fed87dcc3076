"""The commands that crawl: run and preview."""
