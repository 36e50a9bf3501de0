"""Files of several runs, one after the other: the next is decompressed while one is decoded."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from hardstone.store.content import content_of


class ReadAhead:
    """Gives the contents of `paths`. Decompressing does not hold up the thread that decodes."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._left = list(paths)
        self._begun: dict[Path, Future[bytearray]] = {}
        self._pool = ThreadPoolExecutor(1) if len(paths) > 1 else None

    def __enter__(self) -> ReadAhead:
        self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def content(self, path: Path) -> bytearray:
        """The content of `path`, with the errors of `content_of`; the one after it is begun."""
        begun = self._begun.pop(path, None)
        found = content_of(path) if begun is None else begun.result()
        self._begin()
        return found

    def _begin(self) -> None:
        """Only one: each takes memory until it is asked for."""
        if self._pool is None or self._begun or not self._left:
            return
        path = self._left.pop(0)
        try:
            self._begun[path] = self._pool.submit(content_of, path)
        except RuntimeError:  # no thread: each is read when it is asked for
            self._pool = None
