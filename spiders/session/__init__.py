"""What a crawl holds on to from its first request to its last."""
