"""Paths of lines and areas."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.report.plot.tenth import tenths

Run = tuple[list[float], list[float]]


def line(runs: Sequence[Run], *, is_stepped: bool) -> str:
    """A line for each run of points; one point alone is a dot."""
    return "".join(_run(xs, ys, is_stepped=is_stepped) for xs, ys in runs)


def _run(xs: list[float], ys: list[float], *, is_stepped: bool) -> str:
    across, down = tenths(xs), tenths(ys)
    if len(across) == 1:
        return f"M{across[0]},{down[0]}Z"
    return (_steps if is_stepped else _lines)(across, down)


def _steps(across: list[str], down: list[str]) -> str:
    """Along the axes only: over to the next point at the height of the last one, then there."""
    x, y = across[0], down[0]
    parts = [f"M{x},{y}H{across[1]}"]
    x = across[1]
    for next_x, next_y in zip(across[1:], down[1:], strict=True):
        if next_x != x:
            parts.append("H" + next_x)
            x = next_x
        if next_y != y:
            parts.append("V" + next_y)
            y = next_y
    return "".join(parts)


def _lines(across: list[str], down: list[str]) -> str:
    x, y = across[0], down[0]
    parts = [f"M{x},{y}"]
    is_dot = True
    for next_x, next_y in zip(across[1:], down[1:], strict=True):
        if next_y == y:
            if next_x != x or is_dot:
                parts.append("H" + next_x)
        elif next_x == x:
            parts.append("V" + next_y)
        else:
            parts.append(f"L{next_x},{next_y}")
        x, y, is_dot = next_x, next_y, False
    return "".join(parts)


def area(xs: list[float], ys: list[float], floors: list[float], *, is_stepped: bool) -> str:
    """Between a line and another one below it, which is level where the steps are."""
    if len(xs) == 1:
        xs, ys, floors = xs * 2, ys * 2, floors * 2
    above = _run(xs, ys, is_stepped=is_stepped)
    below = _run(xs[::-1], floors[::-1], is_stepped=is_stepped)
    return f"{above}L{below[1:]}Z"
