"""Rules for the conclusions of each paper: which figures decide it, and how that could be wrong."""
