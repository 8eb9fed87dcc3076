"""Bytes to records: decoding, the tree, selectors, texts, cells, links; no crawler, no store."""
