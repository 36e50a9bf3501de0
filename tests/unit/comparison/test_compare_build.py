"""The whole comparison: its systems and what stands apart, conditions, detail of tests, tables of
studies and over repeated runs, notes, and the document for programs. The words of each are in
golden/comparison.txt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from statistics import median

import msgspec
import pytest
from jsonschema import Draft202012Validator

from hardstone.comparison.assemble import compare_view
from hardstone.comparison.screen import comparison_lines
from hardstone.comparison.view import (
    COMPARISON_SCHEMA,
    CompareView,
    PlainTable,
    comparison_document,
)
from hardstone.errors import InputError
from hardstone.model import ClockCheck, Repeat, Result, Scalar, Tool, Trust, Verdict
from hardstone.schema import schema_texts
from hardstone.stats.consistency import why_other_set
from hardstone.systems.subjects import Amount, MeasuredRun, Subject, published_ids, published_system
from hardstone.wording import format_value, shorten
from tests.unit.comparison.compared import made_run
from tests.unit.comparison.made_systems import (
    CE7,
    LINUX_RT,
    QNX,
    labelled,
    run_with,
    spread,
    switching,
)
from tests.unit.golden import assert_as_stored
from tests.unit.kernel.blocked import kernel_result
from tests.unit.stats.make import document, plan_of, result, series

HARDWARE = {"virtual.hypervisor": None, "virtual.emulated": False}
EMULATED = {"virtual.hypervisor": "TCG", "virtual.emulated": True}
COUNTED = EMULATED | {"virtual.time": "instructions"}
UNKNOWN = {"virtual.hypervisor": "KVM", "virtual.emulated": None}
UNTRUSTED = Trust(grade="untrustworthy", reasons=["throttled"])


@pytest.mark.slow
def test_two_to_twenty_different_systems() -> None:
    many = [published_system(key) for key in published_ids()]
    many += [run_with(result()) for _ in range(21 - len(many))]
    assert len(compare_view(many[:20]).columns) == 20
    for systems, said, remedy in (
        ([QNX], "at least two systems", "list published"),
        (many[:21], "21 systems", "--load"),
        ([QNX, QNX], "named twice", ""),
        ([many[20], many[20]], "named twice", ""),
    ):
        with pytest.raises(InputError, match=said) as error:
            compare_view(systems)  # type: ignore[arg-type]
        assert remedy in error.value.remedy


@pytest.mark.parametrize("place", [-1, 2])
def test_a_reference_that_is_not_there_is_refused(place: int) -> None:
    with pytest.raises(InputError, match=f"no system {place + 1}"):
        compare_view([QNX, CE7], place)


# In words


def systems_in(view: CompareView) -> str:
    return "\n".join(
        f"{one.number}{' (reference)' * one.is_reference} {one.label} {one.mark}: {one.study}; "
        f"{one.hardware}; {one.year}; stars {one.rating.overall}; "
        f"{' '.join([one.trust or '', *one.trust_reasons])}; "
        f"{f'apart: {one.apart}' if one.apart else ''}"
        for one in view.columns
    )


def conditions_in(view: CompareView) -> str:
    return "\n".join(
        f"{one.name}: {' | '.join(one.cells)}{' (differs)' * one.differs}"
        for one in view.conditions
    )


def detail_in(view: CompareView, test: str) -> str:
    (found,) = [one for one in view.tests if one.test == test]
    lines = [f"{test} ({found.category}): {shorten(found.about, 80)}"]
    lines += [f"{name}: {moments}" for name, moments in found.moments]
    lines += [" | ".join(found.states)]
    for claim in found.claims:
        cells = " | ".join(f"{one.word} ({one.look}): {one.evidence}" for one in claim.cells)
        lines.append(f"{claim.name}: {cells}")
    return "\n".join([*lines, *found.published, *found.notes])


def tables_in(view: CompareView, *anchors: str) -> str:
    found = [one for one in view.tables if one.anchor.startswith(anchors)]
    return "\n".join(map(table_text, found)) or "no table"


def table_text(one: PlainTable) -> str:
    rows = "\n".join(" | ".join(row) for row in [one.columns, *one.rows])
    return "\n".join([f"{one.anchor}: {one.title}", one.about, rows, *one.notes])


def compared(*subjects: Subject, reference: int = 0) -> CompareView:
    return compare_view(list(subjects), reference)


def on(system: Mapping[str, Scalar]) -> Subject:
    return switching(spread(500), system=system)


def named(release: str) -> MeasuredRun:
    run_id = f"20261125T200000Z-{release.replace('.', '')}"
    facts = {"kernel.release": release.rpartition(" ")[0] or release}
    return run_with(result(), run_id=run_id.replace(" ", ""), name="night", system=facts)


def contradictory() -> MeasuredRun:
    wrong = series([1, 2, 3])
    wrong.count = 7
    return run_with(result(series=[wrong]))


def clocked(target_ns: int) -> MeasuredRun:
    check = ClockCheck(host_ns=60_000_000_000, target_ns=target_ns, uncertainty_ns=1_000_000)
    return run_with(result(), name="clocked", clock_check=check)


KINDS = {
    "hardware": HARDWARE,
    "emulated": EMULATED,
    "instructions": COUNTED,
    "not known": UNKNOWN,
}
BESIDE = [  # the reference, and what stands beside it
    *(("hardware", "hardware"), ("hardware", "emulated"), ("emulated", "hardware")),
    *(("emulated", "emulated"), ("instructions", "instructions"), ("emulated", "instructions")),
    *(("hardware", "not known"), ("emulated", "published"), ("hardware", "published")),
    ("published", "emulated"),
]


def systems() -> Iterator[tuple[str, CompareView]]:
    yield "all that is published", compared(*map(published_system, published_ids()))
    yield "the second as reference", compared(QNX, named("6.1"), reference=1)
    yield (
        "the kernel tells runs apart, then the ID",
        compared(*map(named, ("6.1", "6.12 1", "6.12 2"))),
    )
    for pair in BESIDE:
        name = ", beside it ".join(pair)
        yield name, compared(*(QNX if one == "published" else on(KINDS[one]) for one in pair))
    fair = run_with(result(), name="fair", trust=Trust(grade="indicative", reasons=["virtual"]))
    bad = run_with(result(), name="bad", trust=UNTRUSTED)
    yield "an untrustworthy reference", compared(bad, fair)
    yield "contradictory figures", compared(fair, contradictory())
    for target_ns in (60_000_000_000, 6_000_000):
        yield f"a clock that counts {target_ns} ns a minute", compared(fair, clocked(target_ns))


RTOS = {"kernel.name": "NuttX", "kernel.release": "12.0.0", "machine.arch": "riscv64"}
LINUX = {"kernel.name": "Linux", "machine.arch": "aarch64"}


def counting(**facts: Scalar) -> MeasuredRun:
    run_id = f"20261125T200000Z-{facts['kernel.release']}".replace(".", "")
    return run_with(result(), run_id=run_id, name="night", system=COUNTED | facts)


def test_runs_of_one_name_on_several_systems_have_the_names_of_these() -> None:
    linux = [counting(**LINUX, **{"kernel.release": one}) for one in ("6.1.0", "6.1.0-rt")]
    view = compared(counting(**RTOS), *linux, QNX)
    names = ["NuttX 12.0.0", "Linux 6.1.0", "Linux 6.1.0-rt"]
    assert [one.label for one in view.columns[:3]] == names
    assert [one.label for one in compared(*linux).columns] == names[1:]


def test_counts_of_different_instruction_sets_are_grey() -> None:
    linux = [counting(**LINUX, **{"kernel.release": one}) for one in ("6.1.0", "6.1.0-rt")]
    view = compared(counting(**RTOS), *linux)
    why = "another instruction set: the same work is another number of instructions"
    assert [one.apart for one in view.columns] == [None, why, why]
    cells = [cell for test in view.tests for row in test.rows for cell in row.cells[1:]]
    assert cells and all(one.is_grey and one.ratio is None for one in cells)
    assert "riscv64" in view.columns[0].hardware
    screen = "\n".join(line.plain for line in comparison_lines(view, 80))
    assert "medians" not in screen and why.partition(":")[0] in screen, screen
    same = compared(*linux)
    assert not any(one.apart for one in same.columns)
    assert "aarch64" not in same.columns[0].hardware.partition(",")[2]


@pytest.mark.parametrize(
    ("one", "other", "is_grey"),
    [
        ("risc-v", "riscv64", False),  # NuttX does not say how wide
        ("riscv32", "riscv64", True),
        ("risc-v", "aarch64", True),
        ("arm64", "aarch64", False),
        ("x86_64", "x86", True),
        (None, "aarch64", False),
    ],
)
def test_names_of_instruction_sets(one: str | None, other: str, is_grey: bool) -> None:
    ours, theirs = ({"machine.arch": name} for name in (one, other))
    assert bool(why_other_set(COUNTED | ours, COUNTED | theirs)) is is_grey
    assert not why_other_set(EMULATED | ours, EMULATED | theirs)  # their times may be compared


def conditions() -> Iterator[tuple[str, CompareView]]:
    plans = (("fifo", "glibc"), ("rr", "musl"))
    yield (
        "policy and libc",
        compared(
            *(
                run_with(
                    result(), plan=plan_of([], policy=policy), tool=Tool(version="1", libc=libc)
                )
                for policy, libc in plans
            )
        ),
    )
    yield "of --repeat 10", compared(repeated(0), repeated(2), a_run(5))
    yield "beside a published system", compared(switching(spread(500)), QNX)
    for asked in ("none", "heavy", "other"):
        yield f"a published system under {asked}", compared(published_system("lynx", asked), QNX)
    lines = [
        run_with(result(), system={"kernel.cmdline": line, "kernel.rt_period_us": 1})
        for line in ("isolcpus=1", "quiet", None)
    ]
    yield "facts that differ", compared(*lines[:2], QNX)
    yield "a fact that is not known", compared(*lines[1:])
    for size in (19_000, 15_000):
        yield f"{size} values", compared(switching(spread(500)), switching(spread(500, 2, size)))


def rotating(*passed: bool, name: str = "equal") -> Subject:
    verdicts = [
        Verdict(name=f"{name}/{number}", passed=one, evidence=f"order {number}")
        for number, one in enumerate(passed)
    ]
    return run_with(result("THR-B-NEW", series=[], verdicts=verdicts))


def details() -> Iterator[tuple[str, str, CompareView]]:
    some, all_hold = rotating(True, False), rotating(True, True)
    yield "as a whole", "THR-B-NEW", compared(some, QNX, all_hold, CE7)
    yield "claims that fail come first", "THR-B-NEW", compared(some, all_hold)
    aside = [rotating(one, name="lowered_setschedprio") for one in (False, True)]
    yield "what does not count", "THR-B-NEW", compared(*aside)
    yield "many claims", "THR-B-NEW", compared(rotating(*[True] * 80), rotating(True))
    yield "what it measures", "TMR-P-LAT", compared(made_run(1), made_run(2))
    for test in ("TMR-P-JIT", "CLK-B-RES"):
        yield "what studies said in words", test, compared(run_with(result(test)), QNX)


def kernel_run(model: str, system: dict[str, object] | None = None, **changed: object) -> Subject:
    is_short = model == "full"
    facts = {"kernel.preemption": model} | (system or {})
    one = kernel_result(1 + is_short, is_short=is_short)
    return run_with(one, name=model, system=facts, **changed)


def studies() -> Iterator[tuple[str, str, CompareView]]:
    facts = {"limits.priority_min": 1, "limits.priority_max": 99, "kernel.hz": 250}
    known = run_with(result(), name="known", system=facts)
    unknown = run_with(result(), name="unknown", system={})
    yield "the ladder", "priorities", compared(known, unknown)
    fair, bad = kernel_run("none"), kernel_run("full", trust=UNTRUSTED)
    emulated = kernel_run("full", EMULATED | {"kernel.name": "Linux"})
    anchor = "kernel-preemption"
    yield "the improvement", anchor, compared(fair, kernel_run("full"), QNX)
    yield "of another kind", anchor, compared(fair, emulated)
    yield "beside an untrustworthy run", anchor, compared(fair, bad)
    yield "an untrustworthy reference", anchor, compared(bad, fair)
    yield "without KRN-P-PRE", anchor, compared(QNX, run_with(result()))


# At least ten runs of one system

SYSTEM = {"virtual.hypervisor": None, "kernel.release": "6.12.0-rt", "machine.node": "one"}
# Of n = 10 values the 2nd and 9th: 1 - 2 P(X <= 1), X binomial (10, 1/2), is 0.979.
TEN = range(10)
MIXED = (9, 6, 1, 4, 8, 5, 2, 3, 0, 7)  # in the order in which they ran: without a trend


def switch(number: int, size: int = 200, **changed: object) -> Result:
    values = [int(one) for one in spread(1000 + 30 * number, number, size - 1)] + [20_000 + number]
    return result("THR-P-SLS", series=[labelled(values, "switch", threads=2)], **changed)


def a_run(number: int, one: Result | None = None, **changed: object) -> MeasuredRun:
    return run_with(one or switch(number), **({"system": SYSTEM} | changed))


def at(number: int, minute: int) -> MeasuredRun:
    return a_run(number, started_utc=f"2026-11-25T20:{minute:02d}:00Z")


def repeated(number: int) -> MeasuredRun:
    repeat = Repeat(number=number + 1, count=10, first="first" if number else "")
    return a_run(number, plan=plan_of([], repeat=repeat))


def tables(*subjects: Subject) -> list[PlainTable]:
    view = compare_view(list(subjects))
    return [one for one in view.tables if one.anchor.startswith("runs-of-one-system")]


def ten() -> list[Subject]:
    return [a_run(number) for number in MIXED]


OTHERS: dict[str, dict[str, object]] = {
    "another machine": {"system": SYSTEM | {"machine.node": "two"}},
    "another kernel": {"system": SYSTEM | {"kernel.release": "6.13.0-rt"}},
    "another governor": {"system": SYSTEM | {"power.governor": "powersave"}},
    "a guest": {"system": SYSTEM | EMULATED},
    "another target": {"plan": msgspec.structs.replace(document().plan, target="ssh:board")},
    "a run that is not trustworthy": {"trust": Trust(grade="untrustworthy", reasons=["hot"])},
}


def repeats() -> Iterator[tuple[str, CompareView]]:
    usual = ten()
    yield "nine runs", compared(*usual[:9])
    yield "ten runs and a published system", compared(QNX, *usual)
    for name, changed in OTHERS.items():
        yield f"nine runs, and {name}", compared(*usual[:9], a_run(9, **changed))
        yield f"ten runs, and {name}", compared(*usual, a_run(11, **changed))
    where = result().conditions
    for name, value in (("load", "none"), ("cpu_config", "shielded")):
        other = switch(9, conditions=msgspec.structs.replace(where, **{name: value}))
        yield f"nine runs, and one under {name} {value}", compared(*usual[:9], a_run(9, other))
    alike = [a_run(number, switch(number, params={"interval_ns": 5})) for number in TEN]
    yield "ten runs with one parameter", compared(*alike)
    alike[3] = a_run(3, switch(3, params={"interval_ns": 6}))
    yield "a run with another parameter", compared(*alike)
    short = a_run(MIXED[9], switch(MIXED[9], size=400))
    yield "a run with other counts", compared(*usual[:9], short)
    newer = [a_run(number, system=SYSTEM | {"kernel.release": "6.13"}) for number in TEN]
    yield "ten runs of two systems each", compared(*usual, *newer)
    guests = [a_run(number, system=EMULATED) for number in TEN]
    yield "ten guests", compared(*guests)
    yield "ten guests beside hardware", compared(a_run(0), *guests)
    yield "runs that depend on the one before", compared(*(at(number, number) for number in TEN))
    rising = [at(number, minute) for minute, number in enumerate(MIXED)]
    rising.sort(key=lambda one: one.held()[0].series.mean or 0)
    yield "the order of the command does not matter", compared(*rising)
    yield "ten of --repeat 10", compared(*(repeated(number) for number in TEN))


def texts() -> Iterator[tuple[str, str]]:
    yield from ((name, systems_in(view)) for name, view in systems())
    yield from ((name, conditions_in(view)) for name, view in conditions())
    yield from ((f"{name}: {test}", detail_in(view, test)) for name, test, view in details())
    yield from ((f"{name}: {one}", tables_in(view, one)) for name, one, view in studies())
    yield from ((name, tables_in(view, "runs-of-one-system")) for name, view in repeats())
    one, other = switching(spread(500)), switching(spread(500, 2))
    for name, pair in (("studies", (QNX, CE7)), ("both", (QNX, one)), ("runs", (one, other))):
        yield f"notes: {name}", "\n".join(compared(*pair).notes)
    view = compared(QNX, CE7, LINUX_RT)
    lines = [f"{one.value_ns} ns: {one.text}" for one in view.yardsticks]
    yield (
        "criteria and yardsticks",
        "\n".join([*(" | ".join([stars, *said]) for stars, said in view.criteria.items()), *lines]),
    )
    yield "tests in the order of the battery", "\n".join(one.test for one in view.tests)
    yield "tables", "\n".join(one.anchor for one in compared(QNX, run_with(result())).tables)


@pytest.mark.slow
def test_the_words_of_a_comparison(request: pytest.FixtureRequest) -> None:
    # runs are numbered in the order in which tests make them
    found = {name: re.sub(r"\brun \d+", "run", text) for name, text in texts()}
    assert_as_stored(request, "comparison.txt", found)


@pytest.mark.slow
def test_ten_runs_have_the_median_over_runs_with_its_order_statistics() -> None:
    subjects = ten()
    (found,) = [one for one in compared(*subjects).tables if "runs-of-one" in one.anchor]
    cells = dict(zip(found.columns, found.rows[0], strict=True))
    means = sorted(one.held()[0].series.mean or 0 for one in subjects)  # type: ignore[union-attr]
    middle, low, high = (format_value(one, "ns") for one in (median(means), means[1], means[8]))
    assert cells["mean"] == f"{middle} ({low.removesuffix(' us')} to {high})"
    assert len({format_value(one, "ns") for one in (means[0], means[1], means[8], means[9])}) == 4


# The document


@pytest.mark.slow
def test_the_document_is_as_its_schema_says_and_has_every_figure() -> None:
    view = compare_view([made_run(1), made_run(2, 1.4), *map(published_system, ("ce7", "lynx"))])
    found = msgspec.json.decode(msgspec.json.encode(comparison_document(view)))
    text = schema_texts()["hardstone.comparison-1.schema.json"]
    Draft202012Validator(msgspec.json.decode(text)).validate(found)
    assert found["schema"] == COMPARISON_SCHEMA
    cells = [cell for test in found["tests"] for row in test["rows"] for cell in row["cells"]]
    said = {
        one["source"]: (one["value"], one["below"], one["above"])
        for cell in cells
        for one in cell["figures"]
    }
    held = [one for column in view.columns if column.is_published for one in column.subject.held()]
    amounts = [one.amount(statistic) for one in held for statistic in one.statistics()]
    assert any(isinstance(one, Amount) and one.below for one in amounts)
    for one in amounts:
        assert isinstance(one, Amount) and said[one.source] == (one.value, one.below, one.above)


def test_the_document_has_ratings_reasons_and_what_is_missing() -> None:
    found = comparison_document(compare_view([switching(spread(500)), on(EMULATED), QNX]))
    assert [one.rating.overall for one in found.systems] == [None, None, 5.0]
    assert found.systems[1].apart == "emulated: not comparable with hardware"
    rows = {one.address: one for test in found.tests for one in test.rows}
    row = rows["THR-P-SLS/2/switch"]
    assert row.cells[1].grey == found.systems[1].apart and row.cells[1].count == 20_000
    assert row.cells[2].figures[2].missing == "not published"
    (period,) = [one for one in found.summary if one.address.endswith("minimal_period")]
    assert [one.figures[1].statistic for one in period.cells] == ["min", "min", "min"]
    assert "THR-P-SLS/2/switch" in [one.address for one in found.summary]


def test_what_systems_share_stands_first_where_hardly_a_decisive_figure_is_shared() -> None:
    lynx, solaris = (published_system(one, "none") for one in ("lynx", "solaris-1rt"))
    view = compare_view([lynx, solaris])
    addresses = [row.address for row in view.opening]
    assert addresses[:2] == ["RSP-P-FIX/add/time", "RSP-P-FIX/copy/time"] and not view.decisive
    assert all(row.known_count == 2 for row in view.opening)
    assert compare_view([QNX, lynx]).opening == []
    for systems in ([QNX, CE7], [switching(spread(500)), switching(spread(600))]):
        decided = compare_view(systems)
        assert decided.shared is None and decided.opening == decided.decisive
