"""What keeps a store in order: `backup`, `check` and `prune`."""
