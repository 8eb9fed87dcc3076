"""Questions to the store: SQL text over the driver, answers in their wire form."""
