"""Rules about the source of the probe: rooms, layers, names, and what it sends."""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter

from lint_tree import Complaint, File, Tree, table_rows

SOURCE = "probe/src/"
DESIGN = "docs/design.md"
PAGES = "docs/reference/tests/"
REGISTER = "family/register.c"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]*)"', re.MULTILINE)
INCLUDED_BY_BUILD = re.compile(r"-include \$\(ROOT\)/(\S+\.h)")
ENTRY = re.compile(r"\bTEST\(([a-z]\w+)\)")
DESCRIPTOR = re.compile(r'^const struct test (\w+) = \{\s*\.id = "([^"]*)"', re.MULTILINE)
STRING = r'"(?:\\.|[^"\\])*"'
COMMENT = re.compile(rf"({STRING})|/\*.*?\*/", re.DOTALL)
MARKED = re.compile(r"`([^`]+)`")
FOLDER = re.compile(r"\b[A-Z]+\b")  # in a room's name: any folder may stand there
EVERY_HEADER = "every header"
Sources = Mapping[str, File]


def sources(tree: Tree) -> Sources:
    """The source of the probe, by paths as includes have them."""
    files = tree.below(SOURCE.rstrip("/"), ".c", ".h")
    return {file.path.removeprefix(SOURCE): file for file in files}


@cache
def code(file: File) -> str:
    """The text of a source; in place of comments are only their ends of lines."""
    return COMMENT.sub(lambda found: found[1] or " " + "\n" * found[0].count("\n"), file.text)


# ---- rooms ----


@dataclass(frozen=True)
class Room:
    """A row of the table of docs/design.md."""

    name: str
    doors: list[str]  # names of headers, or EVERY_HEADER alone
    may_include: list[str]  # rooms, which means their doors, and single headers

    def own_name(self, file: str) -> str | None:
        """Of `file` in family/FAMILY/: family/timer/. None where it is not in this room."""
        pattern = FOLDER.sub("[a-z0-9_]+", self.name)
        found = re.match(pattern if self.name.endswith("/") else f"{pattern}$", file)
        return found[0] if found else None

    def has_door(self, header: str) -> bool:
        return header.endswith(".h") and (EVERY_HEADER in self.doors or header in self.doors)


@cache
def read_rooms(design: File) -> list[Room]:
    """The narrowest first: the room of a file is the first that has it."""
    lines = design.text.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("| room |")) + 2
    end = next(i for i, line in enumerate(lines) if i >= begin and not line.startswith("|"))
    found = [read_row(line) for line in lines[begin:end]]
    return sorted(found, key=lambda one: (-len(one.name.split("/")), bool(FOLDER.search(one.name))))


def read_row(line: str) -> Room:
    name, _, doors, may_include = (cell.strip() for cell in line.strip("|").split("|"))
    told = [EVERY_HEADER] if doors == EVERY_HEADER else MARKED.findall(doors)
    return Room(name.strip("`"), told, MARKED.findall(may_include))


def room_of(table: list[Room], path: str) -> tuple[Room, str] | None:
    """The room that has a file, and its own name."""
    names = ((room, room.own_name(path)) for room in table)
    return next(((room, name) for room, name in names if name is not None), None)


def includes(tree: Tree) -> Iterator[Complaint]:
    """A file of the probe includes only doors of the rooms that its own may include."""
    files, table = sources(tree), read_rooms(tree[DESIGN])
    for path, file in files.items():
        if room_of(table, path) is None:
            yield file.wrong(1, f"is in no room: move it, or name its room in {DESIGN}")
        for found in INCLUDE.finditer(file.text):
            if reason := wrong_include(files, table, path, found[1]):
                yield file.wrong_at(found.start(1), reason)


def wrong_include(files: Sources, table: list[Room], path: str, included: str) -> str | None:
    if ".." in included or included not in files:
        return f"{included} is not there: includes start at probe/src"
    if not included.endswith(".h"):
        return f"{included} is no header: include the header that declares what is needed"
    here, there = room_of(table, path), room_of(table, included)
    if here is None or there is None or there[1] == here[1]:
        return None
    (room, own), (door, name) = here, there
    if name != "base/" and not {name, included} & set(room.may_include):
        return f"{own} may not include {included}: the table in {DESIGN} has what it may"
    if not door.has_door(included.removeprefix(name)):
        return f"{included} is no door of {name}: include one that {DESIGN} names"
    return None


