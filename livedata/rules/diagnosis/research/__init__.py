"""What a research Run recorded of pages and entities, and what follows from it."""
