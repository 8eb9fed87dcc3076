"""What a Run of selectors found and why, from what it recorded."""
