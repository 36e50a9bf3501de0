"""Drawings read back: what they draw, where, and what they say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from xml.etree import ElementTree

Point = tuple[float, float]
_MOVE = re.compile(r"translate\(([-\d.]+),([-\d.]+)\)")
_STEP = re.compile(r"([MLHVhvAZ])([^MLHVhvAZ]*)")
_PLACES = {"transform", "d", "x2", "y2"}


@dataclass(frozen=True)
class Item:
    """A mark or a text: its look, and its points from the corner of the plot. `turned` is what
    else its transform says."""

    tag: str
    look: tuple[tuple[str, str], ...]
    text: str
    turned: str
    points: tuple[Point, ...]
    is_closed: bool

    def is_like(self, other: Item, tolerance: float) -> bool:
        """Of the same look, on the same line within `tolerance` in both directions."""
        if (self.tag, self.look, self.text) != (other.tag, other.look, other.text):
            return False
        if self.turned != other.turned or self.is_closed != other.is_closed:
            return False
        if len(self.points) == len(other.points) and all(
            abs(x - other_x) <= tolerance and abs(y - other_y) <= tolerance
            for (x, y), (other_x, other_y) in zip(self.points, other.points, strict=True)
        ):
            return True
        return all(_is_on(one, other.points, tolerance) for one in self.points) and all(
            _is_on(one, self.points, tolerance) for one in other.points
        )


@dataclass(frozen=True)
class Drawn:
    width: float
    height: float
    corner: Point
    items: list[Item]

    def texts(self) -> list[Item]:
        return [one for one in self.items if one.tag == "text"]


def read(svg: str) -> Drawn:
    """All that is seen, in its order; of marks that cover each other exactly, one."""
    root = ElementTree.fromstring(svg)  # noqa: S314  a drawing of ours or of Vega
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    (whole,) = root
    move = _MOVE.match(whole.get("transform", ""))
    assert move is not None
    corner = float(move[1]), float(move[2])
    found: list[Item] = []
    for one in whole:
        _collect(one, 0, 0, found)
    kept = [one for one, before in zip(found, [None, *found], strict=False) if one != before]
    return Drawn(width, height, corner, kept)


def _collect(element: ElementTree.Element, x: float, y: float, found: list[Item]) -> None:
    transform = element.get("transform", "")
    move = _MOVE.match(transform)
    if move:
        x, y = x + float(move[1]), y + float(move[2])
    for child in element:
        _collect(child, x, y, found)
    if element.tag == "g" or element.get("opacity") == "0":
        return
    look = {key: value for key, value in element.attrib.items() if key not in _PLACES}
    if "stroke" not in look:
        look.pop("stroke-width", None)
    points, is_closed = _points(element)
    places = tuple((round(x + one, 2), round(y + other, 2)) for one, other in points)
    turned = transform[move.end() :] if move else transform
    text = element.text or ""
    found.append(Item(element.tag, tuple(sorted(look.items())), text, turned, places, is_closed))


def _points(element: ElementTree.Element) -> tuple[list[Point], bool]:
    if element.tag == "line":
        ends = [(0.0, 0.0), (float(element.get("x2", 0)), float(element.get("y2", 0)))]
        return ends, False
    if element.tag != "path":
        return [(0.0, 0.0)], False
    found: list[Point] = []
    x = y = 0.0
    for command, given in _STEP.findall(element.attrib["d"]):
        numbers = [float(one) for one in given.split(",") if one]
        if command in "MLA":
            x, y = numbers[-2:]
        elif command in "Hh":
            x = numbers[0] + (x if command == "h" else 0)
        elif command in "Vv":
            y = numbers[0] + (y if command == "v" else 0)
        found.append((x, y))
    return found, "Z" in element.attrib["d"]


def _is_on(point: Point, line: tuple[Point, ...], tolerance: float) -> bool:
    ends = pairwise(line) if len(line) > 1 else [(line[0], line[0])]
    return any(_is_near(point, one, other, tolerance) for one, other in ends)


def _is_near(point: Point, one: Point, other: Point, tolerance: float) -> bool:
    across, down = other[0] - one[0], other[1] - one[1]
    length = across * across + down * down
    share = ((point[0] - one[0]) * across + (point[1] - one[1]) * down) / length if length else 0
    share = min(max(share, 0), 1)
    return (
        abs(one[0] + share * across - point[0]) <= tolerance
        and abs(one[1] + share * down - point[1]) <= tolerance
    )
