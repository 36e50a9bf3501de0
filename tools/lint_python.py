"""Rules about Python: which room imports which, names of modules, how tests use the package."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter

from lint_tree import Complaint, File, Tree

HERE = "tools/lint_python.py"
PACKAGE = "hardstone"
SOURCE = f"src/{PACKAGE}"
Rooms = Mapping[str, set[str]]

LEAVES = {"model", "errors", "units", "event_names", "hosts"}
# Packages of features with words of their own. What computes in them is of the room stats, `screen`
# of the room terminal, what makes pages of the room report; the rest is a room of its own.
FEATURES = {"simulation", "comparison", "posix", "kernel", "preemption", "doctor", "gate", "study"}
PARTS = {
    **dict.fromkeys(("analysis", "results"), "stats"),
    "screen": "terminal",
    **dict.fromkeys(("page", "sheet", "cells", "charts", "figures", "curves"), "report"),
}
PARTS_NAMED = {*PARTS, "tables"}
# Every room; what is not listed may not be there.
ALLOWED: dict[str, set[str]] = {
    "__init__": {"notebook"},
    "units": set(),
    "calling": set(),
    "errors": set(),
    "hosts": {"errors"},
    "files": {"errors"},
    "memory": set(),
    "frames": {"errors"},
    "event_names": set(),
    "model": set(),
    "catalogue": {"errors", "model", "units"},
    "ci_formats": set(),
    "facts": set(),
    "sources": {"model"},
    "virtual": {"model", "sources"},
    "raw_facts": {"model", "sources", "virtual"},
    "stats": LEAVES | {"catalogue"},
    "stream": LEAVES | {"stats"},
    "kernel": LEAVES | {"stats", "systems", "wording", "figure_text"},
    "posix": LEAVES | {"catalogue", "stats", "systems", "wording", "figure_text"},
    "systems": LEAVES | {"stats", "catalogue"},
    "wording": LEAVES | {"stats", "systems", "catalogue"},
    "figure_text": LEAVES | {"stats", "systems", "wording"},
    "plan": LEAVES | {"catalogue"},
    "simulation": LEAVES
    | {"calling", "catalogue", "stats", "plan", "systems", "wording", "figure_text"},
    "preemption": LEAVES | {"stats", "kernel", "wording", "figure_text"},
    "doctor": LEAVES | {"facts", "sources"},
    "gate": LEAVES | {"ci_formats", "files", "stats", "systems"},
    "present": LEAVES
    | {
        "doctor",
        "stats",
        "catalogue",
        "calling",
        "systems",
        "simulation",
        "wording",
        "figure_text",
    },
    "comparison": LEAVES
    | {
        "stats",
        "kernel",
        "preemption",
        "simulation",
        "present",
        "systems",
        "catalogue",
        "wording",
        "figure_text",
    },
    "study": LEAVES
    | {
        "files",
        "stats",
        "kernel",
        "preemption",
        "simulation",
        "comparison",
        "posix",
        "plan",
        "present",
        "systems",
        "catalogue",
        "wording",
        "figure_text",
    },
    "exporters": LEAVES | {"ci_formats", "present", "stats", "systems", "wording"},
    "importers": LEAVES | {"files", "stats", "systems"},
    "schema": {"model", "doctor", "stats", "gate", "present", "comparison", "posix", "study"},
    "store": LEAVES | {"files", "importers", "memory", "raw_facts", "stats", "stream", "systems"},
    "lab": LEAVES | {"files", "frames", "memory"},
    "targets": LEAVES | {"files", "frames", "memory", "lab", "raw_facts"},
    "campaign": LEAVES
    | {"calling", "plan", "simulation", "targets", "store", "stats", "stream", "doctor"},
}
# What is laid out, on a terminal or on a page.
SHOWN = {"catalogue", "calling", "present", "stats", "systems", "plan", "doctor", "store", "gate"}
SHOWN |= {"simulation", "comparison", "posix", "kernel", "preemption", "study"}
SHOWN |= {"wording", "figure_text"}
ALLOWED["terminal"] = LEAVES | SHOWN
ALLOWED["report"] = LEAVES | (SHOWN - {"plan", "doctor", "store", "gate"})
ALLOWED["report"] |= {"exporters", "facts", "files"}
ALLOWED["cli"] = set(ALLOWED) - {"__init__", "schema"}
# What people import: no command does.
ALLOWED["notebook"] = LEAVES | {
    "stats",
    "store",
    "systems",
    "present",
    "comparison",
    "report",
    "files",
    "wording",
    "figure_text",
}
ALLOWED["__main__"] = {"cli"}
# What runs on a target, or starts what does.
RUNNING = {"targets", "campaign", "cli", "lab"}
# Libraries that only lay out or compute, and the rooms that do so.
LIBRARIES = {
    "click": {"cli"},
    "rich": {"cli", "terminal"},
    "jinja2": {"report"},
    "markupsafe": {"report"},
    "vl_convert": {"report"},
    "pypdf": {"report"},
    "hdrh": {"exporters"},
    "perfetto": {"exporters"},
    "pyarrow": {"exporters"},
    "serial": {"targets"},
    "numpy": {"stats", "report", "notebook"},
    "scipy": {"stats"},
}


def toolkit(tree: Tree) -> list[File]:
    return tree.below(SOURCE, ".py")


def part(file: File) -> str:
    """The room of a file: a module or package below hardstone; of a feature by what it does."""
    return room_of(file.path.removeprefix(f"{SOURCE}/").removesuffix(".py").split("/"))


def room_of(names: list[str]) -> str:
    """The room of a module by its names below hardstone."""
    is_of_feature = len(names) > 1 and names[0] in FEATURES
    return PARTS.get(names[1], names[0]) if is_of_feature else names[0]


@cache
def imported(file: File) -> list[tuple[int, str]]:
    """Line and name of each import; of `from a import b` both `a` and `a.b`."""
    found = [(one.lineno, alias.name) for one in file.of_type(ast.Import) for alias in one.names]
    for one in file.of_type(ast.ImportFrom):
        module = one.module or ""
        found += [(one.lineno, module)]
        found += [(one.lineno, f"{module}.{alias.name}") for alias in one.names]
    return found


def imported_parts(file: File, parts: set[str]) -> set[tuple[int, str]]:
    """Lines and rooms of what a file imports. `from hardstone import kernel` names no module of
    the package: what it has of it is judged where the package says it."""
    words = ((line, name.split(".")) for line, name in imported_modules(file))
    found = {(line, room_of(one[1:])) for line, one in words if one[0] == PACKAGE and one[1:]}
    return {(line, name) for line, name in found if name in parts}


def imported_modules(file: File) -> set[tuple[int, str]]:
    """As `imported`, of features the modules alone and not the package on the way to them."""
    found = {(line, name) for line, name in imported(file) if name.startswith(f"{PACKAGE}.")}
    return {
        (line, name)
        for line, name in found
        if not (
            name.removeprefix(f"{PACKAGE}.") in FEATURES
            and any(other.startswith(f"{name}.") for at, other in found if at == line)
        )
    }


def rooms(tree: Tree, allowed: Rooms = ALLOWED) -> Iterator[Complaint]:
    """A module imports only what its room may."""
    parts = {part(file) for file in toolkit(tree)}
    for file in toolkit(tree):
        for node in file.of_type(ast.ImportFrom):
            if node.level:
                yield file.wrong(node.lineno, "imports relatively: name the whole module")
        own = part(file)
        if own not in allowed:
            yield file.wrong(1, f"{own} is no room of ALLOWED in {HERE}: add it with what it needs")
            continue
        for line, name in sorted(imported_parts(file, parts)):
            if name != own and name not in allowed[own]:
                told = f"{own} may not import {name}: move what both need to a room below both"
                yield file.wrong(line, told)
    for name in sorted(set(allowed) - parts):
        yield Complaint(HERE, 1, f"ALLOWED has {name}, which is not there: remove it")


def layers(tree: Tree, allowed: Rooms = ALLOWED) -> Iterator[Complaint]:
    """The table of rooms has no circle, and what is pure never reaches a target."""
    try:
        order = [*TopologicalSorter(allowed).static_order()]
    except CycleError as error:
        circle = " -> ".join(error.args[1])
        yield Complaint(HERE, 1, f"ALLOWED has a circle, {circle}: forbid one of these imports")
        return
    reached: dict[str, set[str]] = {}
    for room in order:
        below = allowed.get(room)
        if below is None:
            yield Complaint(HERE, 1, f"ALLOWED lets rooms import {room}, which is none: remove it")
            below = set()
        reached[room] = below.union(*(reached[one] for one in below))
        if reached[room] & RUNNING and room not in RUNNING | {"__main__"}:
            targets = ", ".join(sorted(reached[room] & RUNNING))
            yield Complaint(HERE, 1, f"ALLOWED lets {room} reach {targets}: {room} must be pure")


def libraries(tree: Tree) -> Iterator[Complaint]:
    """A library is used where it belongs, and one that is listed is used."""
    used = set()
    for file in toolkit(tree):
        for line, library in sorted({(line, name.split(".")[0]) for line, name in imported(file)}):
            used.add(library)
            if part(file) not in LIBRARIES.get(library, {part(file)}):
                homes = ", ".join(sorted(LIBRARIES[library]))
                yield file.wrong(line, f"imports {library}: only {homes} may, do this there")
    for library in sorted(set(LIBRARIES) - used):
        yield Complaint(HERE, 1, f"LIBRARIES has {library}, which nothing imports: remove it")


def campaign(tree: Tree) -> Iterator[Complaint]:
    """Only the command line joins campaign and report."""
    for file in toolkit(tree):
        if part(file) not in ("campaign", "cli"):
            for line, _ in sorted(imported_parts(file, {"campaign"})):
                yield file.wrong(line, "imports campaign: only cli may, let it pass the result")


def unsafe(tree: Tree) -> Iterator[Complaint]:
    """No pickle, no eval, no shell."""
    for file in toolkit(tree):
        for line, name in imported(file):
            if name in ("pickle", "marshal", "shelve"):
                yield file.wrong(line, f"{name} runs what it reads: use msgspec")
        for call in file.of_type(ast.Call):
            name = getattr(call.func, "id", "")
            if name in ("eval", "exec"):
                yield file.wrong(call.lineno, f"{name} runs text: write the code itself")
            if any(one.arg == "shell" for one in call.keywords):
                yield file.wrong(call.lineno, "calls with shell=: pass a list of words")


def scipy(tree: Tree) -> Iterator[Complaint]:
    """scipy takes 0.2 s to load, scipy.stats half of every command's time."""
    for file in toolkit(tree):
        for line, name in imported(file):
            if name == "scipy.stats":
                yield file.wrong(line, "scipy.stats slows every command: use scipy.special")
        for node in file.module.body:
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any("scipy" in name.split(".") for name in names):
                told = "imports scipy for every command: import it in the function that computes"
                yield file.wrong(node.lineno, told)


