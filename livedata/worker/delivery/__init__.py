"""Delivers what notices tell: a module for each channel, and the courier that asks the one."""
