"""What a column says of a record: who it is, or only how it is today."""
