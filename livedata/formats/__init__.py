"""Tables as files and streams: what stands in their columns, and how each form writes it."""
