"""Preemption models of one kernel, measured by turns."""
