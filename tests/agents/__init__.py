"""Whether agents find answers with the tools that they are given, and what that costs."""
