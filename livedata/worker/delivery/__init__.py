"""Delivers what notices tell: a module for each channel, and the courier that chooses one."""