def table_of_rooms(tree: Tree) -> Iterator[Complaint]:
    """The table has nothing that is not there."""
    design = tree[DESIGN]
    table = read_rooms(design)
    here = [(path, *found) for path in sources(tree) if (found := room_of(table, path))]
    headers = {path for path, _, _ in here if path.endswith(".h")}
    rooms, names = {room.name for _, room, _ in here}, {name for _, _, name in here}
    for room in table:
        if room.name not in rooms:
            yield design.wrong_word(f"| `{room.name}`", f"{room.name} has no file: remove its row")
        doors = {f"{room.name}{door}" for door in room.doors if door.endswith(".h")}
        for gone in sorted((doors - headers) | (set(room.may_include) - headers - names)):
            told = f"{gone} is not there: take it from the row of {room.name}"
            yield design.wrong_word(f"| `{room.name}`", told)


# ---- layers ----

# Each asks the other: a port answers in types of base, base asks the port.
ONE_LAYER = {"port/": "base/"}
LONGEST = 900  # lines of a file


def circle(used: Mapping[str, set[str]]) -> list[str]:
    """A circle of those that use each other, from its first name to that again; [] if none."""
    try:
        TopologicalSorter({name: sorted(used[name]) for name in sorted(used)}).prepare()
    except CycleError as error:
        ring = error.args[1][1:]
        at = ring.index(min(ring))
        return [*ring[at:], *ring[:at], ring[at]]
    return []


def probe_layers(tree: Tree) -> Iterator[Complaint]:
    """No two rooms of the table may include each other, by whatever way."""
    design = tree[DESIGN]
    table = read_rooms(design)
    used: dict[str, set[str]] = {}
    for room in table:
        own = ONE_LAYER.get(room.name, room.name)
        found = (room_of(table, one) or room_of(table, f"{one}x.h") for one in room.may_include)
        there = {ONE_LAYER.get(one[0].name, one[0].name) for one in found if one is not None}
        used.setdefault(own, set()).update(there - {own})
    if found := circle(used):
        told = f"rooms include each other, {' -> '.join(found)}: take one from its row"
        yield design.wrong_at(design.text.find(f"\n| `{found[0]}` |") + 1, told)


def direct(files: Sources, path: str) -> list[str]:
    return [one for one in INCLUDE.findall(files[path].text) if one in files]


def given(files: Sources, header: str) -> set[str]:
    """A header and all that whoever includes it gets."""
    got, waiting = set[str](), [header]
    while waiting:
        one = waiting.pop()
        if one not in got:
            got.add(one)
            waiting += direct(files, one)
    return got


def given_on(tree: Tree) -> Iterator[Complaint]:
    """No header gives a test what it may not include itself: loads, arguments of commands."""
    files, table = sources(tree), read_rooms(tree[DESIGN])
    for path, file in files.items():
        here = room_of(table, path)
        if here is None or not path.startswith("family/"):
            continue
        may = {one.split("/")[0] for one in here[0].may_include} | {"family", "base"}
        for included in direct(files, path):
            wrong = sorted(one for one in given(files, included) if one.split("/")[0] not in may)
            if wrong:
                told = f"{included} gives {wrong[0]} on, which {here[1]} may not include"
                yield file.wrong_word(f'"{included}"', f"{told}: name its types only (struct x;)")


