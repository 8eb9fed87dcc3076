"""How pages write cells, differences, lines of numbers, and the rows of a table."""