def module_names(tree: Tree) -> Iterator[Complaint]:
    """A module has a name of its own, so that the name alone says where a thing is. Commands may
    be called as what they print: `hardstone show`, `runs`; each feature has the same parts, and a
    format has an exporter and an importer."""
    main = tree[f"{SOURCE}/cli/main.py"]
    of_commands = set()
    for node in file_assignments(main, "COMMANDS"):
        for name in ast.literal_eval(node.value).values():
            path = f"{SOURCE}/cli/{name.partition('.')[0]}.py"
            of_commands.add(path)
            if path not in tree.files:
                yield main.wrong(node.lineno, f"COMMANDS has {name}: there is no {path}")
    if not of_commands:
        yield main.wrong(1, "COMMANDS is not found: correct module_names in tools/lint_python.py")
    modules: dict[str, list[File]] = defaultdict(list)
    for file in toolkit(tree):
        folder = file.folder.removeprefix(f"{SOURCE}/")
        is_part = folder == "exporters" or (folder in FEATURES and file.stem in PARTS_NAMED)
        if file.path not in of_commands and not is_part and not file.name.startswith("__"):
            modules[file.stem].append(file)
    for name, files in modules.items():
        for file in files[1:]:
            yield file.wrong(1, f"{files[0].path} has this name too: rename one")
        for plural in (f"{name}s", f"{name}es", f"{name.removesuffix('y')}ies"):
            for file in modules.get(plural, []):
                yield file.wrong(1, f"is the plural of {files[0].path}: rename one")


