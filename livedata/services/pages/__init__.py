"""What people who look at the pages in a browser do and ask."""
