"""Commands on research: planning a table from a question, and making it."""