def visitors(tree: Tree) -> Iterator[Complaint]:
    """A header has visitors in two files, in another room, in a header, in a test of the probe, or
    the Makefile of a port gives it to all; or it and its one visitor would be too long a file."""
    files, table = sources(tree), read_rooms(tree[DESIGN])
    tests = tree.below("probe/tests", ".c", ".h")
    tried = {one for file in tests for one in INCLUDE.findall(file.text)}
    for file in tree.below("probe/src/port", "/Makefile"):
        tried |= set(INCLUDED_BY_BUILD.findall(file.text))
    by: dict[str, set[str]] = defaultdict(set)
    for path in files:
        for included in direct(files, path):
            if path.rpartition(".")[0] != included.rpartition(".")[0]:
                by[included].add(path)
    for path, file in files.items():
        if not path.endswith(".h") or path in tried or len(by[path]) > 1:
            continue
        rooms = {found[1] for one in (path, *by[path]) if (found := room_of(table, one))}
        joined = {path, f"{path[:-2]}.c", *by[path]} & set(files)
        length = sum(files[one].text.count("\n") for one in joined)
        if len(rooms) < 2 and length <= LONGEST and not any(one.endswith(".h") for one in by[path]):
            told = f"has one visitor, {', '.join(by[path]) or 'its own file'}: join them"
            yield file.wrong(1, told)


def long_files(tree: Tree) -> Iterator[Complaint]:
    """A file has one concept: up to 900 lines."""
    for file in sources(tree).values():
        if (count := file.text.count("\n")) > LONGEST:
            yield file.wrong(
                LONGEST, f"has {count} lines, more than {LONGEST}: it has two concepts"
            )


# ---- names ----

FUNCTION = re.compile(r"^[a-z][\w \*]*[ \*](\w+)\(", re.MULTILINE)
# Prefixes of POSIX, and of kernels that are linked with their programs.
PREFIXES = (
    *("aio_", "k_", "mq_", "nx_", "nxsem_", "os_", "pthread_", "rtems_", "sched_", "sem_"),
    *("task_", "timer_", "tx_", "work_queue"),
)
NAMES = {"thread_create", "thread_resume", "thread_suspend", "thread_terminate"}
NAMES |= {"semaphore_create", "semaphore_destroy"}


def function_names(tree: Tree) -> Iterator[Complaint]:
    """No function has a name of a system that has one name space for all. Inline functions are of
    each file that includes them."""
    for file in tree.below(SOURCE.rstrip("/"), ".h"):
        for found in FUNCTION.finditer(file.text):
            name, is_inline = found[1], found[0].startswith("static")
            if not is_inline and (name.startswith(PREFIXES) or name in NAMES):
                yield file.wrong_at(found.start(1), f"{name} is a name of a system: rename it")


def descriptors(files: Sources) -> list[tuple[str, re.Match[str]]]:
    """File, and symbol and ID in a match, of every test."""
    return [(path, one) for path, file in files.items() for one in DESCRIPTOR.finditer(file.text)]


def tests(tree: Tree) -> Iterator[Complaint]:
    """A test is named as its ID, has the page of its name, and only the register names it. Its file
    is named so too, or after what several tests in it share."""
    files = sources(tree)
    families: dict[str, str] = {}
    homes: dict[str, str] = {}
    alone = Counter(path for path, _ in descriptors(files))
    pages = {file.stem: file for file in tree.below(PAGES.rstrip("/"), ".md")}
    pages.pop("README", None)
    for path, found in descriptors(files):
        symbol, test_id = found.groups()
        homes[symbol] = path
        name = test_id.lower().replace("-", "_")
        family = families.setdefault(test_id[:3], path.rpartition("/")[0])
        if symbol != name or path.rpartition("/")[0] != family:
            told = f"{test_id} is the symbol {name} in {family}/: rename it"
            yield files[path].wrong_at(found.start(), told)
        elif alone[path] == 1 and path != f"{family}/{name}.c":
            told = f"{test_id} is alone in its file: name that {name}.c"
            yield files[path].wrong_at(found.start(), told)
        if pages.pop(test_id.lower(), None) is None:
            yield files[path].wrong_at(found.start(), f"{test_id} has no page: make docs")
    for page in pages.values():
        yield page.wrong(1, "is the page of no test: make docs removes it")
    for path, file in files.items():
        named = homes.keys() & set(re.findall(r"\w+", code(file)))
        for name in sorted(one for one in named if path not in (homes[one], REGISTER)):
            told = f"names {name}: only {REGISTER} may, share a file without a test"
            yield file.wrong_word(name, told)
    entries = ENTRY.findall(files[REGISTER].text)
    for name in sorted(set(homes) - set(entries)):
        yield files[REGISTER].wrong(1, f"has no entry for {name}: add TEST({name})")
    for name in sorted(
        set(entries) - set(homes) | {one for one in entries if entries.count(one) > 1}
    ):
        yield files[REGISTER].wrong_word(name, f"{name} is no test, or twice here: remove it")


