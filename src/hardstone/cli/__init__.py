"""Command line: one thin module for each command, imported on use."""
