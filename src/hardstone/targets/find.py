"""Where the probe's executable and its source are: each command needs no more."""

from __future__ import annotations

import os
from pathlib import Path

from hardstone.errors import TargetError

VARIABLE = "HARDSTONE_PROBE"
_PACKAGE = Path(__file__).resolve().parents[1]
PROBE = "hardstone-probe"
GUEST = "hardstone-guest"  # process 1 of a guest of the lab


def source_tree() -> Path | None:
    """Root of the checkout that this package runs from, None when it is installed."""
    root = _PACKAGE.parents[1]
    return root if (root / "probe" / "src").is_dir() else None


def probe_source() -> Path | None:
    """Folder whose folder `probe` has the probe's source: of the checkout, or that a wheel brings;
    None where there is none."""
    packaged = _PACKAGE / "_probe" / "source"
    return source_tree() or (packaged if (packaged / "probe" / "src").is_dir() else None)


def built_probe(root: Path) -> Path:
    """The executable that a build from the source tree `root` leaves."""
    return root / "build" / "probe" / PROBE


def packaged_probe(arch: str) -> Path:
    """The static probe for `arch` ("x86_64", "aarch64") that a wheel brings; it may be missing."""
    return _PACKAGE / "_probe" / arch / PROBE


def find_probe() -> Path:
    """The executable in use. TargetError with the remedy where there is none."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return _executable(Path(chosen), f"{VARIABLE} names it: correct or unset it")
    for path in _places():
        if path.exists():
            return _executable(path, "rebuild it: hardstone probe build")
    raise TargetError("there is no probe", "build it: hardstone probe build")


def find_guest() -> Path:
    """The program of the lab's guests: beside the probe in use, or of the same build as ours."""
    places = [find_probe(), *_places()]
    for path in (place.with_name(GUEST) for place in places):
        if path.exists():
            return _executable(path, "rebuild it: hardstone probe build")
    raise TargetError(f"there is no {GUEST}", "build it: hardstone probe build")


def _places() -> list[Path]:
    root = source_tree()
    packaged = _PACKAGE / "_probe" / PROBE
    return [packaged] if root is None else [packaged, built_probe(root)]


def _executable(path: Path, remedy: str) -> Path:
    if not path.exists():
        raise TargetError(f"the probe {path} does not exist", remedy)
    if not path.is_file() or not os.access(path, os.X_OK):
        raise TargetError(f"the probe {path} is not an executable file", remedy)
    return path.resolve()
