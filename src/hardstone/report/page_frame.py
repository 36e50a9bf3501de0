"""What all pages share: templates, style and scripts with the policy that names them, the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from hardstone.files import replace_file
from hardstone.present.wording import clean
from hardstone.report.output_file import regular_target
from hardstone.report.safe import content_security_policy
from hardstone.report.star_marks import FILTERS
from hardstone.report.template_cache import template_cache

_TEMPLATES = Path(__file__).parent / "templates"


@cache
def environment() -> Environment:
    """Templates in which every text is escaped and cleaned of control characters."""
    found = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
        bytecode_cache=template_cache(),
    )
    found.filters.update(FILTERS)
    return found


def _finalize(value: object) -> object:
    return value if isinstance(value, Markup) or not isinstance(value, str) else clean(value)


def head_parts(
    bundle: str | None, *, styles: Sequence[str] = (), scripts: Sequence[str] = ()
) -> dict[str, Any]:
    """Style and scripts with the policy that names them by their digests.

    `bundle` makes charts interactive, with `report.js`; None: they are static. `styles` and
    `scripts` are files of this package that the page has besides those of all pages.
    """
    style = "".join(_own(name) for name in ("report.css", *styles))
    texts = [] if bundle is None else [bundle, _own("report.js")]
    texts += [_own(name) for name in scripts]
    return {
        "policy": content_security_policy(texts, [style]),
        "style": Markup(style),  # noqa: S704  files of this package
        "scripts": [Markup(one) for one in texts],  # noqa: S704
    }


@cache
def _own(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")


def write_page(path: Path, render: Callable[[], str]) -> None:
    """Writes what `render` returns to `path` atomically, following symbolic links.

    InputError if `path` exists and is not a regular file; raises OSError.
    """
    target = regular_target(path)
    text = render()
    # Rendering takes a while, so check the path again.
    data = text.encode("utf-8", "xmlcharrefreplace")
    replace_file(regular_target(target), data, None, is_durable=False)
