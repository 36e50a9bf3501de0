"""Text for a terminal of 80 columns, or for a pipe."""
