"""Rules about the documents: links, citations, records, and what they say is to be typed."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from posixpath import dirname, join, normpath

import click
import msgspec

import docs_tests
from hardstone.cli.main import hardstone
from hardstone.errors import HardstoneError
from hardstone.model import Register
from lint_tree import OF_LINT, Complaint, File, Tree, table_rows

GOLDEN_REGISTER = "tests/process/targets/golden/register.json"
TEST_ID = re.compile(r"\b[A-Z]{3}-[A-Z]-[A-Z]+\b")


@cache
def register(tree: Tree) -> Register:
    """What the probe says of its tests, as gen_docs.py keeps it."""
    return msgspec.json.decode(tree[GOLDEN_REGISTER].text, type=Register)


# ---- links and citations ----

LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
ANCHOR = re.compile(r"\]\(([^)#\s]*)#([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
PAGE = re.compile(r"(?<![\w/.-])((?:\.{0,2}/)?(?:[\w.-]+/)*[\w.-]+\.md)\b(?!\.\w)")
BARE_NAMES = ("METHOD", "SPEC", "LAYOUT", "STYLE")
BARE = re.compile(rf"\b(?:{'|'.join(BARE_NAMES)}),? \w+")
SOURCE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|c|h|toml|json|build|jsonl))`")
CITING = (".md", ".py", ".c", ".h", ".toml", ".build")


def target(file: File, link: str) -> str:
    """The path that a link of a page leads to."""
    return normpath(join(dirname(file.path), link))


def links(tree: Tree) -> Iterator[Complaint]:
    """Links lead somewhere, and the index of docs/ leads to every document."""
    reached: set[str] = set()
    for file in tree.documents:
        for found in LINK.finditer(file.text):
            if not (tree.root / target(file, found[1])).exists():
                told = f"{found[1]} is not there: correct the link"
                yield file.wrong_at(found.start(1), told)
    waiting = ["docs/README.md"]
    while waiting:
        path = waiting.pop()
        if path not in reached and path.endswith(".md") and path in tree.files:
            reached.add(path)
            waiting += [target(tree[path], link) for link in LINK.findall(tree[path].text)]
    for file in tree.below("docs", ".md"):
        if file.path not in reached:
            yield file.wrong(1, "no page links to it: link it from docs/README.md or below")


def with_readmes(tree: Tree) -> list[File]:
    readmes = [file for path, file in tree.files.items() if re.fullmatch(r"[^/]+/README.md", path)]
    return list({file.path: file for file in [*tree.documents, *readmes]}.values())


@cache
def anchors(page: File) -> set[str]:
    """Those of the headings of a page, as they are made on the web."""
    headings = HEADING.findall(page.text)
    return {docs_tests.anchor(heading) for heading in headings}


def link_anchors(tree: Tree) -> Iterator[Complaint]:
    """Anchors lead to a heading."""
    for file in with_readmes(tree):
        for found in ANCHOR.finditer(file.text):
            page, anchor = found.groups()
            there = target(file, page) if page else file.path
            if "//" not in page and (there not in tree.files or anchor not in anchors(tree[there])):
                told = f"{there} has no heading for #{anchor}: correct the link"
                yield file.wrong_at(found.start(), told)


def citations(tree: Tree) -> Iterator[Complaint]:
    """Pages that any text names are in the tree; counted from where they are cited, from the root
    or docs/, or by their names alone."""
    names = {file.name for path, file in tree.files.items() if path.endswith(".md")}
    for path, file in tree.files.items():
        if path in OF_LINT or not (path.endswith(CITING) or path == "Makefile"):
            continue
        text = file.text
        if any(name in text for name in BARE_NAMES):
            for found in BARE.finditer(text):
                told = f"cites {found[0]!r} by a bare name: name a page of the tree, or say it here"
                yield file.wrong_at(found.start(), told)
        at = text.find(".md")
        while at >= 0:  # a search in whole files would take a second
            begin, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            for found in PAGE.finditer(text, begin, end if end >= 0 else len(text)):
                cited = found[1]
                places = [join(dirname(path), cited), cited.lstrip("/"), join("docs", cited)]
                if not any(map(tree.has, places)) and ("/" in cited or cited not in names):
                    yield file.wrong_at(found.start(), f"{cited} is not in the tree: correct it")
            at = text.find(".md", end) if end >= 0 else -1


def named_sources(tree: Tree) -> Iterator[Complaint]:
    """Source files that documents name exist. Their names start at the root, at probe/src, or at
    src/hardstone."""
    for file in with_readmes(tree):
        if file.name in ("CHANGELOG.md", "CONTRIBUTING.md"):
            continue
        for found in SOURCE.finditer(file.text):
            places = [f"{start}{found[1]}" for start in ("", "probe/src/", "src/hardstone/")]
            if not any(map(tree.has, places)):
                told = f"{found[1]} is not there: correct its name"
                yield file.wrong_at(found.start(1), told)


# ---- design, decisions, glossary ----

DECISIONS = "docs/decisions"
MOST_LINES = 60
PARTS = ["## Context", "## Decision", "## Consequences"]


def decisions(tree: Tree) -> Iterator[Complaint]:
    """Decision records: one topic each, short, all of one form, numbered, and all in the index."""
    records = [file for file in tree.below(DECISIONS, ".md") if file.name[0].isdigit()]
    index = tree[f"{DECISIONS}/README.md"]
    told = []
    for number, record in enumerate(records, 1):
        lines = record.text.splitlines()
        headings = [line for line in lines if line.startswith("#")]
        if len(lines) >= MOST_LINES:
            yield record.wrong(MOST_LINES, f"{len(lines)} lines: cut it below {MOST_LINES}")
        if headings[1:] != PARTS or not headings[0].startswith(f"# {record.name[:4]}: "):
            yield record.wrong(1, f"its headings are {headings}: make them # NNNN: title, {PARTS}")
        if int(record.name[:4]) != number:
            yield record.wrong(1, f"its number is not {number}: number records without a gap")
        told.append((record.name[:4], record.name, lines[0].partition(": ")[2]))
    rows = re.findall(r"^- \[(\d+)\]\((.+)\) (.+)$", index.text, re.MULTILINE)
    for row in sorted(set(rows) ^ set(told)):
        side = "no record" if row in rows else "not in the index"
        yield index.wrong_word(row[1], f"{row[1]}, {row[2]!r}: {side}, make both the same")
    if set(rows) == set(told) and rows != told:
        yield index.wrong(1, "the records are not in order: sort them by number")


def design(tree: Tree) -> Iterator[Complaint]:
    """The page stays short and names every room of the toolkit."""
    page, package = tree["docs/design.md"], "src/hardstone/"
    lines = page.text.count("\n")
    if lines >= 200:
        yield page.wrong(200, f"{lines} lines: cut it below 200")
    table = page.text.split("\n## The toolkit\n")[1].split("\n## ")[0]
    named = set(re.findall(r"`(\w+)(?:/|\.py)`", table))
    paths = [path.removeprefix(package) for path in tree.files if path.startswith(package)]
    rooms = {path.split("/")[0] for path in paths if re.fullmatch(r"\w+/__init__\.py", path)}
    rooms |= {path[:-3] for path in paths if re.fullmatch(r"[a-z]\w*\.py", path)}
    for room in sorted(rooms - named):
        yield page.wrong_word("\n## The toolkit\n", f"{room} has no row: say what it has")


def glossary(tree: Tree) -> Iterator[Complaint]:
    """Each term once, in order, one a paragraph, and what it refers to (`see *trust*`, `without
    *contention*`) is there."""
    page = tree["docs/glossary.md"]
    terms = re.findall(r"^\*\*([^*]+)\*\*: ", page.text, re.MULTILINE)
    ordered = sorted(set(terms), key=str.casefold)
    if ordered != terms:
        pairs = zip(terms, [*ordered, ""], strict=False)
        at = next((term for term, other in pairs if term != other), terms[-1])
        yield page.wrong_word(f"**{at}**", f"{at} is out of order, or twice here: move it")
    for paragraph in page.text.strip().split("\n\n")[2:]:
        if len(re.findall(r"^\*\*[^*]+\*\*: ", paragraph, re.MULTILINE)) != 1:
            yield page.wrong_word(
                paragraph, "is no paragraph of one term: begin it with **term**: "
            )
    known = {part for term in terms for part in re.split(r", | \(.*\)", term)}
    for found in re.finditer(r"(?:[Ss]ee|[Ww]ithout) \*([^*]+)\*", page.text):
        if found[1] not in known:
            yield page.wrong_at(found.start(), f"there is no term {found[1]}: add it")


# ---- bibliography ----

BIBLIOGRAPHY = "docs/bibliography.md"
KEY = re.compile(r"(?<![\w\])])\[([A-Z])\](?![(\[])")


@cache
def read_studies(page: File) -> dict[str, str]:
    """The section of each study, in one line, by its key."""
    sections = re.split(r"^##+ ", page.text, flags=re.MULTILINE)
    keyed = [(KEY.match(one), " ".join(one.split())) for one in sections]
    return {match[1]: text for match, text in keyed if match}


def bibliography(tree: Tree) -> Iterator[Complaint]:
    """Every source that the tree cites is in the bibliography, with the tests that follow it."""
    page = tree[BIBLIOGRAPHY]
    studies = read_studies(page)
    sources: dict[str, set[str]] = {key: set() for key in studies}
    for test in register(tree).tests:
        for key in KEY.findall(test.source):
            sources.setdefault(key, set()).add(test.id)
    for key, tests in sources.items():
        if key not in studies or set(TEST_ID.findall(studies[key])) != tests:
            told = f"[{key}] is the source of {', '.join(sorted(tests)) or 'no test'}"
            yield page.wrong_word(f"[{key}]", f"{told}: name just these tests in its section")
    if docs_tests.bibliography(page.text, register(tree)) != page.text:
        yield page.wrong(1, "its lists of tests are not those of the register: make docs")
    cited: set[str] = set()
    # In the help of a command [N] is a value that may be left out.
    pages = [file for file in tree.documents if not file.folder.endswith("/commands")]
    schema = [file for file in tree.below("schema", ".md") if file.folder == "schema"]
    for file in [*pages, *schema]:
        for found in KEY.finditer(file.text):
            cited.add(found[1])
            if found[1] not in studies:
                told = f"[{found[1]}] is no study of {BIBLIOGRAPHY}: add it there"
                yield file.wrong_at(found.start(), told)
    for key in sorted(studies.keys() - cited):
        yield page.wrong_word(f"[{key}]", f"nothing cites [{key}]: remove it")
    published = json.loads(tree["src/hardstone/systems/published.json"].text)
    whole = " ".join(page.text.split())
    for study in published["studies"].values():
        for said in (study["title"], study.get("author", "")):
            if said not in whole:
                yield page.wrong(1, f"a study of published.json is missing: add {said!r}")


NO_ADDRESS = "no public copy known"


def addresses(tree: Tree) -> Iterator[Complaint]:
    """Each entry of the bibliography has an address to open, or says that none is known."""
    page = tree[BIBLIOGRAPHY]
    entries = {f"[{key}]": text for key, text in read_studies(page).items()}
    for _, cells in table_rows(page.text):
        if set(cells[0]) != {"-"} and cells[0] not in ("name", "method"):
            entries[cells[0]] = " ".join(cells)
    for name, text in entries.items():
        if "](http" not in text and NO_ADDRESS not in text.lower():
            told = f"{name[:40]!r} has no address: add one that opens, or {NO_ADDRESS!r}"
            yield page.wrong_word(name, told)


def doctor_sources(tree: Tree) -> Iterator[Complaint]:
    """Such as "Doughty et al. 1987, table 2": one of the authors of a study of that year."""
    rules = tree["src/hardstone/doctor/rules.toml"]
    studies = read_studies(tree[BIBLIOGRAPHY]).values()
    sources = list(re.finditer(r'\bsource = "(\w+)(?: et al\.)? (\d{4})\b', rules.text))
    if not sources:
        yield rules.wrong(1, "cites no study: remove doctor_sources from tools/lint_docs.py")
    for cited in sources:
        if not any(cited[1] in text and cited[2] in text for text in studies):
            told = f"cites {cited[1]} {cited[2]}, no study of {BIBLIOGRAPHY}: add it there"
            yield rules.wrong_at(cited.start(), told)


# ---- rights ----

RULE_OF_ROOT = "docs/how-to/grant-rights.md"
GENERATED = {"commands", "tests", "rules.md"}
AS_ROOT = re.compile(r'sudo (?:"\$\((.+?)\)"|(\S*hardstone\S*)) (\w+)')
CHANGES_THE_MACHINE = re.compile(r"--cpu-config \S*(?:single|shielded)|hardstone shield -- ")
# What the probe does alone, and what only the toolkit does.
BY_ROOT = {"hardstone probe path": {"shield", "run"}}
BY_ROOT["command -v hardstone"] = {"run", "doctor", "show", "report"}


def rights(tree: Tree) -> Iterator[Complaint]:
    """One rule says what needs root; pages that tell one to become root follow it and link to
    it."""
    for file in tree.documents:
        if {file.name, file.folder.rpartition("/")[2]} & GENERATED or file.name == "CHANGELOG.md":
            continue
        commands = list(AS_ROOT.finditer(file.text))
        needs = commands[0] if commands else CHANGES_THE_MACHINE.search(file.text)
        if needs and file.path != RULE_OF_ROOT and "grant-rights.md#the-rule" not in file.text:
            told = f"needs root and does not say why: link to {RULE_OF_ROOT}#the-rule"
            yield file.wrong_at(needs.start(), told)
        for found in commands:
            program, plain, command = found.groups()
            if plain:
                told = f'sudo does not find {plain}: write sudo "$(command -v hardstone)"'
                yield file.wrong_at(found.start(), told)
            elif command not in BY_ROOT.get(program, ()):
                told = f"{program} is not to run {command} as root: {RULE_OF_ROOT} has the rule"
                yield file.wrong_at(found.start(), told)


# ---- what is typed ----

# What is typed, in documents, where hardstone is not on sudo's PATH.
BY_SUDO = {
    'sudo "$(command -v hardstone)"': "hardstone",
    'sudo "$(hardstone probe path)"': "hardstone-probe",
    "build/probe/hardstone-probe": "hardstone-probe",
}
STARTS = ("hardstone ", "hardstone-probe ", "make ", *BY_SUDO)
# Commands of others in fenced blocks, with the reason why no test types them.
OTHERS = {
    "sudo apt-get install ": "installs a package",
    "sudo setcap ": "test_typed.py types it, on a file of the test's own",
    "sudo groupadd ": "changes the accounts of this machine",
    "sudo usermod ": "changes the accounts of this machine",
    "printf '@realtime ": "changes the limits of this machine",
    "modprobe uio_pci_generic": "needs a device that nobody uses; tests in guests bind one",
    "echo 0000:03:00.0 > ": "an example of a device",
    'echo "8086 10d3" > ': "an example of a device",
    "echo 1 > /proc/irq/": "an example of an interrupt",
    "ls /sys/class/uio/": "there is one where a device is bound",
    "sudo ln -s /usr/share/hardstone/systemd/": "links a unit; systemd-analyze reads it in a test",
    "sudo systemctl enable --now hardstone-soak.timer": "needs systemd as process 1",
    "export NUTTX_DIR=": "needs NuttX's sources",
    "meson setup ": "the set-up of every test run types it",
    "python tools/nuttx.py ": "needs checkouts of NuttX; test_nuttx_port.py tries its parts",
    ".venv/bin/python -m pip wheel ": "tests/process/test_packaging.py builds a wheel",
    ".venv/bin/python -m hatchling build ": "make release does the same",
    "sh tools/debian.sh ": "tools/fresh_install.sh types it",
    "podman build ": "needs an image; tools/containerfile.py tries its commands",
    "mkdir -p ~/.local/bin": "changes the home folder",
    ". .venv/bin/activate": "test_typed.py types it",
    **dict.fromkeys(
        ("prlimit ", "unshare ", "sh -c ", "python tests/refusing.py ", "wait", "(sleep "),
        "tests/situations.py types it",
    ),
    **dict.fromkeys(
        tuple(f"echo {number} > $" for number in ("0", "1", "10000", "20000")),
        "tests/situations.py types it",
    ),
    **dict.fromkeys(
        ("docker run ", "podman run ", "systemd-run ", "systemctl show "),
        "needs an image or systemd; containers-and-groups.md says by what it was tried",
    ),
    "ls -l /dev/serial/by-id": "there is one where an adapter is plugged in",
    "labgrid-client ": "needs a lab; test_console_port.py tries what the toolkit calls",
    "echo 950000 | sudo tee ": "changes a control group of this machine",
    "printf '%s - rtprio ": "changes the limits of this machine",
    "sudo mount ": "changes the mounts of this machine",
    **dict.fromkeys(
        ("ssh-keygen ", "ssh-copy-id ", "ssh root@", "sudo install -d ", "sudo visudo "),
        "sets up a login; tests/host/ssh does it for servers of its own",
    ),
}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`]+)`")
SHOWN = re.compile(r"(?:^(?:\$ )?|`)hardstone ([a-z]+)", re.MULTILINE)


def fenced(text: str) -> Iterator[str]:
    """Commands of the fenced blocks; of those that show output the lines with a prompt."""
    for kind, block in FENCE.findall(text):
        lines = re.sub(r"(\\|\|)\n\s*", lambda at: at[1].strip("\\") + " ", block).splitlines()
        for line in lines:
            if kind not in ("text", "yaml", "toml", "c", "sql") or line.startswith("$ "):
                yield re.split(r"\s{3,}", line.removeprefix("$ "))[0].strip()


def inline(text: str) -> Iterator[str]:
    for found in INLINE.findall(FENCE.sub("", text)):
        command = " ".join(found.split())
        if command.startswith(STARTS):
            yield command


def commands_of(file: File) -> Iterator[tuple[str, bool]]:
    """Commands of a page that must work as typed, and whether they are only mentioned."""
    for command in fenced(file.text):
        if command.startswith((*STARTS, *OTHERS)) or file.path.startswith("docs/how-to/"):
            yield command, False
    yield from ((command, True) for command in inline(file.text))


def as_words(command: str) -> list[str]:
    for typed, name in BY_SUDO.items():
        if command.startswith(typed):
            command = command.replace(typed, name, 1)
    return shlex.split(command)


def refused(words: list[str], *, is_mention: bool) -> str:
    """Why hardstone does not understand a whole line, "" where it does. A line that is only
    mentioned may end before its arguments."""
    command: click.Command = hardstone
    context = click.Context(hardstone)
    while isinstance(command, click.Group) and words:
        name, *words = words
        found = command.get_command(context, name)
        if found is None:
            return f"there is no command {name}"
        command = found
    try:
        command.make_context("hardstone", list(words), parent=context)
    except click.MissingParameter as error:
        return "" if is_mention and not words else error.format_message()
    except click.exceptions.NoArgsIsHelpError:
        return "" if is_mention else "it only prints its help"
    except (click.UsageError, HardstoneError) as error:
        return str(error)
    return ""


def typed(tree: Tree) -> Iterator[Complaint]:
    """Commands of the documents are understood. Those of the probe are tried by a test that has
    one: tests/unit/test_typed.py."""
    targets = re.findall(r"^([a-z-]+):", tree["Makefile"].text, re.MULTILINE)
    for file in tree.documents:
        for command, is_mention in commands_of(file):
            program, *words = as_words(command)
            reason = ""
            if program == "hardstone":
                reason = refused(words, is_mention=is_mention)
            elif program == "make" and words[0] not in targets and words[0][0] != "-":
                reason = f"the Makefile has no {words[0]}"
            elif program not in ("hardstone-probe", "make") and not command.startswith(
                tuple(OTHERS)
            ):
                reason = "nobody tries it: name it with the reason in OTHERS of tools/lint_docs.py"
            if reason:
                yield file.wrong_word(begin_of(command, file), f"{command}: {reason}, correct it")


def begin_of(command: str, file: File) -> str:
    """What of a command stands in one line of the page."""
    return next(
        part for n in range(len(command)) if (part := command[: len(command) - n]) in file.text
    )


def commands(tree: Tree) -> Iterator[Complaint]:
    """Every command has its page, and one that a document shows exists."""
    names = hardstone.list_commands(click.Context(hardstone))
    for name in names:
        if f"docs/reference/commands/{name}.md" not in tree.files:
            page = "docs/reference/commands/README.md"
            yield Complaint(page, 1, f"hardstone {name} has no page: make docs")
    for file in tree.documents:
        code = [found[0] for found in FENCE.finditer(file.text)]
        code += re.findall(r"`hardstone [^`]+`", file.text)
        for name in sorted(set(SHOWN.findall("\n".join(code))) - set(names)):
            told = f"there is no command hardstone {name}: correct it"
            yield file.wrong_word(f"hardstone {name}", told)


# ---- other tools ----

OTHER_TOOLS = "docs/how-to/coming-from-other-tools.md"
OPTIONS_OF_TOOLS = "tests/options_of_other_tools.toml"
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def options_here() -> set[str]:
    """Every option of the command line."""
    context = click.Context(hardstone)
    found = [hardstone.get_command(context, name) for name in hardstone.list_commands(context)]
    params = [param for command in [hardstone, *filter(None, found)] for param in command.params]
    return {name for param in params for name in param.opts} | {"-h", "--help", "--version"}


def other_tools(tree: Tree) -> Iterator[Complaint]:
    """The page for users of other tools has all their options, and only ones that exist here."""
    page, here = tree[OTHER_TOOLS], options_here()
    params = {param.name for test in register(tree).tests for param in test.params}
    for tool, entry in tomllib.loads(tree[OPTIONS_OF_TOOLS].text).items():
        section = page.text.partition(f"\n## {tool}\n")[2].split("\n## ")[0]
        rows = [cells for _, cells in table_rows(section) if cells[0].startswith("`-")]
        told = [option for row in rows for option in OPTION.findall(row[0])]
        for option in sorted(set(told) ^ set(entry["options"].split())):
            side = "no row" if option not in told else f"a row and is not in {OPTIONS_OF_TOOLS}"
            yield page.wrong_word(
                f"\n## {tool}\n", f"{option} of {tool} has {side}: make both agree"
            )
        for option in sorted({one for one in told if told.count(one) > 1}):
            yield page.wrong_word(f"\n## {tool}\n", f"{option} of {tool} has two rows: keep one")
        code = [one.split("stress-ng:")[0] for row in rows for one in INLINE.findall(row[1])]
        used = {option for one in code for option in OPTION.findall(one)} - here
        used |= {name for one in code for name in re.findall(r"-p (\w+)=", one)} - params
        for name in sorted(used):
            yield page.wrong_word(name, f"hardstone has no {name}: correct it")


def changes(tree: Tree) -> Iterator[Complaint]:
    """The changes name every test."""
    page = tree["CHANGELOG.md"]
    for test in sorted(set(TEST_ID.findall(page.text)) ^ {one.id for one in register(tree).tests}):
        yield page.wrong_word(test, f"{test} is only here or only in the register: make docs")


RULES = [links, link_anchors, citations, named_sources, decisions, design, glossary, bibliography]
RULES += [addresses, doctor_sources, rights, typed, commands, other_tools, changes]
