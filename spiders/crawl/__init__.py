"""One crawl: the spider, its pages in order, its deadline, its settings."""