HEAD = re.compile(r"/\*.*?\*/", re.DOTALL)
HEAD_PARTS = ["What:", "Begin, end:", "Threads:", "Wrong if:"]
LONGEST_HEAD = 20  # lines


def head_comments(tree: Tree) -> Iterator[Complaint]:
    """A file of tests begins with what they measure, between which moments, and how the figure
    could be wrong; the rest is on the page of the test."""
    files = sources(tree)
    for path in dict.fromkeys(path for path, _ in descriptors(files)):
        file = files[path]
        found = HEAD.match(file.text)
        head = found[0] if found else ""
        ids = [one[2] for home, one in descriptors(files) if home == path]
        at = [head.find(f"\n * {part}") for part in HEAD_PARTS]
        missing = [part for part, place in zip(HEAD_PARTS, at, strict=True) if place < 0]
        missing += [one for one in ids if one not in head]
        if missing:
            yield file.wrong(1, f"its first comment lacks {', '.join(missing)}")
        elif at != sorted(at) or head.count("\n") >= LONGEST_HEAD:
            told = f"its first comment has its parts in the order {' '.join(HEAD_PARTS)}"
            yield file.wrong(1, f"{told} and at most {LONGEST_HEAD} lines")


# ---- words of Linux ----

# /dev/null and /dev/tty are POSIX's, /dev/zero is in every Unix.
OF_LINUX = re.compile(
    r"/(?:proc|sys)\b|^(?:proc|sys)/|/etc/security\b|/run/systemd\b|/dev/(?!null\b|tty\b|zero\b)\w+|\bsysctl\b|\b(?:kernel\.sched|fs\.mqueue|net\.core|vm)[._][a-z_.]+"
)
OF_CONTRACT = {"port/device.h": "/dev/uio"}  # Linux's user-space I/O, by its name


def words_of_linux(tree: Tree) -> Iterator[Complaint]:
    """Only the port to Linux, and that to FreeBSD, which has sysctl too, have its paths and
    settings in a string: others ask port_hint."""
    for path, file in sources(tree).items():
        if path.startswith(("port/linux/", "port/freebsd/")):
            continue
        text = code(file)
        for literal in re.finditer(rf"(?:{STRING}\s*)+", text):
            whole = "".join(one[1:-1] for one in re.findall(STRING, literal[0]))
            for word in OF_LINUX.findall(whole):
                if word != OF_CONTRACT.get(path):
                    line = text.count("\n", 0, literal.start()) + 1
                    yield file.wrong(line, f"{word} is a word of Linux: ask port_hint for it")


# ---- facts ----

FACTS = "src/hardstone/facts.toml"
READERS = ["doctor", "campaign", "cli", "plan", "report", "terminal", "present", "stats"]
SENT_FACT = re.compile(
    r"(?:sink->(text|number|truth)\(sink->context|(text|number|list|limit)_fact\(sink),"
    r'\s*"([a-z]+\.[a-z_]+)"(, NULL)?'
)
ANY_FACT = re.compile(r'sink[\w>,\s-]*"([a-z]+\.[a-z_]+)"')
FACT_TYPES = {
    "text": {"text"},
    "list": {"text"},
    "number": {"integer"},
    "truth": {"bool"},
    "limit": {"integer", "text"},
}
# Settings of Linux, and a field of a kernel in the lab, that are named as facts are.
NOT_FACTS = {"cpu.rt_runtime_us", "kernel.sched_rt_runtime_us", "kernel.arch"}


