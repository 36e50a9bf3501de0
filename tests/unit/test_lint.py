"""Each rule of tools/lint.py complains of what breaks it, and of nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import lint
import lint_c
import lint_data
import lint_docs
import lint_python
from hardstone.cli.main import COMMANDS
from lint_tree import Tree
from tests.conftest import ROOT

Files = dict[str, str]


def written(folder: Path, files: Files) -> Tree:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return Tree(folder, files)


def said(rule: str, folder: Path, files: Files) -> list[str]:
    return [str(one) for one in lint.RULES[rule](written(folder, files))]


@dataclass(frozen=True)
class Case:
    """Files that keep a rule, files that replace or follow them and break it, and the one
    complaint, from its start."""

    rule: str
    good: Files
    bad: Files
    complaint: str


TOOLKIT = "src/hardstone/"
MODULES = {
    f"{TOOLKIT}cli/main.py": 'COMMANDS = {"show": "show"}\n',
    f"{TOOLKIT}cli/show.py": "",
    f"{TOOLKIT}cli/__init__.py": "",
    f"{TOOLKIT}report/__init__.py": "",
    f"{TOOLKIT}report/show.py": "",
    f"{TOOLKIT}report/body.py": "",
    f"{TOOLKIT}kernel/tables.py": "",
    f"{TOOLKIT}posix/tables.py": "",
}
DESIGN = """
| room | what | doors | may include |
| --- | --- | --- | --- |
| `main.c` | the start | none | `base/` |
| `base/` | clocks | every header | `port/port.h` |
| `realtime/` | bursts | `burst.h` | `base/` |
| `run/` | a test | `run.h` `stream.h` | `base/` |
| `load/` | load | `load.h` | `base/` |
| `shield/` | CPUs | `shield.h` | `base/` |
| `command/` | arguments | every header | `run/` |
| `family/FAMILY/` | tests | none | `realtime/` `run/run.h` `family/shared/` `port/port.h` |
| `family/shared/` | pieces | every header | `realtime/` |
| `family/register.c` | tests | none | `run/run.h` |
| `port/` | systems | `port.h` | none |
| `port/SYSTEM/` | one | none | `port/` |

