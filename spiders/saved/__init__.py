"""Pages and rows that are kept in a folder, so that a source can be tested without its site."""
