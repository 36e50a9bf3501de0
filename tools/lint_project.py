"""Rules about what a newcomer relies on: doors, pins, and nothing private in the tree."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch

from lint_tree import OF_LINT, Complaint, File, Tree

TEXT_LIMIT_CHARS = 2_000_000
# What a text is, words of which such a text has one (to search for them takes a tenth of the
# time), and the pattern.
PRIVATE = (
    (
        "a place of somebody's machine",
        ("/",),
        re.compile(r"(?<!:/)/(?:root|home/(?!me\b|you\b)[a-z]|Users/[A-Z]|work/[a-z])"),
    ),
    (
        "a registry",
        ("pypi", "pythonhosted", "registry", "proxy", "mirror"),
        re.compile(r"(?:pypi|pythonhosted|registry|proxy|mirror)[\w.-]*\.(?:org|com|io|net)\b"),
    ),
    (
        "a secret",
        ("PRIVATE KEY", "ghp", "glpat", "xox", "AKIA"),
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY|\b(?:ghp|glpat|xox[bp]|AKIA)[A-Za-z0-9_-]{12,}"),
    ),
    (
        "a secret",
        ("password", "apikey", "api_key", "secretkey", "secret_key", "token"),
        re.compile(r"(?i:\b(?:password|api_?key|secret_?key|token)\s*=\s*['\"][^'\"]{8,}['\"])"),
    ),
)


def private(tree: Tree) -> Iterator[Complaint]:
    """No place of somebody's machine, no registry and no secret is in the tree."""
    for path, file in tree.files.items():
        if path in OF_LINT or not is_text(file):
            continue
        lower = file.text.lower()
        for what, words, pattern in PRIVATE:
            if any(word.lower() in lower for word in words):
                for found in pattern.finditer(file.text):
                    yield file.wrong_at(found.start(), f"{found[0]} is {what}: remove it")


def is_text(file: File) -> bool:
    return "\0" not in file.text and len(file.text) < TEXT_LIMIT_CHARS


def pinned(lock: File) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", lock.text, re.MULTILINE))


def pins(tree: Tree) -> Iterator[Complaint]:
    """Every dependency is pinned with hashes and no address, in all locks the same."""
    for lock in tree.below("requirements", ".txt"):
        for found in re.finditer(r"://|--index", lock.text):
            yield lock.wrong_at(found.start(), "an address: tools/lock.py writes none")
        for entry in re.split(r"\n(?=\S)", lock.text.strip()):
            if not re.match(r"[a-z0-9-]+==\S+", entry) or "--hash=sha256:" not in entry:
                told = f"{entry.split()[0]} is not pinned with a hash: tools/lock.py does it"
                yield lock.wrong_word(entry, told)
    dev, run = tree["requirements/dev.txt"], tree["requirements/run.txt"]
    for name, version in sorted(pinned(run).items() - pinned(dev).items()):
        told = f"{name}=={version} is not that of {dev.path}: tools/lock.py writes both"
        yield run.wrong_word(f"{name}==", told)
    project = tree["pyproject.toml"]
    for one in tomllib.loads(project.text)["build-system"]["requires"]:
        name, _, version = one.partition("==")
        if pinned(run).get(name) != version:
            yield project.wrong_word(one, f"{one} is not the version of {run.path}: make it that")


def make_targets(tree: Tree) -> Iterator[Complaint]:
    """Every target that documents name exists, and `make help` names each."""
    makefile = tree["Makefile"]
    targets = set(re.findall(r"^([a-z-]+):", makefile.text, re.MULTILINE))
    for file in [*tree.documents, tree[".ci/run"]]:
        named = r"(?:`|^ *|\$ )make ([a-z]+(?:-[a-z]+)*)"
        for found in re.finditer(named, file.text, re.MULTILINE):
            if found[1] not in targets:
                yield file.wrong_at(found.start(1), f"the Makefile has no {found[1]}: correct it")
    told = set(re.findall(r'@echo "make ([a-z-]+) ', makefile.text))
    phony = re.search(r"^\.PHONY: (.*)$", makefile.text, re.MULTILINE)
    has = set(phony[1].split()) if phony else set()
    for name in sorted((has - {"help"}) ^ told):
        yield makefile.wrong_word(name, f"{name} is only in .PHONY or only in help: add it there")


# Where the tree has the version, by pattern of the path: what tools/release.py sets.
VERSION_PLACES = {
    "src/hardstone/__init__.py": r'^__version__ = "(.+)"$',
    "probe/src/run/stream.h": r'^#define PROBE_VERSION "(.+)"$',
    "probe/meson.build": r"^project\('hardstone-probe', 'c', version: '(.+?)'",
    "tests/process/targets/golden/register.json": r'^ "probe_version": "(.+)",$',
    "share/man/man1/*.1": r'^\.TH \S+ 1 "" "hardstone (.+?)"',
}


def version(tree: Tree) -> Iterator[Complaint]:
    """Every place has the same version, and the changelog has a section for it."""
    package = tree["src/hardstone/__init__.py"]
    found = re.search(VERSION_PLACES[package.path], package.text, re.MULTILINE)
    number = found[1] if found else "none"
    for pattern, place in VERSION_PLACES.items():
        for file in (file for path, file in tree.files.items() if fnmatch(path, pattern)):
            has = re.search(place, file.text, re.MULTILINE)
            if has is None or has[1] != number:
                here, at = (has[1], has.start(1)) if has else ("missing", 0)
                told = f"the version is {here} here, {number} in {package.path}"
                yield file.wrong_at(at, f"{told}: make both the same")
    changes = tree["CHANGELOG.md"]
    if not re.search(rf"^## (?:Unreleased|{re.escape(number)} - .+)$", changes.text, re.MULTILINE):
        yield changes.wrong(1, f"has no section Unreleased, and none for {number}: add one")


def build_options(tree: Tree) -> Iterator[Complaint]:
    """Every option of the build is used."""
    options, build = tree["probe/meson_options.txt"], tree["probe/meson.build"]
    for found in re.finditer(r"^option\('(\w+)'", options.text, re.MULTILINE):
        if f"'{found[1]}'" not in build.text:
            yield options.wrong_at(found.start(), f"nothing uses {found[1]}: remove it")


RULES = [private, pins, make_targets, version, build_options]
