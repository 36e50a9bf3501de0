"""Rules about tables that others read: the catalogue of tests and the register, the facts, and the
options of the port to NuttX."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

from hardstone.catalogue import Entry, folded, parse_catalogue
from hardstone.facts import SUFFIXES
from hardstone.model import Descriptor
from hardstone.systems.published import figures_of
from hardstone.terminal.lists import kind_of
from lint_c import code
from lint_docs import register
from lint_tree import Complaint, Tree

CATALOGUE = "src/hardstone/catalogue.toml"
# Times that are no time of a value: limits on what is seen or judged, a figure of another test,
# bounds of a search; and in simulations, whose time passes faster.
NO_TIMES = {"threshold_ns", "bound_ns", "limit_ns", "period_min_ns", "period_max_ns"}
NO_TIMES |= {"passed_ns", "failed_ns", "source_failed_ns"}
SIMULATED = {"SIM-S-RT": {"period_ns", "delay_ns"}, "SIM-P-RF": {"step_ns"}}
# Labels that no parameter sets: clocks and timers that a system has, and "total" of all CPUs.
FIXED = {
    "CLK-B-RES": {"clock", "mechanism"},
    "TMR-P-LAT": {"part"},
    "KRN-P-PRE": {"kind"},
    "MEM-B-LCK": {"locked"},
    "IRQ-S-SUS": {"period_ns"},
}
OF_VARIANTS = {"IRQ-S-SUS": ["passed_ns", "failed_ns", "source_failed_ns"]}  # one for each variant


def catalogue(tree: Tree) -> Iterator[Complaint]:
    """Each test of the register has an entry, which says what and why, and fits the test."""
    file, tests = tree[CATALOGUE], {one.id: one for one in register(tree).tests}
    found = parse_catalogue(file.text)
    for test in sorted(set(found.ids()) ^ set(tests)):
        yield file.wrong_word(f"[{test}]", f"{test} is only here or only in the register")
    ids, orders = {folded(test) for test in tests}, list[int]()
    for test in found.ids():
        entry = found.entry(test)
        told = list(wrong_texts(entry)) + (["has the order of another"] * (entry.order in orders))
        orders.append(entry.order)
        names = [*map(folded, entry.known_as)]
        if not names or len(names) != len(set(names)) or ids & set(names):
            told.append("needs names in known_as, each once, and none that is an ID")
        if test in tests:
            told += wrong_names(entry, tests[test])
        yield from (file.wrong_word(f"[{test}]", f"{test} {one}") for one in told)


def wrong_texts(entry: Entry) -> Iterator[str]:
    if entry.category == "other":
        yield "has no category"
    if not all(one.endswith(".") for one in (entry.about, entry.distorts)):
        yield "has no sentences in about and distorts"
    if not all(one and not one.endswith(".") for one in entry.means.values()):
        yield "has a sentence in means: a part of one is wanted"
    if not all(one.endswith(".") for one in entry.uncounted.values()):
        yield "has no sentence in uncounted"


def wrong_names(entry: Entry, test: Descriptor) -> Iterator[str]:
    verdicts = {one.name for one in test.verdicts}
    if set(entry.means) != verdicts:
        yield "has other verdicts in means than the register"
    if not set(entry.uncounted) <= (
        verdicts if test.id.split("-")[1] == "B" else {one.name for one in test.series}
    ):
        yield "has a name in uncounted that the register has not"
    kinds = [one.choices for one in test.params if one.name == "kinds"]
    if entry.enters_kernel and [list(entry.enters_kernel)] != kinds:
        yield "has other kinds in enters_kernel than the register"


def first_screen(tree: Tree) -> Iterator[Complaint]:
    """Each row of the first screen has a series of its test, a reference and a reason."""
    file, tests = tree[CATALOGUE], {one.id: one for one in register(tree).tests}
    rows = parse_catalogue(file.text).first_screen
    if len({row.name for row in rows}) != len(rows):
        yield file.wrong(1, "two rows of the first screen have one name")
    for row in rows:
        series = {one.name for one in tests[row.test].series}
        systems = {one.system for one in figures_of(row.test)} | {"rating"}
        is_told = row.why.endswith(".") and not row.figures[0].about
        if not {one.series for one in row.figures} <= series or row.reference not in systems:
            told = "has a series or a reference that its test has not"
            yield file.wrong_word(f'name = "{row.name}"', f"{row.name} {told}")
        if not is_told or not all(one.about for one in row.figures[1:]):
            told = "needs a sentence in why, and about in each figure but the first"
            yield file.wrong_word(f'name = "{row.name}"', f"{row.name} {told}")


def register_of_tests(tree: Tree) -> Iterator[Complaint]:
    """What the register says of times, lists and labels fits together."""
    for test in register(tree).tests:
        for told in (*wrong_times(test), *wrong_labels(test)):
            yield Complaint(CATALOGUE, 1, f"the register's {test.id} {told}")


def wrong_times(test: Descriptor) -> Iterator[str]:
    params = {one.name for one in test.params}
    times = {one.name for one in test.params if one.unit == "ns"}
    passing = times - NO_TIMES - SIMULATED.get(test.id, set())
    named = {test.sample_param} - {None}
    if passing != (named if test.id != "SIM-P-RF" else set()) or not named <= params:
        yield "has a time that no value takes, or takes one that is no parameter"
    if test.setup_ns <= 0 or not (test.sample_ns > 0 or named) or test.sample_percent < 100:
        yield "does not say how long it takes"
    if min(test.extra_samples, test.warm_up_samples) < 0:
        yield "has fewer values than none"
    if test.warm_up_samples and not test.series:
        yield "warms up and has no series"


def wrong_labels(test: Descriptor) -> Iterator[str]:
    own = [one.label for one in test.variant_params]
    labels = {label for one in test.series for label in one.labels}
    if labels - set(own) != FIXED.get(test.id, set()):
        yield "has a label that no parameter sets"
    if kind_of(test.id) == "timing" and not set(own) <= labels:
        yield "has a variant that no series shows"
    if any(len(one) != len(set(one)) for one in (own, *(one.labels for one in test.series))):
        yield "has a label twice"
    lists = [one.name for one in test.params if one.is_list and one.label is None]
    if not all(one.is_list for one in test.variant_params) or lists != OF_VARIANTS.get(test.id, []):
        yield "has a list without a label, or a label of no list"


FACTS = "src/hardstone/facts.toml"


def fact_names(tree: Tree) -> Iterator[Complaint]:
    """The facts are in order, say what they are, and show their unit in the name."""
    file = tree[FACTS]
    found = tomllib.loads(file.text)
    ends = {unit: end for unit, end in SUFFIXES.items() if end and end[0] == "_"}
    for before, name in zip(["", *found], found, strict=False):
        fact = found[name]
        kind, unit, meaning = (fact.get(one, "") for one in ("type", "unit", "meaning"))
        suffix = SUFFIXES[unit] if unit else ""
        wrong = [end for of, end in ends.items() if of != unit and name.endswith(end)]
        if before > name:
            yield file.wrong_word(f'"{name}"', f"{name} is out of order")
        if not meaning or meaning != meaning.strip():
            yield file.wrong_word(f'"{name}"', f"{name} needs a meaning")
        if (unit == "") != (kind in ("text", "bool")) or wrong:
            yield file.wrong_word(f'"{name}"', f"{name} is {kind} in {unit or 'no unit'}")
        elif not name.endswith(suffix or "") or name.endswith("_count") > (unit == "count"):
            yield file.wrong_word(f'"{name}"', f"{name} does not show its unit, {unit}")


# ---- the port to NuttX ----

NUTTX = "probe/src/port/nuttx"
BASE = "probe/src/base"
AS_POSIX = {"CLOCK_NANOSLEEP", "MLOCKALL", "PSELECT", "UNNAMED_SEMAPHORES"}  # NuttX has these
OPTION = re.compile(r"\bCONFIG_(HARDSTONE_\w+)")
BY_CMAKE = {"HARDSTONE_PROGNAME", "HARDSTONE_PRIORITY", "HARDSTONE_STACKSIZE"}
# NuttX has no limits of users, no rights and no control groups. Files that it compiles:
OF_OTHERS = re.compile(r"ulimit|CAP_|RLIMIT|pids\.max|/dev/shm|sysctl")
COMPILED = ("base/status.c", "record/arena.c", "family/thread/thr_p_sls.c")
COMPILED += ("family/semaphore/sem_p_arc.c", "family/signal/sig_b_que.c")


def nuttx_options(tree: Tree) -> Iterator[Complaint]:
    """Each option is declared and used, each optional call of POSIX decided, and nobody is told
    what only another system has."""
    kconfig, decided = tree[f"{NUTTX}/Kconfig"], tree[f"{NUTTX}/options.h"]
    declared = set(re.findall(r"^config (HARDSTONE_\w+)", kconfig.text, re.MULTILINE))
    users = ["options.h", "Makefile", "job.c"]
    used = {one for name in users for one in OPTION.findall(tree[f"{NUTTX}/{name}"].text)}
    for name in sorted(declared ^ used):
        yield kconfig.wrong_word(name, f"{name} is declared and not used, or the other way round")
    cmake = tree[f"{NUTTX}/CMakeLists.txt"]
    for name in sorted(BY_CMAKE - set(OPTION.findall(cmake.text))):
        yield cmake.wrong(1, f"{name} is not passed on")
    for file in (cmake, *tree.below(f"{NUTTX}/config", ".config")):
        for name in sorted(set(OPTION.findall(file.text)) - declared):
            yield file.wrong_word(name, f"{name} is not declared")
    asked = "".join(tree[f"{BASE}/{name}"].text for name in ("options.h", "posix_source.h"))
    wanted = set(re.findall(r"^#ifndef HS_HAS_(\w+)", asked, re.MULTILINE)) - AS_POSIX
    have = re.findall(r"^#define HS_HAS_(\w+) [01]", decided.text, re.MULTILINE)
    for name in sorted(wanted ^ set(have)):
        yield decided.wrong_word(name, f"HS_HAS_{name} is not decided, or not asked for")
    for file in (*tree.below(NUTTX, ".c"), *(tree[f"probe/src/{name}"] for name in COMPILED)):
        for found in OF_OTHERS.finditer(code(file)):
            yield file.wrong_at(found.start(), f"{found[0]} is none of NuttX")


RULES = [catalogue, first_screen, register_of_tests, fact_names, nuttx_options]
