"""What keeps a store in order: `backup`, `check`, `prune` and `doctor`."""
