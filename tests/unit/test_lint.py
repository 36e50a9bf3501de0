"""Each rule of tools/lint.py complains of what breaks it, and of nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import lint
import lint_c
import lint_docs
import lint_python
from hardstone.cli.main import COMMANDS
from lint_tree import Tree
from tests.conftest import ROOT

Files = Mapping[str, str]


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


def including(path: str, included: str, complaint: str) -> Case:
    path = f"probe/src/{path}"
    text = f'{PROBE.get(path, "")}#  include "{included}"\n'
    return Case("includes", PROBE, {path: text}, f"{path}:{text.count(chr(10))}: {complaint}")


OF_LAT = "family/timer/tmr_p_lat.c"
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


def broken(rule: str, good: Files, path: str, *found: tuple[str, str]) -> list[Case]:
    """Cases of one file: its text, and what follows its name in the complaint."""
    return [Case(rule, good, {path: text}, f"{path}:{complaint}") for text, complaint in found]


def changed(rule: str, good: Files, path: str, *found: tuple[str, str, str]) -> list[Case]:
    """Cases of one file of which a piece is replaced."""
    assert all(old in good[path] for old, _, _ in found)
    texts = [(good[path].replace(old, new, 1), complaint) for old, new, complaint in found]
    return broken(rule, good, path, *texts)


def misnamed(path: str, symbol: str, test_id: str, told: str = "is the symbol ") -> Case:
    """A test in a file of its own, registered and with its page."""
    text = f'const struct test {symbol} = {{\n    .id = "{test_id}",\n}};\n'
    bad = {
        f"probe/src/family/{path}": text,
        REGISTER_OF_PROBE: f"{PROBE[REGISTER_OF_PROBE]}TEST({symbol})\n",
        f"docs/reference/tests/{test_id.lower()}.md": "",
    }
    return Case("tests", PROBE, bad, f"probe/src/family/{path}:1: {test_id} {told}")


OF_PYTHON = [
    *broken(
        "libraries",
        {
            f"{TOOLKIT}cli/a.py": "import click\nfrom rich.text import Text\n",
            f"{TOOLKIT}report/a.py": "import jinja2, markupsafe, vl_convert, pypdf, numpy\n",
            f"{TOOLKIT}exporters/a.py": "import hdrh, perfetto, pyarrow\n",
            f"{TOOLKIT}stats/a.py": "import scipy\n",
            f"{TOOLKIT}targets/a.py": "import serial\n",
        },
        f"{TOOLKIT}units.py",
        ("import json\nimport rich\n", "2: imports rich: only cli, terminal may"),
    ),
    *broken(
        "campaign",
        {f"{TOOLKIT}cli/a.py": "from hardstone.campaign import x\n"},
        f"{TOOLKIT}report/a.py",
        ("\nfrom hardstone.campaign import x\n", "2: imports campaign"),
    ),
    *broken(
        "unsafe",
        {f"{TOOLKIT}a.py": "import json\nrun(['a'], check=True)\nobj.eval('1')\n"},
        f"{TOOLKIT}b.py",
        ("from pickle import loads\n", "1: pickle runs what it reads"),
        ("exec('1')\n", "1: exec runs text"),
        ("run('a', shell=False)\n", "1: calls with shell="),
    ),
    *broken(
        "scipy",
        {f"{TOOLKIT}a.py": "def f():\n    from scipy import special\n"},
        f"{TOOLKIT}b.py",
        ("def f():\n    import scipy.stats\n", "2: scipy.stats slows"),
        ("def f():\n    from scipy import stats\n", "2: scipy.stats slows"),
        ("import json, scipy.special\n", "1: imports scipy for every command"),
        ("from scipy.special import erf\n", "1: imports scipy for every command"),
    ),
    *broken("module-names", MODULES, f"{TOOLKIT}stats/body.py", ("", "1: src/hardstone/report")),
    *broken("module-names", MODULES, f"{TOOLKIT}stats/bodies.py", ("", "1: is the plural of")),
    *broken(
        "module-names",
        MODULES,
        f"{TOOLKIT}cli/main.py",
        ('\nCOMMANDS = {"show": "show", "runs": "runs"}\n', "2: COMMANDS has runs"),
    ),
    *broken(
        "public-door",
        {
            "tests/a.py": "self._process.kill()\nmonkeypatch.setattr(os, 'fsync', noted)\n"
            "from hardstone.store import Store\nstore = Store(path)\n"
            "store.path.chmod(0o500)\nos._exit(0)\n"
        },
        "tests/unit/b.py",
        ("from hardstone.store.place import _WAIT_S", "1: imports _WAIT_S"),
        ("process._process.poll()", "1: reads _process"),
        *(
            (f"{start}\n{text}", f"2: {complaint}")
            for start, text, complaint in (
                ("from hardstone import store", "patch.setattr(store, 'W', 1)", "replaces store"),
                ("import hardstone.store", "p.setattr(hardstone.store.f, 'W', 1)", "replaces hard"),
                ("from hardstone.a import b", "p.setattr(b.shutil, 'which', no)", "replaces b.sh"),
                ("from hardstone.a import b", "p.setitem(b.ALL, '0', up)", "replaces b.ALL"),
                ("from hardstone.a import b", "b.FOLDER = '/x'", "sets b.FOLDER"),
                ("from hardstone.a import b", "b.COMMANDS['x'] = 'y'", "sets b.COMMANDS['x']"),
            )
        ),
        ("monkeypatch.setattr('hardstone.targets.local.Popen', fail)", "1: replaces 'hards"),
        ("mock.patch('hardstone.cli.main.run')", "1: replaces 'hardstone.cli.main.run'"),
        ("monkeypatch.setattr(*place, short)", "1: replaces *place"),
    ),
]
OF_C = [
    including(OF_LAT, "load/load.h", "family/timer/ may not include load/load.h"),
    including(OF_LAT, "shield/shield.h", "family/timer/ may not include shield/shield.h"),
    including(OF_LAT, "command/args.h", "family/timer/ may not include command/args.h"),
    including(OF_LAT, "family/mutex/lock_kind.h", "family/timer/ may not include family/mutex/"),
    including(OF_LAT, "port/linux/files.h", "family/timer/ may not include port/linux/files.h"),
    including(OF_LAT, "run/stream.h", "family/timer/ may not include run/stream.h"),
    including(OF_LAT, "realtime/run_delay.h", "realtime/run_delay.h is no door of realtime/"),
    including(OF_LAT, "family/timer/tmr_p_jit.c", "family/timer/tmr_p_jit.c is no header"),
    including(OF_LAT, "mechanism.h", "mechanism.h is not there: includes start at probe/src"),
    including(OF_LAT, "../timer/mechanism.h", "../timer/mechanism.h is not there"),
    including("family/shared/peer.h", "family/timer/mechanism.h", "family/shared/ may not"),
    including("run/run.h", "family/shared/peer.h", "run/ may not include family/shared/peer.h"),
    including("base/clock.h", "run/run.h", "base/ may not include run/run.h"),
    including("load/load.h", "command/args.h", "load/ may not include command/args.h"),
    *broken("includes", PROBE, "probe/src/attic/old.h", ("", "1: is in no room")),
    *changed(
        "table-of-rooms",
        PROBE,
        "docs/design.md",
        ("`burst.h`", "`burst.h` `old.h`", "6: realtime/old.h is not there"),
        ("`realtime/` `run/run.h`", "`realtime/` `work/` `run/run.h`", "11: work/ is not there"),
        ("| `load/` |", "| `work/` | a | none | none |\n| `load/` |", "8: work/ has no file"),
    ),
    *broken(
        "probe-layers",
        PROBE,
        "docs/design.md",
        (
            DESIGN.replace("`load.h` | `base/`", "`load.h` | `run/run.h`").replace(
                "`stream.h` | `base/`", "`stream.h` | `load/`"
            ),
            "8: rooms include each other, load/ -> run/ -> load/",
        ),
        (
            DESIGN.replace("`port.h` | none", "`port.h` | `shield/`").replace(
                "`shield.h` | `base/`", "`shield.h` | `port/port.h`"
            ),
            "5: rooms include each other, base/ -> shield/ -> base/",
        ),
    ),
    Case(
        "given-on",
        PROBE,
        {"probe/src/run/stream.h": '#include "load/load.h"\n', LAT: '#include "run/stream.h"\n'},
        f"{LAT}:1: run/stream.h gives load/load.h on, which family/timer/ may not include",
    ),
    *broken(
        "visitors",
        {
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
        "probe/src/run/text.h",
        ("", "1: has one visitor, its own file"),
    ),
    Case(
        "long-files",
        {"probe/src/run/run.c": "\n" * lint_c.LONGEST},
        {"probe/src/run/run.c": "\n" * (lint_c.LONGEST + 1)},
        f"probe/src/run/run.c:{lint_c.LONGEST}: has {lint_c.LONGEST + 1} lines",
    ),
    *broken(
        "head-comments",
        {LAT: HEAD + PROBE[LAT]},
        LAT,
        (PROBE[LAT], "1: its first comment lacks What:, Begin, end:, Threads:, Wrong if:"),
        (HEAD.replace("TMR-P-LAT", "TMR") + PROBE[LAT], "1: its first comment lacks TMR-P-LAT"),
        (HEAD.replace("Threads:", "x") + PROBE[LAT], "1: its first comment lacks Threads:"),
        (HEAD.replace(" * x\n", " * x\n" * 20) + PROBE[LAT], "1: its first comment has its parts"),
        (
            HEAD.replace("What", "_").replace("Wrong if", "What").replace("_", "Wrong if")
            + PROBE[LAT],
            "1: its first comment has its parts in the order",
        ),
    ),
    *broken(
        "function-names",
        {"probe/src/a.h": "const char *name(void);\nstatic inline int timer_at(void)\n"},
        "probe/src/b.h",
        ("\nint timer_release(int a);\n", "2: timer_release is a name of a system"),
    ),
    *broken(
        "words-of-linux",
        {
            "probe/src/port/linux/a.c": 'open("/proc/stat");\n',
            "probe/src/port/device.h": '#define PATH "/dev/uio"\n',
            "probe/src/run/a.c": '/* "/proc/x" */\nopen("/dev/null");\n',
        },
        "probe/src/run/b.c",
        ('/* one\n */ puts("see /dev/shm");\n', "2: /dev/shm is a word of Linux: ask port_hint"),
        ('puts("a " "in /sys/class");\n', "1: /sys is a word of Linux"),
        ('puts("/proc" A);\n', "1: /proc is a word of Linux"),
        ('puts("/"\n "proc/stat");\n', "1: /proc is a word of Linux"),
        ('read("proc/stat");\n', "1: proc/ is a word of Linux"),
        ('read("/etc/security/limits.conf");\n', "1: /etc/security is a word of Linux"),
        ('puts("(sysctl fs.file-max)");\n', "1: sysctl is a word of Linux"),
        ('puts("see kernel.sched_rr_timeslice_ms");\n', "1: kernel.sched_rr_timeslice_ms is a"),
        ('puts("/dev/uio");\n', "1: /dev/uio is a word of Linux"),
    ),
    misnamed("timer/latency.c", "tmr_p_gap", "TMR-P-GAP", "is alone in its file"),
    misnamed("timer/tmr_p_gap.c", "timer_gap", "TMR-P-GAP"),
    misnamed("timer/tmr_p_gap.c", "tmr_p_gap", "TMR-P-GAPS"),
    misnamed("tools/tmr_p_gap.c", "tmr_p_gap", "TMR-P-GAP"),
    *broken(
        "tests",
        PROBE,
        "probe/src/run/stream.h",
        ("\nextern const struct test tmr_p_jit;\n", "2: names tmr_p_jit"),
    ),
    *broken(
        "tests",
        PROBE,
        REGISTER_OF_PROBE,
        ("TEST(tmr_p_lat)\n", "1: has no entry for tmr_p_jit"),
        ("TEST(tmr_p_lat)\nTEST(tmr_p_jit)\nTEST(gone)\n", "3: gone is no test"),
        ("TEST(tmr_p_lat)\nTEST(tmr_p_jit)\nTEST(tmr_p_jit)\n", "2: tmr_p_jit is no test, or"),
    ),
    *broken("tests", PROBE, "docs/reference/tests/old.md", ("", "1: is the page of no test")),
    *broken(
        "facts-sent",
        FACTS,
        SMT,
        ('text_fact(sink, "cpu.smt", "on");\n', "1: cpu.smt is sent as text by linux"),
        (f'{FACTS[SMT]}text_fact(sink, "cpu.new", "on");\n', "2: cpu.new is sent as text"),
        (f'{FACTS[SMT]}sink->odd(sink->context, "cpu.odd");\n', "2: cpu.odd is sent in a way"),
    ),
    *broken(
        "facts-read",
        SOURCES,
        SENDER_OF_SOURCES,
        (f'{SOURCES_TABLE}{{WHOLE, "/proc/odd"}},\n{SOURCES_KEPT}', "2: no fact is read from"),
        (f'{SOURCES_TABLE}options[] = {{"CONFIG_A"}};\n', "2: OPTIONS of raw_facts.py are others"),
    ),
    Case(
        "facts-read",
        SOURCES,
        {SENDER_OF_SOURCES: SOURCES_KEPT},
        "src/hardstone/facts.toml:1: the probe does not send /proc/version",
    ),
    Case(
        "facts-read",
        SOURCES,
        {"src/hardstone/raw_facts.py": 'OPTIONS = ("CONFIG_HZ",)\n'},
        "src/hardstone/facts.toml:1: nothing reads kernel.version",
    ),
    Case("facts-sent", FACTS, {SMT: ""}, "src/hardstone/facts.toml:1: the probe never sends"),
    *broken(
        "facts-named",
        FACTS,
        f"{TOOLKIT}plan/a.py",
        ('\nfacts["cpu.smtt"]\n', "2: cpu.smtt is no fact"),
    ),
    *changed(
        "events", EVENTS, EVENT, ("DATA(", 'DATA(data_bool("cut", 1), ', "1: sends cut with late")
    ),
    *changed(
        "events",
        EVENTS,
        "schema/EVENTS.md",
        ("(by)", "`cpu`", "3: nothing sends cpu with late"),
        ("`gone`", "`never`, `gone`", "4: nothing sends never: remove its row"),
    ),
    Case(
        "events",
        EVENTS,
        {"schema/EVENTS.md": EVENTS["schema/EVENTS.md"].replace("`gone`, ", "")},
        f"{EVENT}:3: sends gone: schema/EVENTS.md has no row",
    ),
    *broken(
        "event-data",
        EVENTS,
        "probe/src/run/other.c",
        ('\ntell(run, "gone", NO_DATA, "%d");\n', "2: the figure in"),
        ("\ntell(run, name, NO_DATA, x);\n", "2: sends an event that is named elsewhere"),
        ("\nodd(run, DATA(x));\n", "1: has data of events in calls"),
    ),
    *broken(
        "tables",
        TABLES,
        "probe/src/run/other.c",
        ('\nrow_table_add(arena, "odd", NULL, columns, 2);\n', "2: keeps odd: schema/TABLES.md"),
        (
            'row_table_add(arena, "frame",\nDATA(data_integer("end_ns", 1)), columns, 2);\n',
            "2: keeps end_ns in frame",
        ),
        (
            'const char *const columns[] = {"x_um",\n"z_um"};\nrow_table_add(arena, "frame", x);\n',
            "2: keeps z_um in frame",
        ),
    ),
]
OF_DOCS = [
    *broken("links", DOCS, "docs/one.md", ("# One\n[gone](gone.md)\n", "2: gone.md is not there")),
    *broken("links", DOCS, "docs/alone.md", ("", "1: no page links to it")),
    *broken(
        "link-anchors",
        DOCS,
        "docs/one.md",
        ("\n[other](README.md#gone)\n", "2: docs/README.md has no heading for #gone"),
        ("[other](gone.md#gone)\n", "1: docs/gone.md has no heading for #gone"),
    ),
    *broken(
        "citations",
        {**DOCS, "src/a.py": "# docs/one.md, one.md, ../docs/one.md and a.md.html\n"},
        "src/b.py",
        ("\n# see ../shared/STYLE.md\n", "2: ../shared/STYLE.md is not in the tree"),
        ("\n# see METHOD.md.", "2: METHOD.md is not in the tree"),
        ("\n# (METHOD, Time stamps)", "2: cites 'METHOD, Time'"),
        ("\n# (SPEC section 0)", "2: cites 'SPEC section'"),
    ),
    *broken(
        "named-sources",
        {
            "docs/one.md": "`run/run.c`, `gate/limits.py`, `src/hardstone/gate/limits.py`\n",
            "probe/src/run/run.c": "",
            f"{TOOLKIT}gate/limits.py": "",
        },
        "probe/README.md",
        ("\n`run/gone.c`\n", "2: run/gone.c is not there"),
    ),
    *broken(
        "decisions",
        RECORDS,
        "docs/decisions/0001-first.md",
        (RECORD + "\n" * 60, "60: 64 lines"),
        (RECORD.replace("Context", "Why"), "1: its headings are"),
        (RECORD.replace("# 0001", "# 0003"), "1: its headings are"),
    ),
    *broken(
        "decisions",
        RECORDS,
        "docs/decisions/README.md",
        ("- [0001](0001-first.md) First\n", "1: 0002-next.md, 'Next': not in the index"),
        (f"{INDEX}- [0003](0003-gone.md) Gone\n", "3: 0003-gone.md, 'Gone': no record"),
        ("".join(INDEX.splitlines(keepends=True)[::-1]), "1: the records are not in order"),
    ),
    Case(
        "decisions",
        RECORDS,
        {
            "docs/decisions/0004-far.md": RECORD.replace("0001: First", "0004: Far"),
            "docs/decisions/README.md": f"{INDEX}- [0004](0004-far.md) Far\n",
        },
        "docs/decisions/0004-far.md:1: its number is not 3",
    ),
    *broken(
        "design",
        DESIGN_OF_TOOLKIT,
        "docs/design.md",
        (DESIGN_OF_TOOLKIT["docs/design.md"] + "\n" * 200, "200: 206 lines"),
        (DESIGN_OF_TOOLKIT["docs/design.md"].replace("`gate/`", "gate"), "1: gate has no row"),
    ),
    *changed(
        "glossary",
        {"docs/glossary.md": GLOSSARY},
        "docs/glossary.md",
        ("**run**: one", "**a, run**: one", "5: burst is out of order"),
        ("Terms.", "Terms.\n\nWords.", "5: is no paragraph of one term"),
        ("see *run*", "see *runs*", "5: there is no term runs"),
    ),
    *changed(
        "bibliography",
        STUDIES,
        "docs/bibliography.md",
        ("## Rest", f"### [P] Other, {SECOND}, as [P]", "8: [P] is the source of no test"),
        (f"**: {FIRST}", f"**:  {FIRST}", "1: its lists of tests are not those"),
    ),
    *broken("bibliography", STUDIES, "docs/one.md", ("[O]\n[Z]\n", "2: [Z] is no study")),
    Case(
        "bibliography",
        STUDIES,
        {PUBLISHED: '{"studies": {"one": {"title": "No study"}}}'},
        "docs/bibliography.md:1: a study of published.json is missing: add 'No study'",
    ),
    *changed(
        "addresses",
        ADDRESSES,
        "docs/bibliography.md",
        ("[it](https://x.org/y)", "it", "3: '[O]' has no address"),
        ("No public copy known", "No copy", "10: 'Doe 1934' has no address"),
    ),
    *broken(
        "doctor-sources",
        STUDIES,
        RULES_OF_DOCTOR,
        ('\nbrings = { source = "Roe et al. 1987" }\n', "2: cites Roe 1987"),
    ),
    *broken(
        "rights",
        RIGHTS,
        "docs/a.md",
        ('sudo "$(command -v hardstone)" run', "1: needs root"),
        ("\nhardstone run --cpu-config x,single", "2: needs root"),
    ),
    *broken(
        "rights",
        RIGHTS,
        RULE_OF_ROOT,
        ("sudo .venv/bin/hardstone run", "1: sudo does not find .venv/bin/hardstone"),
        ('sudo "$(command -v hardstone)" shield', "1: command -v hardstone is not to run shield"),
    ),
    *broken(
        "typed",
        TO_TYPE,
        "docs/how-to/two.md",
        ("\n`hardstone list --frobnicate`\n", "2: hardstone list --frobnicate: No such option"),
        ("`hardstone frobnicate`\n", "1: hardstone frobnicate: there is no command"),
        ("```sh\nhardstone show\n```\n", "2: hardstone show: "),
        ("`make frob`\n", "1: make frob: the Makefile has no frob"),
        ("```sh\nfrob 1\n```\n", "2: frob 1: nobody tries it"),
    ),
    *broken(
        "commands",
        PAGES_OF_COMMANDS,
        "docs/one.md",
        ("\n```text\n$ hardstone frob\n```\n", "3: there is no command hardstone frob"),
        ("`hardstone frob x`\n", "1: there is no command hardstone frob"),
    ),
    Case(
        "other-tools",
        OTHER_TOOLS,
        {lint_docs.OPTIONS_OF_TOOLS: '["cyclictest"]\noptions = "-D -t -x"\n'},
        f"{lint_docs.OTHER_TOOLS}:1: -x of cyclictest has no row",
    ),
    *changed(
        "other-tools",
        OTHER_TOOLS,
        lint_docs.OTHER_TOOLS,
        ("| `-t` |", "| `-t` `-q` |", "1: -q of cyclictest has a row and is not in"),
        ("| `-t` |", "| `-t` `-D` |", "1: -D of cyclictest has two rows"),
        ("--duration", "--durations", "3: hardstone has no --durations"),
        (f"-p {PARAM}=", "-p frob=", "4: hardstone has no frob"),
    ),
    *broken(
        "changes",
        {lint_docs.GOLDEN_REGISTER: json.dumps(SMALL), "CHANGELOG.md": f"{FIRST}, {SECOND}\n"},
        "CHANGELOG.md",
        (f"{FIRST}\n", f"1: {SECOND} is only here or only in the register"),
        (f"{FIRST}, {SECOND}\nTMR-P-NOT\n", "2: TMR-P-NOT is only here or only in the register"),
    ),
]
OF_PROJECT = [
    *broken(
        "private",
        {"a.md": "/home/me/x, /homer, token = 1\n"},
        "b.md",
        ("\nsee /home/anna/x", "2: /home/a is a place of somebody's machine"),
        ("files.pythonhosted.org", "1: pythonhosted.org is a registry"),
        ('Token = "abcdefgh1234"', '1: Token = "abcdefgh1234" is a secret'),
        ("-----BEGIN RSA PRIVATE KEY", "1: -----BEGIN RSA PRIVATE KEY is a secret"),
        ("glpat-0123456789abcdef", "1: glpat-0123456789abcdef is a secret"),
    ),
    *broken("pins", PINS, "requirements/run.txt", (f"{LOCK}    # https://x\n", "3: an address")),
    *broken("pins", PINS, "requirements/other.txt", ("one==1\n", "1: one==1 is not pinned")),
    Case(
        "pins",
        PINS,
        {"requirements/dev.txt": LOCK.replace("8.1", "9")},
        "requirements/run.txt:1: click==8.1 is not that of requirements/dev.txt",
    ),
    *broken(
        "pins",
        PINS,
        "pyproject.toml",
        ('[build-system]\nrequires = ["click==9"]\n', "2: click==9 is not the version"),
    ),
    *broken("make-targets", MAKE, ".ci/run", ("\nmake frob\n", "2: the Makefile has no frob")),
    *broken("make-targets", MAKE, "README.md", ("`make frob`\n", "1: the Makefile has no frob")),
    *changed(
        "make-targets",
        MAKE,
        "Makefile",
        ("help check", "help frob check", "1: frob is only"),
        ("check:", '\t@echo "make frob  it"\ncheck:', "5: frob is only"),
    ),
    *broken(
        "version",
        VERSIONED,
        "CHANGELOG.md",
        ("## 0.1.00 - 2026-12-01\n", "1: has no section Unreleased, and none for 0.1.0"),
        ("## 0.1.0\n", "1: has no section Unreleased, and none for 0.1.0"),
    ),
    *broken(
        "version",
        VERSIONED,
        "share/man/man1/one.1",
        ('.\\"\n.TH ONE 1 "" "hardstone 0.2.0" ""\n', "2: the version is 0.2.0 here, 0.1.0 in"),
        ("nothing\n", "1: the version is missing here"),
    ),
    *broken(
        "build-options",
        {
            "probe/meson_options.txt": "option('a', type)\n",
            "probe/meson.build": "get_option('a')\n",
        },
        "probe/meson_options.txt",
        ("option('a', type)\noption('b', type)\n", "2: nothing uses b"),
    ),
]
PLAIN_C = """/* told by a comment, that is there */
static const char *const why = "the probe " /* anew */
                               "continues";
"""
OF_WORDS = [
    *broken(
        "plain-words",
        {
            f"{TOOLKIT}good.py": '"""A name that is there."""\n# anew\nA = "it continues"\n',
            "probe/src/good.c": PLAIN_C,
            "docs/decisions/1.md": "it is no time",
            "docs/a.md": "```text\nmeasure anew\n```\nthere is no time\n",
        },
        f"{TOOLKIT}bad.py",
        ('\nA = (\n    "it is "\n    f"no time of hardware"\n)\n', '3: "is no time": say is not'),
        ('A = f"{ppm} millionths of it"\n', '1: "} millionths of": give a percentage'),
    ),
    *broken("plain-words", {}, "probe/src/bad.c", ('A = "found no "\n  "room";\n', '1: "found no')),
    *broken("plain-words", {}, "docs/a.md", ("values are kept\napart\n", '1: "kept apart": say')),
]
CASES = [*OF_PYTHON, *OF_C, *OF_DOCS, *OF_PROJECT, *OF_WORDS]


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
