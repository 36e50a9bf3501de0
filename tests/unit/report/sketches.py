"""Reports whose charts are empty: to draw them takes a hundred times as long as the rest."""

from __future__ import annotations

from concurrent.futures import Future

from hardstone.model import Descriptor, RunDocument
from hardstone.report import render_html, svg
from hardstone.report.drawing import Drawer, Drawing
from hardstone.report.results import SpecLookup
from hardstone.report.theme import Spec


class Sketches(Drawer):
    """Takes what can be drawn, and draws nothing."""

    def draw(self, spec: Spec) -> Drawing:
        drawn: Future[str] = Future()
        drawn.set_result(f"<svg aria-hidden='true'><!-- {len(svg.encoded(spec))} --></svg>")
        return Drawing(spec, drawn)


def no_descriptor(_test: str) -> Descriptor | None:
    return None


def sketched(document: RunDocument, lookup: SpecLookup = no_descriptor) -> str:
    """The report without scripts and without drawings."""
    return render_html(document, lookup, bundle=lambda: None, drawer=Sketches())
