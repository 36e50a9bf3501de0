"""Comparison of 2 to 20 systems: its data, tables, screen and page."""