Words.
"""
LAT, JIT = "probe/src/family/timer/tmr_p_lat.c", "probe/src/family/timer/tmr_p_jit.c"
REGISTER_OF_PROBE = "probe/src/family/register.c"
PROBE = {
    "docs/design.md": DESIGN,
    "docs/reference/tests/README.md": "",
    "docs/reference/tests/tmr-p-lat.md": "",
    "docs/reference/tests/tmr-p-jit.md": "",
    "probe/src/main.c": '#include "base/clock.h"\n',
    "probe/src/base/clock.h": "",
    "probe/src/base/clock.c": '#include "base/clock.h"\n',
    "probe/src/realtime/burst.h": "",
    "probe/src/realtime/run_delay.h": "",
    "probe/src/run/run.h": '#include "base/clock.h"\n',
    "probe/src/run/stream.h": "",
    "probe/src/load/load.h": "",
    "probe/src/shield/shield.h": "",
    "probe/src/command/args.h": "",
    "probe/src/port/port.h": "",
    "probe/src/port/linux/files.h": '#include "port/port.h"\n',
    REGISTER_OF_PROBE: "TEST(tmr_p_lat)\nTEST(tmr_p_jit)\n",
    "probe/src/family/shared/peer.h": "",
    "probe/src/family/mutex/lock_kind.h": "",
    "probe/src/family/timer/mechanism.h": ('#include "realtime/burst.h"\n#include "port/port.h"\n'),
    LAT: '#include "family/timer/mechanism.h"\n#include "run/run.h"\n'
    '#include "family/shared/peer.h"\n/* as tmr_p_jit */\n'
    'const struct test tmr_p_lat = {\n    .id = "TMR-P-LAT",\n};\n',
    JIT: 'const struct test tmr_p_jit = {\n    .id = "TMR-P-JIT",\n};\n',
}


HEAD = "/* TMR-P-LAT: sleeps.\n *\n * What: a\n * Begin, end: b\n * Threads: c\n"
HEAD += " * Wrong if: d\n * x\n */\n"
FACTS = {
    "src/hardstone/facts.toml": '"cpu.smt" = { type = "bool", sender = "linux" }\n'
    '"cpu.count" = { type = "integer", sender = "probe" }\n'
    '"cpu.fit" = { type = "bool", sender = "doctor" }\n',
    "src/hardstone/doctor/rules.toml": 'found = { fact = "cpu.smt" }\n',
    "probe/src/command/facts.c": 'sink->number(sink->context, "cpu.count", 1);\n',
    "probe/src/port/linux/cpus.c": 'sink->truth(sink->context, "cpu.smt", true);\n',
}
SMT = "probe/src/port/linux/cpus.c"
SENDER_OF_SOURCES = "probe/src/port/linux/sources.c"
SOURCES_TABLE = '{WHOLE, "/proc/version"},\n'
SOURCES_KEPT = 'options[] = {"CONFIG_HZ"};\n'
SOURCES = {
    "src/hardstone/facts.toml": '"kernel.version" = { sender = "toolkit", '
    'sources = ["/proc/version"] }\n',
    "src/hardstone/raw_facts.py": 'OPTIONS = ("CONFIG_HZ",)\nyield "kernel.version", 1\n',
    "src/hardstone/virtual.py": "",
    SENDER_OF_SOURCES: SOURCES_TABLE + SOURCES_KEPT,
}
EVENT = "probe/src/run/stream.c"
EVENTS = {
    "schema/EVENTS.md": "| event | data |\n| --- | --- |\n| `late` | `late_ns` (by) |\n"
    "| `gone`, `denied` | none |\n",
    EVENT: 'arena_event(arena, "late", -1, DATA(data_integer("late_ns", 1)), "%d ns late", ns);\n'
    '/* tell("x", DATA(y)) */\n'
    'tell(run, is ? "gone" : "denied", NO_DATA, "it is so");\n',
}
TABLES = {
    "schema/TABLES.md": "| table | test | data | columns |\n| --- | --- | --- | --- |\n"
    "| `frame` | A | `step_ns` | `x_um`, `y_um` |\n"
    "| `blocks` | A | `thread`, `solver` | `step` |\n",
    "probe/src/run/frame.c": 'static const char *const columns[] = {"x_um", "y_um", NULL};\n'
    'row_table_add(arena, "frame", DATA(data_integer("step_ns", 1)), columns, 2);\n'
    'arena_event(arena, "told", -1, DATA(data_integer("frame_count", 1)), "one");\n',
    "probe/src/run/blocks.c": 'static const char *const their_columns[] = {"step", NULL};\n'
    "const struct datum *data =\n"
    '    DATA(data_integer("thread", i), data_text("solver", solver));\n'
    'int table = row_table_add(arena, "blocks", data, their_columns, (uint32_t)steps);\n',
}
DOCS = {
    "README.md": "# Start\n",
    "docs/README.md": "# Index\n[one](one.md) [up](../README.md#start)\n",
    "docs/one.md": "# One\n## A part, too\n[itself](#a-part-too) [other](https://x.org/y#z)\n",
}
RECORD = "# 0001: First\n## Context\n## Decision\n## Consequences\n"
INDEX = "- [0001](0001-first.md) First\n- [0002](0002-next.md) Next\n"
RECORDS = {
    "docs/decisions/README.md": INDEX,
    "docs/decisions/0001-first.md": RECORD,
    "docs/decisions/0002-next.md": RECORD.replace("0001: First", "0002: Next"),
}
DESIGN_OF_TOOLKIT = {
    "docs/design.md": "\n## The toolkit\n| `gate/` | limits |\n| `units.py` | units |\n\n## Next\n",
    "src/hardstone/__init__.py": "",
    "src/hardstone/__main__.py": "",
    "src/hardstone/gate/__init__.py": "",
    "src/hardstone/units.py": "",
}
GLOSSARY = "# Glossary\n\nTerms.\n\n**burst**: see *run*.\n\n**run**: one,\nwithout *burst*.\n"
SMALL = json.loads((ROOT / lint_docs.GOLDEN_REGISTER).read_text())
SMALL["tests"] = [one for one in SMALL["tests"] if one["id"] in ("MUT-B-INV", "TMR-P-LAT")]
FIRST, SECOND = (one["id"] for one in SMALL["tests"])
for one in SMALL["tests"]:
    one["source"] = "[O] figure 1" if one["id"] == FIRST else "ours"
RULES_OF_DOCTOR = f"{TOOLKIT}doctor/rules.toml"
PUBLISHED = f"{TOOLKIT}systems/published.json"
STUDIES = {
    lint_docs.GOLDEN_REGISTER: json.dumps(SMALL),
    "docs/bibliography.md": "# Studies\n\n### [O] A study of Doe, 1987\n\n- **Tests**: "
    f"{FIRST}.\n- **Also here**: more.\n\n## Rest\n",
    "docs/one.md": "As in [O], not [O](x) or a[O].\n",
    "docs/reference/commands/run.md": "run [N]\n",
    PUBLISHED: json.dumps({"studies": {"one": {"title": "A study", "author": "Doe"}}}),
    RULES_OF_DOCTOR: 'brings = { source = "Doe et al. 1987, table 2" }\n',
}
ADDRESSES = {
    "docs/bibliography.md": "# Studies\n\n### [O] A study\n\nDoe: [it](https://x.org/y).\n"
    "\n## Methods\n"
    "| method | where |\n| --- | --- |\n| Doe 1934 | No public copy known |\n"
}
TO_TYPE = {
    "Makefile": "check:\n",
    "docs/how-to/one.md": "```sh\nhardstone list --json   # all\n```\n`make check`\n"
    "`hardstone run`, `hardstone show last`\n",
}
PAGES_OF_COMMANDS = {f"docs/reference/commands/{name}.md": "" for name in COMMANDS}
OTHER_TOOLS = {
    lint_docs.GOLDEN_REGISTER: json.dumps(SMALL),
    lint_docs.OPTIONS_OF_TOOLS: '["cyclictest"]\noptions = "-D -t"\n',
    lint_docs.OTHER_TOOLS: "\n## cyclictest\n| `-D` | `--duration` |\n| `-t` | `-p NAME=1` |\n",
}
PARAM = next(param["name"] for test in SMALL["tests"] for param in test["params"])
TOOLS_PAGE = OTHER_TOOLS[lint_docs.OTHER_TOOLS].replace("NAME", PARAM)
OTHER_TOOLS[lint_docs.OTHER_TOOLS] = TOOLS_PAGE
LOCK = "click==8.1 \\\n    --hash=sha256:00\n"
PINS = {
    "requirements/run.txt": LOCK,
    "requirements/dev.txt": f"{LOCK}ruff==1 \\\n    --hash=sha256:01\n",
    "pyproject.toml": '[build-system]\nrequires = ["click==8.1"]\n',
}
MAKEFILE = (
    '.PHONY: help check test-host\nhelp:\n\t@echo "make check   all"\n'
    '\t@echo "make test-host  it"\ncheck:\ntest-host:\n'
)
MAKE = {
    "Makefile": MAKEFILE,
    "README.md": "Type `make check`, or:\n\n    make test-host\n",
    ".ci/run": "make check\n",
}
VERSIONED = {
    f"{TOOLKIT}__init__.py": '__version__ = "0.1.0"\n',
    "CHANGELOG.md": "## 0.1.0 - 2026-12-01\n",
    "share/man/man1/one.1": '.TH ONE 1 "" "hardstone 0.1.0" ""\n',
}
RULE_OF_ROOT = "docs/how-to/grant-rights.md"
RIGHTS = {
    "docs/one.md": 'sudo "$(hardstone probe path)" run, hardstone shield -- x\n'
    "[why](how-to/grant-rights.md#the-rule)\n",
    RULE_OF_ROOT: 'sudo "$(command -v hardstone)" doctor\n',
    "docs/reference/rules.md": "sudo hardstone run\n",
}


KNOWN = json.loads((ROOT / lint_docs.GOLDEN_REGISTER).read_text())
SOME = ("TMR-P-LAT", "SEM-P-SIG", "MUT-B-INV", "SIM-S-RT", "SIM-P-RF")
KNOWN["tests"] = [one for one in KNOWN["tests"] if one["id"] in SOME]
CATALOGUE = (ROOT / lint_data.CATALOGUE).read_text()
SECTIONS = re.split(r"^(?=\[(?!\w+-\w+-\w+\.))", CATALOGUE, flags=re.MULTILINE)
OF_SOME = [one for one in SECTIONS if one.startswith(tuple(f"[{test}]" for test in SOME))]
FIRST_ROW = CATALOGUE[CATALOGUE.index("[[first_screen]]") :].partition("\n\n")[0]
SECOND_ROW = """
[[first_screen]]
name = "signal"
test = "SEM-P-SIG"
figures = [{ series = "signal_wait" }]
reference = "rating"
reference_name = "3 stars"
why = "What a hand-over costs."
"""
DATA = {
    lint_data.CATALOGUE: f"{FIRST_ROW}\n\n{''.join(OF_SOME)}{SECOND_ROW}",
    lint_docs.GOLDEN_REGISTER: json.dumps(KNOWN),
}
TO_NUTTX = {
    f"{lint_data.NUTTX}/Kconfig": "config HARDSTONE_PROGNAME\nconfig HARDSTONE_PRIORITY\n"
    "config HARDSTONE_STACKSIZE\n",
    f"{lint_data.NUTTX}/options.h": "CONFIG_HARDSTONE_PRIORITY\n#define HS_HAS_FORK 0\n",
    f"{lint_data.NUTTX}/Makefile": "$(CONFIG_HARDSTONE_PROGNAME)\n",
    f"{lint_data.NUTTX}/job.c": "CONFIG_HARDSTONE_STACKSIZE /* ulimit */\n",
    f"{lint_data.NUTTX}/CMakeLists.txt": "CONFIG_HARDSTONE_PROGNAME CONFIG_HARDSTONE_PRIORITY\n"
    "CONFIG_HARDSTONE_STACKSIZE\n",
    f"{lint_data.NUTTX}/config/common.config": "",
    f"{lint_data.BASE}/options.h": "#ifndef HS_HAS_FORK\n#ifndef HS_HAS_PSELECT\n",
    f"{lint_data.BASE}/posix_source.h": "",
    **{f"probe/src/{name}": "" for name in lint_data.COMPILED},
}
GOOD: dict[str, Files] = {
    **dict.fromkeys(("catalogue", "first-screen", "register-of-tests"), DATA),
    "fact-names": {
        lint_data.FACTS: '"cpu.count" = { type = "integer", unit = "count", meaning = "CPUs" }\n'
        '"os.up_ns" = { type = "integer", unit = "ns", meaning = "since the boot" }\n'
    },
    "nuttx-options": TO_NUTTX,
    "libraries": {
        f"{TOOLKIT}cli/a.py": "import click\nfrom rich.text import Text\n",
        f"{TOOLKIT}report/a.py": "import jinja2, markupsafe, vl_convert, pypdf, numpy\n",
        f"{TOOLKIT}exporters/a.py": "import hdrh, perfetto, pyarrow\n",
        f"{TOOLKIT}stats/a.py": "import scipy\n",
        f"{TOOLKIT}targets/a.py": "import serial\n",
    },
    "campaign": {f"{TOOLKIT}cli/a.py": "from hardstone.campaign import x\n"},
    "unsafe": {f"{TOOLKIT}a.py": "import json\nrun(['a'], check=True)\nobj.eval('1')\n"},
    "scipy": {f"{TOOLKIT}a.py": "def f():\n    from scipy import special\n"},
    "module-names": MODULES,
    "public-door": {
        "tests/a.py": "self._process.kill()\nmonkeypatch.setattr(os, 'fsync', noted)\n"
        "from hardstone.store import Store\nstore = Store(path)\n"
        "store.path.chmod(0o500)\nos._exit(0)\n"
    },
    **dict.fromkeys(("includes", "table-of-rooms", "probe-layers", "given-on", "tests"), PROBE),
    "visitors": {
        "docs/design.md": DESIGN,
        "probe/src/run/run.h": "",
        "probe/src/run/run.c": '#include "run/run.h"\n',
        "probe/src/run/stream.c": '#include "run/run.h"\n#include "run/tried.h"\n',
        "probe/src/run/tried.h": "",
        "probe/tests/test_tried.c": '#include "run/tried.h"\n',
        "probe/src/port/board/options.h": "",
        "probe/src/port/board/Makefile": "CFLAGS += -include $(ROOT)/port/board/options.h\n",
        "probe/src/base/clock.h": "",
        "probe/src/run/text.c": '#include "base/clock.h"\n#include "run/run.h"\n',
    },
    "long-files": {"probe/src/run/run.c": "\n" * lint_c.LONGEST},
    "head-comments": {LAT: HEAD + PROBE[LAT]},
    "function-names": {
        "probe/src/a.h": "const char *name(void);\nstatic inline int timer_at(void)\n"
    },
    "words-of-linux": {
        "probe/src/port/linux/a.c": 'open("/proc/stat");\n',
        "probe/src/port/device.h": '#define PATH "/dev/uio"\n',
        "probe/src/run/a.c": '/* "/proc/x" */\nopen("/dev/null");\n',
    },
    "facts-sent": FACTS,
    "facts-read": SOURCES,
    "facts-named": FACTS,
    "events": EVENTS,
    "event-data": EVENTS,
    "tables": TABLES,
    "links": DOCS,
    "link-anchors": DOCS,
    "citations": {**DOCS, "src/a.py": "# docs/one.md, one.md, ../docs/one.md and a.md.html\n"},
    "named-sources": {
        "docs/one.md": "`run/run.c`, `gate/limits.py`, `src/hardstone/gate/limits.py`\n",
        "probe/src/run/run.c": "",
        f"{TOOLKIT}gate/limits.py": "",
    },
    "decisions": RECORDS,
    "design": DESIGN_OF_TOOLKIT,
    "glossary": {"docs/glossary.md": GLOSSARY},
    "bibliography": STUDIES,
    "addresses": ADDRESSES,
    "doctor-sources": STUDIES,
    "rights": RIGHTS,
    "typed": TO_TYPE,
    "commands": PAGES_OF_COMMANDS,
    "other-tools": OTHER_TOOLS,
    "changes": {
        lint_docs.GOLDEN_REGISTER: json.dumps(SMALL),
        "CHANGELOG.md": "TMR-P-LAT, MUT-B-INV\n",
    },
    "private": {"a.md": "/home/me/x, /homer, token = 1\n"},
    "pins": PINS,
    "make-targets": MAKE,
    "version": VERSIONED,
    "build-options": {
        "probe/meson_options.txt": "option('a', type)\n",
        "probe/meson.build": "get_option('a')\n",
    },
    "plain-words": {
        f"{TOOLKIT}good.py": '"""A name that is there."""\n# anew\nA = "it continues"\n',
        "probe/src/good.c": '/* told, that is there */\n"the probe " /* anew */ "continues"',
        "docs/decisions/1.md": "it is no time",
        "docs/a.md": "```text\nmeasure anew\n```\nthere is no time\n",
    },
}


def edited(before: str, edit: str) -> str:
    """A file after an edit as lint.txt has them."""
    kind, told, times = edit[0], edit[2:].encode().decode("unicode_escape"), 1
    if found := re.search(r" x(\d+)$", told):
        told, times = told[: found.start()], int(found[1])
    if kind == "=":
        return told
    old, _, new = told.rpartition(" => ")
    assert old in before and (kind == "~") == bool(old), edit
    return before.replace(old, new * times, 1) if old else before + new * times


def tabled() -> Iterator[Case]:
    rule = path = ""
    bad: dict[str, str] = {}
    for line in (Path(__file__).parent / "lint.txt").read_text().splitlines():
        if line.startswith("=="):
            _, rule, path = line.split()
        elif line.startswith("&"):
            _, other, edit = line.split(" ", 2)
            bad[other] = edited(GOOD[rule].get(other, ""), edit)
        elif not line.startswith("#"):
            edit, _, complaint = line.rpartition(" -> ")
            bad[path] = edited((GOOD[rule] | bad).get(path, ""), edit)
            place = "" if re.match(r"\S+:\d+: ", complaint) else f"{path}:"
            yield Case(rule, GOOD[rule], bad, f"{place}{complaint}")
            bad = {}


CASES = list(tabled())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule} {case.complaint}")
def test_a_rule_complains_of_what_breaks_it_and_of_nothing_else(case: Case, tmp_path: Path) -> None:
    assert said(case.rule, tmp_path / "good", case.good) == []
    found = said(case.rule, tmp_path / "bad", {**case.good, **case.bad})
    assert len(found) == 1, found
    assert found[0].startswith(case.complaint), found


ROOMS = {"a": {"b"}, "b": set[str]()}
OF_ROOMS = {f"{TOOLKIT}a.py": "from hardstone.b import c\n", f"{TOOLKIT}b/__init__.py": ""}


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        ({f"{TOOLKIT}b/x.py": "\nimport hardstone.a\n"}, f"{TOOLKIT}b/x.py:2: b may not import a"),
        ({f"{TOOLKIT}b/x.py": "from hardstone import a\n"}, f"{TOOLKIT}b/x.py:1: b may not import"),
        ({f"{TOOLKIT}b/x.py": "from . import y\n"}, f"{TOOLKIT}b/x.py:1: imports relatively"),
        ({f"{TOOLKIT}new.py": ""}, f"{TOOLKIT}new.py:1: new is no room of ALLOWED"),
    ],
)
def test_a_room_imports_only_what_it_may(bad: Files, complaint: str, tmp_path: Path) -> None:
    good = written(tmp_path / "good", OF_ROOMS)
    assert list(lint_python.rooms(good, ROOMS)) == []
    (gone,) = lint_python.rooms(good, {**ROOMS, "gone": set()})
    assert "ALLOWED has gone" in gone.text
    (found,) = lint_python.rooms(written(tmp_path / "bad", {**OF_ROOMS, **bad}), ROOMS)
    assert str(found).startswith(complaint)


# Of the features kernel and comparison, by what their modules do.
PARTS = {"stats": set[str](), "kernel": {"stats"}, "targets": set[str]()}
PARTS |= {"comparison": {"kernel"}, "terminal": {"kernel", "comparison"}, "report": {"kernel"}}
OF_FEATURES = {
    f"{TOOLKIT}stats/a.py": "",
    f"{TOOLKIT}targets/a.py": "",
    f"{TOOLKIT}terminal/a.py": "from hardstone.kernel.screen import show\n",
    f"{TOOLKIT}report/a.py": "from hardstone.kernel import page\n",
    f"{TOOLKIT}kernel/analysis.py": "from hardstone.stats.a import x\nimport numpy\n",
    f"{TOOLKIT}kernel/tables.py": "from hardstone.kernel.analysis import x\n",
    f"{TOOLKIT}kernel/screen.py": "from hardstone.terminal.a import y\nimport rich\n",
    f"{TOOLKIT}kernel/page.py": "from hardstone.report import a\nimport jinja2\n",
    f"{TOOLKIT}comparison/tables.py": "from hardstone.kernel.tables import x\n",
}


@pytest.mark.parametrize(
    ("name", "line", "complaint"),
    [
        ("kernel/analysis", "from hardstone.kernel.tables import x", "stats may not import kernel"),
        ("kernel/analysis", "import rich", "imports rich"),
        ("kernel/tables", "from hardstone.targets import a", "kernel may not import targets"),
        (
            "kernel/tables",
            "from hardstone.kernel.screen import x",
            "kernel may not import terminal",
        ),
        ("kernel/tables", "from hardstone.kernel import page", "kernel may not import report"),
        (
            "kernel/tables",
            "from hardstone.comparison.tables import x",
            "kernel may not import comparison",
        ),
        ("kernel/tables", "import numpy", "imports numpy"),
        ("kernel/screen", "import numpy", "imports numpy"),
        ("kernel/screen", "from hardstone.targets.a import x", "terminal may not import targets"),
        ("kernel/page", "import scipy", "imports scipy"),
    ],
)
def test_a_part_of_a_feature_obeys_the_rules_of_what_it_does(
    name: str, line: str, complaint: str, tmp_path: Path
) -> None:
    def judged(folder: Path, files: Files) -> list[str]:
        tree = written(folder, files)
        found = [*lint_python.rooms(tree, PARTS), *lint_python.libraries(tree)]
        return [str(one) for one in found if one.path.startswith(TOOLKIT)]

    assert judged(tmp_path / "good", OF_FEATURES) == []
    path = f"{TOOLKIT}{name}.py"
    (found,) = judged(tmp_path / "bad", {**OF_FEATURES, path: f"{OF_FEATURES[path]}{line}\n"})
    assert complaint in found


@pytest.mark.parametrize(
    ("allowed", "complaint"),
    [
        ({"a": {"b"}, "b": {"a"}}, "ALLOWED has a circle"),
        ({"a": {"cli"}, "cli": set()}, "ALLOWED lets a reach cli"),
        ({"a": {"b"}}, "ALLOWED lets rooms import b, which is none"),
    ],
)
def test_the_table_of_rooms_is_judged_too(
    allowed: dict[str, set[str]], complaint: str, tmp_path: Path
) -> None:
    (found,) = lint_python.layers(Tree(tmp_path, []), allowed)
    assert found.text.startswith(complaint)


def test_what_is_listed_must_be_there(tmp_path: Path) -> None:
    """A table of a rule that no longer fits would let anything pass."""
    unused = said("libraries", tmp_path, {f"{TOOLKIT}cli/a.py": "import click, rich\n"})
    assert len(unused) == len(lint_python.LIBRARIES) - 2
    (lost,) = said("module-names", tmp_path / "b", {f"{TOOLKIT}cli/main.py": "WORDS = {}\n"})
    assert "COMMANDS is not found" in lost
    (blind,) = said("facts-named", tmp_path / "d", {f"{TOOLKIT}facts.toml": "'a.b' = 1\n"})
    assert "sees no fact" in blind
    (none,) = said("doctor-sources", tmp_path / "e", {**STUDIES, RULES_OF_DOCTOR: ""})
    assert "cites no study" in none
    pages = said("commands", tmp_path / "c", {"README.md": ""})
    assert len(pages) == len(PAGES_OF_COMMANDS)


def test_every_rule_is_tried() -> None:
    assert {case.rule for case in CASES} | {"rooms", "layers"} == set(lint.RULES)


def test_the_command_prints_each_complaint_and_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "a.md": "/home/anna\n/home/bert\nssh://root@board\n",
        ".gitignore": "b.md\n",
        "b.md": "/root",
    }
    written(tmp_path, files)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    monkeypatch.setattr(lint, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["lint.py", "--only", "private"])
    assert lint.main() == 1
    *found, last = capsys.readouterr().out.splitlines()
    assert [line.split(":")[:2] for line in found] == [["a.md", "1"], ["a.md", "2"]]
    assert last == "lint: 2 files, 1 rules, 2 complaints"
    (tmp_path / "a.md").write_text("")
    assert lint.main() == 0
