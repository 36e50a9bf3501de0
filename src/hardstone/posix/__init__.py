"""POS-B-INV: what a system has of POSIX."""
