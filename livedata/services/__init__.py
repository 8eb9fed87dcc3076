"""Acts: one file per noun, each function one use case and one transaction."""
