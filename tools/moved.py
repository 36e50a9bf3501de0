"""Finds set-up files that were made for another folder: a clone may be moved or copied.

Scripts in .venv name its interpreter, the installed hardstone names its source, and a build
folder names source and target, all by absolute path: a copy would run the original.
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

STAMP = "made-for"


def former_folder(venv: Path, root: Path) -> str:
    """The folder that `venv` was made for; "" if that is `root` or there is no `venv`."""
    if not venv.exists():
        return ""
    try:
        made_for = (venv / STAMP).read_text()
    except (OSError, UnicodeError):
        return "an unknown folder"
    return "" if made_for == str(root) else made_for


def write_stamp(venv: Path, root: Path) -> None:
    (venv / STAMP).write_text(str(root))


def foreign_builds(build: Path) -> list[Path]:
    """Folders below `build` that Meson configured in another place, or only in part."""
    folders = sorted(path.parent for path in build.glob("*/meson-private"))
    return [folder for folder in folders if configured_as(folder) != str(folder.resolve())]


def configured_as(folder: Path) -> str:
    try:
        told = json.loads((folder / "meson-info" / "meson-info.json").read_bytes())
        return str(told["directories"]["build"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def links_to_former(path: str, former: str, venv: Path) -> list[str]:
    """A line for each `hardstone` on `path` that leads to the .venv of `former`."""
    target = str(Path(former) / ".venv" / "bin" / "hardstone")
    links = [Path(folder, "hardstone") for folder in path.split(os.pathsep) if folder]
    own = shlex.quote(str(venv / "bin" / "hardstone"))
    return [
        f"{link} leads to {former}; to this folder: ln -sf {own} {shlex.quote(str(link))}"
        for link in dict.fromkeys(links)
        if link.is_symlink() and os.path.realpath(link) == target
    ]
