"""The files of the repository: each is read and parsed once, for all rules of lint.py."""

from __future__ import annotations

import ast
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TypeVar, cast

Node = TypeVar("Node", bound=ast.AST)
OF_LINT = ("tests/unit/test_lint.py", "tests/unit/lint.txt")  # have what no other file may
LEAVES = (ast.Name, ast.Constant, ast.expr_context)


@dataclass(frozen=True)
class Complaint:
    path: str
    line: int
    text: str  # what is wrong, and what to do

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


class File:
    """A text file. `path` starts at the root of the repository."""

    def __init__(self, root: Path, path: str) -> None:
        self.path = path
        self._place = root / path

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name

    @property
    def stem(self) -> str:
        return PurePosixPath(self.path).stem

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @cached_property
    def text(self) -> str:
        return self._place.read_text("utf-8", errors="replace")

    @property
    def is_read(self) -> bool:
        return "text" in vars(self)

    @cached_property
    def module(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def _nodes(self) -> dict[type[ast.AST], list[ast.AST]]:
        """What ast.walk finds but names and constants, in two thirds of its time."""
        nodes: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        waiting: list[ast.AST] = [self.module]
        while waiting:
            node = waiting.pop()
            if isinstance(node, LEAVES):
                continue
            nodes[type(node)].append(node)
            for value in vars(node).values():
                if isinstance(value, ast.AST):
                    waiting.append(value)
                elif isinstance(value, list):
                    waiting += (one for one in value if isinstance(one, ast.AST))
        return nodes

    def of_type(self, kind: type[Node]) -> list[Node]:
        return cast("list[Node]", self._nodes.get(kind, []))

    def wrong(self, line: int, text: str) -> Complaint:
        return Complaint(self.path, line, text)

    def wrong_at(self, offset: int, text: str) -> Complaint:
        """A complaint about the line of a character of the text."""
        return Complaint(self.path, self.text.count("\n", 0, offset) + 1, text)

    def wrong_word(self, word: str, text: str) -> Complaint:
        """A complaint about the line that has a word first, or line 1."""
        return self.wrong_at(max(self.text.find(word), 0), text)


class Tree:
    """The files of a repository."""

    def __init__(self, root: Path, paths: Iterable[str]) -> None:
        self.root = root
        self.files = {path: File(root, path) for path in sorted(paths)}

    def __getitem__(self, path: str) -> File:
        return self.files[path]

    def below(self, folder: str, *suffixes: str) -> list[File]:
        inside = (file for path, file in self.files.items() if path.startswith(f"{folder}/"))
        return [file for file in inside if file.path.endswith(suffixes)]

    def has(self, path: str) -> bool:
        """Whether a file or a folder is there, and within the root."""
        place = (self.root / path).resolve()
        return place.exists() and place.is_relative_to(self.root.resolve())

    @cached_property
    def documents(self) -> list[File]:
        """The pages at the root and of docs/."""
        at_root = [file for path, file in self.files.items() if "/" not in path]
        return [
            *(file for file in at_root if file.path.endswith(".md")),
            *self.below("docs", ".md"),
        ]


def read_tree(root: Path) -> Tree:
    """What is in git, and what is new and not ignored."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    paths = filter(None, done.stdout.split("\0"))
    return Tree(root, (path for path in paths if (root / path).is_file()))


def table_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Offset and cells of each row of the tables in a page."""
    offset = 0
    for line in text.splitlines(keepends=True):
        if line.startswith("|"):
            yield offset, [cell.strip() for cell in line.strip().strip("|").split("|")]
        offset += len(line)
