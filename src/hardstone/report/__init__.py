"""Reports for people. Pure: a run document goes in, one HTML page comes out.

`render_html` and `write_html` are loaded when they are asked for: numbers and
templates take longer to load than the rest of a command.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hardstone.report.page import render_html, write_html

__all__ = ["render_html", "write_html"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hardstone.report import page

    return getattr(page, name)
