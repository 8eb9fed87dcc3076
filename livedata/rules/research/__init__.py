"""What research holds for true: which words stand on a page, and which rows are one entity."""
