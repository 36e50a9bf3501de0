"""Reports for people. Pure: a run document goes in, one HTML page comes out."""

from hardstone.report.page import render_html, write_html

__all__ = ["render_html", "write_html"]
