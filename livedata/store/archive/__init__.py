"""What goes into an archive of a dataset: the records of its tables, as they are stored."""