def file_assignments(file: File, name: str) -> list[ast.Assign]:
    """The assignments of a module to a name, outside functions."""
    found = (node for node in file.module.body if isinstance(node, ast.Assign))
    return [node for node in found if [getattr(one, "id", "") for one in node.targets] == [name]]


REPLACING = {"setattr", "delattr", "setitem", "delitem", "patch"}
# pytest has no public way to end all fixtures.
PRIVATE_OF_OTHERS = {"_exit", "_getframe", "_current_frames", "_setupstate"}


def public_door(tree: Tree) -> Iterator[Complaint]:
    """Tests use the package as others do: no name of its own is replaced, no private one is
    read."""
    for file in tree.below("tests", ".py"):
        for line, told in [*private_names(file), *replaced_names(file)]:
            yield file.wrong(line, told)


def private_names(file: File) -> Iterator[tuple[int, str]]:
    for node in file.of_type(ast.ImportFrom):
        for one in node.names:
            if is_private(one.name):
                yield node.lineno, f"imports {one.name}: use what is public"
    for read in file.of_type(ast.Attribute):
        if is_private(read.attr) and root_of(read.value) not in ("self", "cls"):
            yield read.lineno, f"reads {read.attr}: use what is public"


def replaced_names(file: File) -> Iterator[tuple[int, str]]:
    theirs = of_the_package(file)
    for call in file.of_type(ast.Call):
        if is_replacing(call, theirs):
            yield call.lineno, f"replaces {ast.unparse(call.args[0])}: pass what the test needs"
    for node in file.of_type(ast.Assign):
        for one in node.targets:
            if isinstance(one, ast.Attribute | ast.Subscript) and root_of(one) in theirs:
                yield node.lineno, f"sets {ast.unparse(one)}: pass what the test needs"


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PRIVATE_OF_OTHERS


def root_of(node: ast.expr) -> str:
    """The name that an expression such as `store.backing.os` begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def of_the_package(file: File) -> set[str]:
    """Names that a module has from the package."""
    names: set[str] = set()
    for node in file.of_type(ast.ImportFrom):
        if (node.module or "").split(".")[0] == PACKAGE:
            names.update(alias.asname or alias.name for alias in node.names)
    for plain in file.of_type(ast.Import):
        mine = (one for one in plain.names if one.name.split(".")[0] == PACKAGE)
        names.update(one.asname or PACKAGE for one in mine)
    return names


def is_replacing(call: ast.Call, theirs: set[str]) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name not in REPLACING or not call.args:
        return False
    what = call.args[0]
    if isinstance(what, ast.Constant):
        return str(what.value).startswith(f"{PACKAGE}.")
    return root_of(what) in theirs or isinstance(what, ast.Starred)


RULES = [rooms, layers, libraries, campaign, unsafe, scipy, module_names, public_door]
