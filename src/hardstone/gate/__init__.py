"""Limits on the figures of runs and published systems: PASS, FAIL or INCONCLUSIVE."""
