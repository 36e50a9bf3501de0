"""The tire: its sweeps, results, tables, screens and pages."""
