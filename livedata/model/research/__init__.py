"""What a research Run is told, asks, reads, records and finds."""
