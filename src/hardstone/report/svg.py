"""Charts as static SVG for a page: checked, small, coloured by the page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import msgspec

if TYPE_CHECKING:
    from hardstone.report.theme import Spec

_SVG = "http://www.w3.org/2000/svg"
_TAGS = {"svg", "g", "path", "line", "text", "rect", "tspan"}
_ATTRIBUTES = {
    *("viewBox", "transform", "d", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "rx", "ry"),
    *("fill", "fill-opacity", "opacity", "display", "stroke", "stroke-width", "stroke-opacity"),
    *("stroke-dasharray", "stroke-dashoffset", "stroke-linecap", "stroke-linejoin"),
    *("stroke-miterlimit", "text-anchor", "font-size", "font-weight", "font-style"),
}
# Characters that XML forbids, as JSON writes them. They crash the converter's process.
_UNDRAWABLE = re.compile(r"(?<!\\)(?:\\\\)*\\(?:u00[01]|[bf])|[\ufffe\uffff]")
_SUSPECT = (b"\\", "\ufffe".encode(), "\uffff".encode())
# Default values of SVG attributes.
_DEFAULTS = {
    "opacity": "1",
    "transform": "translate(0,0)",
    "stroke-width": "1",
    "fill-opacity": "1",
    "stroke-opacity": "1",
    "font-weight": "normal",
    "font-style": "normal",
    "text-anchor": "start",
    **dict.fromkeys(("x1", "x2", "y1", "y2"), "0"),
}
_LINES = re.compile(r"(?:[ML][^A-Za-z,]+,[^A-Za-z,]+)+")
_POINT = re.compile(r"([ML])([^A-Za-z,]+),([^A-Za-z,]+)")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")


def render(spec: Spec) -> str:
    """SVG text of a Vega-Lite specification.

    Raises ValueError when the chart cannot be drawn or holds anything but shapes.
    """
    import vl_convert  # type: ignore[import-untyped,unused-ignore]

    text = encoded(spec)
    return tidy(vl_convert.vegalite_to_svg(text, allowed_base_urls=[]))


def encoded(spec: Spec) -> str:
    """A specification as JSON; ValueError where it cannot be drawn."""
    found = msgspec.json.encode(spec)
    text = found.decode()
    # To look for these first takes a hundredth of the time.
    if any(one in found for one in _SUSPECT) and _UNDRAWABLE.search(text):
        raise ValueError("a label holds characters that cannot be drawn")
    return text


def tidy(svg: str) -> str:
    """The drawing without redundant parts, hidden from screen readers (the figure has text)."""
    ElementTree.register_namespace("", _SVG)
    try:
        root = ElementTree.fromstring(svg)  # noqa: S314  our own drawing, without a DTD
    except ElementTree.ParseError as error:
        raise ValueError(f"the chart is not readable as SVG: {error}") from error
    view = root.attrib["viewBox"]
    _clean(root)
    _drop_defaults(root, set())
    _flatten(root)
    root.attrib.update({"viewBox": view, "aria-hidden": "true", "focusable": "false"})
    text = ElementTree.tostring(root, encoding="unicode")
    return text.replace(f' xmlns="{_SVG}"', "", 1)


def _tag(element: ElementTree.Element) -> str:
    return element.tag.removeprefix("{" + _SVG + "}")


def _clean(element: ElementTree.Element) -> None:
    if _tag(element) not in _TAGS:
        raise ValueError(f"the chart holds a <{_tag(element)[:40]}>")
    element.attrib = {
        key: _value(key, value) for key, value in element.attrib.items() if key in _ATTRIBUTES
    }
    for child in list(element):
        _clean(child)
        if _is_empty(child):
            element.remove(child)


def _drop_defaults(element: ElementTree.Element, inherited: set[str]) -> None:
    """Removes attributes with default values that no outer element overrides."""
    for key, value in _DEFAULTS.items():
        if element.get(key) == value and key not in inherited:
            del element.attrib[key]
    below = inherited | (element.attrib.keys() - {"opacity", "transform"})
    for child in element:
        _drop_defaults(child, below)


def _flatten(element: ElementTree.Element) -> None:
    """Replaces groups without attributes by their children."""
    children: list[ElementTree.Element] = []
    for child in element:
        _flatten(child)
        children += list(child) if _tag(child) == "g" and not child.attrib else [child]
    element[:] = children


def _is_empty(element: ElementTree.Element) -> bool:
    """Whether nothing is drawn: hidden or unpainted paths, empty groups."""
    tag = _tag(element)
    if tag == "g":
        return len(element) == 0
    if tag != "path":
        return False
    painted = element.get("fill") or element.get("stroke")
    return element.get("display") == "none" or not element.get("d") or not painted


def _value(key: str, value: str) -> str:
    if key in ("d", "transform", "x", "y", "x2", "y2"):
        value = _LONG_NUMBER.sub(_rounded, value)
    return _stepped(value) if key == "d" and _LINES.fullmatch(value) else value


def _stepped(path: str) -> str:
    """A path of lines with H and V for those along the axes, as curves of steps have many; a
    point that repeats the one before is left out, but for the first, which may be a dot."""
    parts: list[str] = []
    at = ("", "")
    for command, x, y in _POINT.findall(path):
        is_dot = len(parts) == 0 or parts[-1].startswith("M")
        if command == "M" or (x != at[0] and y != at[1]):
            parts.append(f"{command}{x},{y}")
        elif y != at[1]:
            parts.append(f"V{y}")
        elif x != at[0] or is_dot:
            parts.append(f"H{x}")
        at = (x, y)
    return "".join(parts)


def _rounded(match: re.Match[str]) -> str:
    text = f"{float(match[0]):.1f}"
    return "0" if text in ("0.0", "-0.0") else text.removesuffix(".0")
