"""Command line: one thin module for each command, imported when it is used."""
