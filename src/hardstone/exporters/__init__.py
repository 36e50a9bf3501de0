"""Runs in the formats that other programs read: one module for each, listed in `registry.py`."""
