"""From a page to the lists on it: their records, columns, key and next page."""
