"""Archives: a whole dataset in one file, from one store into another."""
