"""Tests of what answers a research Run: models and searches over real HTTP on loopback."""
