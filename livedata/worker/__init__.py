"""What executes Runs on a server: crawl workers, and the schedules that queue for them."""
