"""The crawl worker: queued Runs executed in one process."""
