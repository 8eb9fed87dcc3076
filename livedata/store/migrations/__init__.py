"""One history of the store's tables, for both databases."""
