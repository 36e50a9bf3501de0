"""Summary: a run as text for a terminal of 80 columns, or for a pipe."""

from hardstone.summary.show import print_summary

__all__ = ["print_summary"]
