"""Judging the whole store: `check` walks it, `records` judges what it holds."""
