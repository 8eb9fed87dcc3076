"""What the columns of a list are called."""
