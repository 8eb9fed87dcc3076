"""Everything that knows Scrapy, and nothing else does."""
