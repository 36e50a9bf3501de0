"""A chart of the report in a notebook, as Vega-Lite and as SVG."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardstone.errors import InputError
from hardstone.wording import one_line, shorten

if TYPE_CHECKING:
    from hardstone.model import Series
    from hardstone.report.figures import Figure

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_BUNDLE = "application/vnd.vegalite.v5+json"
_SUFFIXES = (".svg", ".png", ".json")
_PNG_SCALE = 2.0
KINDS = ("exceedance", "histogram", "time", "range")  # in the order of the report


@dataclass(frozen=True, repr=False)
class Chart:
    """A chart as the report draws it, in the colours of light.

    A notebook shows it: as Vega-Lite where it can, else as SVG. `to_dict()` is the Vega-Lite
    specification with its data, `to_svg()` the picture, and `save(path)` writes either, or PNG.
    """

    _figure: Figure

    @property
    def title(self) -> str:
        return self._figure.title

    @property
    def about(self) -> str:
        """What the chart shows, and how to read it."""
        return self._figure.about

    def to_dict(self) -> dict[str, Any]:
        """The specification, for Vega-Lite 5 and later, as Python's own types; a copy."""
        from hardstone.report.sheet import coloured, palette

        spec = self._figure.drawing.spec
        found: dict[str, Any] = json.loads(coloured(json.dumps(spec)))
        return {
            "$schema": SCHEMA,
            "title": {"text": one_line(self.title), "anchor": "start"},
            **found,
            "background": palette()["page"],
            "config": {**found["config"], "background": palette()["page"]},
        }

    def save(self, path: str | Path) -> None:
        """Writes the chart as SVG, PNG or Vega-Lite by the suffix of `path`. InputError for another
        suffix, and where it cannot be drawn; raises OSError."""
        from hardstone.files import regular_target, replace_file
        from hardstone.report.sheet import png

        target = Path(path).expanduser()
        suffix = target.suffix.lower()
        if suffix not in _SUFFIXES:
            raise InputError(
                f"'{one_line(suffix)[:20]}' is not a format of a chart",
                f"end the name in {', '.join(_SUFFIXES)}",
            )
        if suffix == ".json":
            data = json.dumps(self.to_dict()).encode()
        elif suffix == ".png":
            data = png(self.to_svg(), _PNG_SCALE)
        else:
            data = self.to_svg().encode("utf-8", "replace")
        replace_file(regular_target(target), data, None, is_durable=False)

    def to_svg(self) -> str:
        """The chart as SVG text, in the colours of light. InputError where it cannot be drawn."""
        from hardstone.report.sheet import standing_alone

        drawn = standing_alone(self._figure)
        if not drawn:
            raise InputError(f"{one_line(self.title)} cannot be drawn", "to_dict() has its data")
        return drawn

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> dict[str, dict[str, Any] | str]:
        return {
            _BUNDLE: self.to_dict(),
            "image/svg+xml": self.to_svg(),
            "text/plain": repr(self),
        }

    def __repr__(self) -> str:
        return f"<Chart {shorten(self.title, 80)}: {shorten(self._figure.subject, 60)}>"


def chart_of(found: Sequence[Series], subject: str, kind: str) -> Chart:
    """The chart of `kind` (by default the first that fits) of series of one unit. InputError for
    a kind that there is not, or that shows none of them."""
    from hardstone.report.drawing import Drawer
    from hardstone.report.figures import KINDS as OF_REPORT
    from hardstone.report.figures import figure_of, kind_for

    known = dict(zip(KINDS, OF_REPORT, strict=True))
    if kind and kind not in known:
        raise InputError(f"there is no chart '{kind[:40]}'", f"choose from {', '.join(KINDS)}")
    unit = found[0].unit if found else "ns"
    shown = {name: one for name in known if (one := kind_for(known[name], unit)) is not None}
    fitting = [name for name, one in shown.items() if any(map(one.shows, found))]
    if not fitting:
        raise InputError(f"{one_line(subject)} has no values to draw", "measure longer")
    chosen = kind or ("histogram" if "histogram" in fitting else fitting[-1])
    figure = None
    if chosen in fitting:
        figure = figure_of(shown[chosen], list(found), subject, chosen, Drawer())
    if figure is None:
        raise InputError(
            f"{one_line(subject)} has too few values for '{chosen}'",
            f"it can be drawn as {', '.join(fitting)}",
        )
    return Chart(figure)
