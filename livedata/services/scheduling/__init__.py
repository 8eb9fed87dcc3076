"""When Runs start by themselves, and how long what they leave is kept."""
