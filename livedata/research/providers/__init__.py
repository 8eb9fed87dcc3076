"""What meets the ports of a model and of a search, imported when a research Run begins."""