def facts_sent(tree: Tree) -> Iterator[Complaint]:
    """The probe sends the facts of the register, each of its type."""
    register = tree[FACTS]
    known = tomllib.loads(register.text)
    files = sources(tree)
    senders = {path: file for path, file in files.items() if path.startswith("port/")}
    senders = {path: file for path, file in senders.items() if path.endswith(".c")}
    senders["command/facts.c"] = files["command/facts.c"]
    types: dict[str, set[str]] = {}
    sent_by: dict[tuple[str, str], File] = {}
    for path, file in senders.items():
        sender = "probe" if path == "command/facts.c" else path.split("/")[1]
        for direct, helper, name, null in SENT_FACT.findall(file.text):
            types.setdefault(name, set()).update(set() if null else FACT_TYPES[direct or helper])
            sent_by[name, sender] = file
    sent = {name for name, _ in sent_by}
    for (name, sender), file in sent_by.items():
        of = types[name]
        kind = "integer or unlimited" if of == {"integer", "text"} else "".join(sorted(of))
        has = known.get(name, {"type": "none", "sender": "nobody"})
        if kind != has["type"] or sender not in (has["sender"], *has.get("also", [])):
            told = f"{name} is sent as {kind} by {sender}: {FACTS} has {has['type']} by"
            yield file.wrong_word(f'"{name}"', f"{told} {has['sender']}, correct one")
    for file in senders.values():
        for found in ANY_FACT.finditer(file.text):
            if found[1] not in sent:
                told = f"{found[1]} is sent in a way that SENT_FACT of tools/lint_c.py does not see"
                yield file.wrong_at(found.start(1), f"{told}: send it as others are, or add it")
    for name, fact in known.items():
        by = {fact["sender"], *fact.get("also", [])} & {"probe", "linux", "nuttx"}
        if any((name, one) not in sent_by for one in by):
            yield register.wrong_word(f'"{name}"', f"the probe never sends {name}: remove it")


# Of these sources.c builds the path.
BUILT_SOURCES = re.compile(
    r"/sys/devices/system/cpu/cpu\*/cpuidle/state\*/|/(boot|lib/modules)/|tracefs:|debugfs:sched/[fp]"
)
TABLE_SOURCE = re.compile(r'\{[A-Z_]+, "([^"]+)"\},')
SENT_SOURCE = re.compile(r'"((?:cpuid|debugfs)[^" ]*|/proc/config\.gz|/proc/self/task/PID/exe)"')


def facts_read(tree: Tree) -> Iterator[Complaint]:
    """The probe sends each source that the register names, and its table has no other. What
    is read from them is not seen here, but for the name of each fact:
    tests/unit/test_each_fact.py holds what it reads against the register."""
    register, reader = tree[FACTS], tree["src/hardstone/raw_facts.py"]
    readers = reader.text + tree["src/hardstone/virtual.py"].text
    sender = sources(tree)["port/linux/sources.c"]
    known = tomllib.loads(register.text)
    read = {name for name, fact in known.items() if fact["sender"] == "toolkit"}
    for name in sorted(read):
        if f'"{name}"' not in readers:
            yield register.wrong_word(f'"{name}"', f"nothing reads {name}: remove it")
        if not known[name].get("sources"):
            yield register.wrong_word(f'"{name}"', f"{name} has no sources: name them")
    wanted = {one for name in read for one in known[name].get("sources", [])}
    table = set(TABLE_SOURCE.findall(sender.text))
    sent = table | set(SENT_SOURCE.findall(sender.text))
    for source in sorted(one for one in wanted - sent if not BUILT_SOURCES.match(one)):
        told = f"the probe does not send {source}: add it to {sender.path}"
        yield register.wrong_word(f'"{source}"', told)
    for source in sorted(table - wanted):
        told = f"no fact is read from {source}: remove it, or name it in {FACTS}"
        yield sender.wrong_word(f'"{source}"', told)
    kept = [set(re.findall(r'"(CONFIG_[A-Z_]*_?)"', part)) for part in _kept(sender, reader)]
    if kept[0] != kept[1]:
        yield sender.wrong_word("options[]", "OPTIONS of raw_facts.py are others: make them equal")


