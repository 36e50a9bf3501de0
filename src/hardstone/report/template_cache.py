"""Templates are compiled once, as Python's own modules are: that takes a quarter of a second."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR

from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket

from hardstone.report.own_cache import own_cache

_OF_OTHERS = 0o022


class TemplateCache(FileSystemBytecodeCache):
    """Compiled templates in files that are read again while their source is the same. Without a
    folder that can be written, each process compiles its own."""

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().dump_bytecode(bucket)


def template_cache(folder: Path | None = None) -> TemplateCache | None:
    """The cache in `folder`, by default that of the user. None where Python keeps nothing compiled
    either, and for a folder into which others could put programs."""
    base = own_cache() if folder is None else folder
    if base is None or sys.dont_write_bytecode:
        return None
    place = base / "templates"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = place.lstat()
    except OSError:
        return None
    is_own = S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not is_own or found.st_mode & _OF_OTHERS:
        return None
    return TemplateCache(str(place))
