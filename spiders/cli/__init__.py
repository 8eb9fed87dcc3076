"""What the commands that crawl do: run and preview."""