def _kept(sender: File, reader: File) -> tuple[str, str]:
    """The lists of the kernel's options that are kept, in C and in Python."""
    of_probe = sender.text.partition("options[] = {")[2].partition("};")[0]
    return of_probe, reader.text.partition("OPTIONS = (")[2].partition(")")[0]


def facts_named(tree: Tree) -> Iterator[Complaint]:
    """The toolkit names facts of the register only."""
    known = tomllib.loads(tree[FACTS].text)
    groups = "|".join(sorted({name.partition(".")[0] for name in known}))
    named, is_seen = re.compile(rf'["{{]((?:{groups})\.[a-z_]+)["}}]'), False
    for room in READERS:
        for file in tree.below(f"src/hardstone/{room}", ".py", ".toml", ".html"):
            for found in named.finditer(file.text):
                is_seen = True
                if found[1] not in known and found[1] not in NOT_FACTS:
                    told = f"{found[1]} is no fact of {FACTS}: correct it, or add it"
                    yield file.wrong_at(found.start(1), told)
    if not is_seen:
        yield Complaint("tools/lint_c.py", 1, "facts_named sees no fact: correct its pattern")


# ---- events and tables ----

# Calls that name their event in the second argument.
SENDER = re.compile(r"\b(?:arena_event|arena_event_once|tell|send_event|data_pack)\(")
# Calls whose second argument is no literal: by file and that argument (DATA: they name no event).
NAMED_ELSEWHERE = {
    ("shield.c", "DATA"): {"not_put_back"},  # by the caller, in shield_run.c
    ("undo.c", "DATA"): {"not_put_back"},
    ("shield_run.c", "event"): {"offline", "shielded"},
    ("stream.c", "sizeof data"): {"events_dropped", "intervals_dropped", "table_dropped"},
    ("thr_p_pre.c", "doubt->event"): {"nobody_to_preempt", "not_at_once"},
}
# Lists of data that are a table's: in the call, or in a variable beside it.
TABLE = re.compile(r"\brow_table_add\(")
TABLE_DATA = re.compile(r"\bconst struct datum \*\w+ =\s*DATA\(")
COLUMNS = re.compile(r"\bconst char \*const \w*columns\w*\[\] = \{([^}]*)\}")
TOKEN = re.compile(rf"{STRING}|'(?:\\.|[^'\\])*'|.", re.DOTALL)
DATA = re.compile(r"\bDATA\(|\bNO_DATA\b")
NO_DATA = re.compile(r'\bNO_DATA,\s*("[^"]*")')
LITERAL = re.compile(r'"([a-z_]+)"')
KEY = re.compile(r'\bdata_(?:integer|number|bool|text|texts)\(\s*"([a-z_]+)"')
VALUE = re.compile(r'\bdata_text\(\s*"(?:why|reason)",\s*"([a-z_]+)"')
WORD = re.compile(r"`([a-z_]+)`")


def arguments(source: str, start: int) -> list[str]:
    """The arguments of the call whose opening parenthesis ends at `start`."""
    found, depth = [""], 0
    for token in TOKEN.finditer(source, start):
        depth += (token[0] in "({") - (token[0] in ")}")
        if depth < 0:
            break
        if token[0] == "," and depth == 0:
            found.append("")
        else:
            found[-1] += token[0]
    return found


@dataclass(frozen=True)
class Call:
    """One call: the events that it may send, none if nobody knows, and the words that their row
    must have."""

    line: int
    names: set[str]
    words: set[str]  # keys of the data, and literal values of `why` and `reason`


@cache
def sent(file: File) -> list[Call]:
    """The calls of a source that send data of an event, or none with NO_DATA."""
    source, found = code(file), []
    for match in SENDER.finditer(source):
        given = arguments(source, match.end())
        whole = ",".join(given)
        if DATA.search(whole):
            what = "DATA" if DATA.search(given[1]) else given[1].strip()
            names = set() if what == "DATA" else set(LITERAL.findall(what))
            names = names or NAMED_ELSEWHERE.get((file.name, what), set())
            words = {*KEY.findall(whole), *VALUE.findall(whole)}
            found.append(Call(line_of(source, match.start()), names, words))
    return found


def line_of(source: str, offset: int) -> int:
    return source.count("\n", 0, offset) + 1


