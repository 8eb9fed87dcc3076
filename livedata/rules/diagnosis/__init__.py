"""What a Run records of itself, and the findings that are derived from it."""
