"""Plan: what will be run, checked as a whole and without touching the target."""