def events(tree: Tree) -> Iterator[Complaint]:
    """schema/EVENTS.md names every event of the probe and just what its data hold."""
    page, rows = tree["schema/EVENTS.md"], dict[str, set[str]]()
    for _, cells in table_rows(page.text):
        if len(cells) == 2 and "`" in cells[0]:
            rows |= {name: set(WORD.findall(cells[1])) for name in WORD.findall(cells[0])}
    words: dict[str, set[str]] = defaultdict(set)
    literals: set[str] = set()
    for file in tree.below(SOURCE.rstrip("/"), ".c"):
        literals.update(LITERAL.findall(code(file)))
        for call in sent(file):
            for name in sorted(call.names):
                words[name] |= call.words
                if name not in rows:
                    yield file.wrong(call.line, f"sends {name}: {page.path} has no row for it")
                for word in sorted(call.words - rows.get(name, set())):
                    told = f"sends {word} with {name}: its row in {page.path} lacks it"
                    yield file.wrong(call.line, told)
    for name, has in rows.items():
        if name not in words or name not in literals:
            yield page.wrong_word(f"`{name}`", f"nothing sends {name}: remove its row")
        for word in sorted(has - words[name]):
            yield page.wrong_word(f"`{name}`", f"nothing sends {word} with {name}: remove it")


def event_data(tree: Tree) -> Iterator[Complaint]:
    """Data of events are in calls that the rule above reads, and figures are in data."""
    for file in tree.below(SOURCE.rstrip("/"), ".c"):
        calls, source = sent(file), code(file)
        for call in calls:
            if not call.names:
                told = "sends an event that is named elsewhere: add it to NAMED_ELSEWHERE of"
                yield file.wrong(call.line, f"{told} tools/lint_c.py")
        if len(calls) != len(DATA.findall(source)) - len(table_lists(source)):
            told = "has data of events in calls that SENDER of tools/lint_c.py lacks: add them"
            yield file.wrong(1, told)
        for match in NO_DATA.finditer(source):
            if "%" in match[1]:
                told = f"the figure in {match[1]} is in no data: send it as data too"
                yield file.wrong(line_of(source, match.start()), told)


def table_lists(source: str) -> list[str]:
    """The lists of data of tables in a source."""
    if not TABLE.search(source):
        return []
    given = [one for match in TABLE.finditer(source) for one in arguments(source, match.end())]
    declared = TABLE_DATA.finditer(source)
    return [
        *(one for one in given if DATA.search(one)),
        *(",".join(arguments(source, match.end())) for match in declared),
    ]


def tables(tree: Tree) -> Iterator[Complaint]:
    """schema/TABLES.md names every table of the probe, what its data hold, and its columns."""
    page, rows = tree["schema/TABLES.md"], dict[str, set[str]]()
    for _, cells in table_rows(page.text):
        if len(cells) == 4 and "`" in cells[0]:
            rows[cells[0].strip("`")] = set(WORD.findall(cells[2] + cells[3]))
    for file in tree.below(SOURCE.rstrip("/"), ".c"):
        source = code(file)
        calls = [arguments(source, match.end()) for match in TABLE.finditer(source)]
        if not calls:
            continue
        names = {name for given in calls for name in LITERAL.findall(given[1])}
        words = set(KEY.findall(",".join(table_lists(source))))
        words = words.union(*(LITERAL.findall(one) for one in COLUMNS.findall(source)))
        has = words - set().union(*(rows.get(name, set()) for name in names))
        for name in sorted(names - rows.keys()):
            yield file.wrong_word(f'"{name}"', f"keeps {name}: {page.path} has no row for it")
        for word in sorted(has):
            told = f"keeps {word} in {', '.join(sorted(names))}: {page.path} lacks it"
            yield file.wrong_word(f'"{word}"', told)


RULES = [includes, table_of_rooms, probe_layers, given_on, visitors, long_files, function_names]
RULES += [
    tests,
    head_comments,
    facts_sent,
    facts_read,
    facts_named,
    events,
    event_data,
    tables,
    words_of_linux,
]
