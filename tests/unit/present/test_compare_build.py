"""The whole comparison: its systems and what stands apart, conditions, detail of tests, tables of
studies and over repeated runs, notes, and the document for programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median

import msgspec
import pytest
from jsonschema import Draft202012Validator

from hardstone.errors import InputError
from hardstone.model import ClockCheck, Conditions, Result, Tool, Trust, Verdict
from hardstone.present.compare_build import SINGLE_RUNS, compare_view
from hardstone.present.compare_view import ComparedTest, ConditionRow, PlainTable, SystemColumn
from hardstone.present.comparison_document import COMPARISON_SCHEMA, comparison_document
from hardstone.present.wording import format_value
from hardstone.published import load_studies
from hardstone.schema import schema_texts
from hardstone.stats.contradictions import told, trust_of
from hardstone.subjects import Amount, MeasuredRun, Subject, published_ids, published_system
from tests.unit.present.compared import made_run
from tests.unit.present.made_systems import (
    CE7,
    LINUX_RT,
    QNX,
    labelled,
    run_with,
    spread,
    switching,
)
from tests.unit.stats.blocked import kernel_result
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


def test_criteria_stars_and_yardsticks_are_those_of_the_studies() -> None:
    view = compare_view([QNX, CE7, LINUX_RT])
    assert [stars for stars, _, _ in view.criteria] == ["5", "4", "3", "2", "1", "0"]
    assert view.criteria[2][1] == "special attention and knowledge needed to configure the kernel"
    assert [one.rating.overall for one in view.columns] == [5.0, 4.5, 3.0]
    upper, lower = view.yardsticks
    assert (upper.value_ns, lower.value_ns) == (1_000_000, 10_000)
    assert upper.text.startswith("1000 us mean: not real-time above")
    assert lower.text.startswith("10 us: embedded hard real-time")


@pytest.mark.slow
def test_notes_depend_on_what_is_compared() -> None:
    published = " ".join(compare_view([QNX, CE7]).notes)
    mixed = " ".join(compare_view([QNX, switching(spread(500))]).notes)
    runs = " ".join(compare_view([switching(spread(500)), switching(spread(500, 2))]).notes)
    assert SINGLE_RUNS in runs and SINGLE_RUNS not in mixed and SINGLE_RUNS not in published
    assert "no distribution" in mixed and "no distribution" not in runs
    assert "What differs between the systems: kernel" in mixed


# Systems


def columns(*subjects: Subject, reference: int = 0) -> list[SystemColumn]:
    return compare_view(list(subjects), reference).columns


def on(system: dict[str, object]) -> Subject:
    return switching(spread(500), system=system)


@pytest.mark.parametrize("key", published_ids())
def test_study_hardware_and_year_are_always_there(key: str) -> None:
    (found, _) = columns(published_system(key), QNX if key != "qnx" else CE7)
    assert found.study and found.hardware and found.year and not found.trust
    assert found.hardware in (published_system(key).conditions.get("machine"), "not known")


def test_numbers_count_from_one_and_one_is_the_reference() -> None:
    found = columns(QNX, on(HARDWARE), reference=1)
    assert [(one.number, one.is_reference) for one in found] == [(1, False), (2, True)]


def test_labels_are_different_by_the_kernel_then_by_the_id() -> None:
    kernels = [
        run_with(result(), name="night", system={"kernel.release": release})
        for release in ("6.1", "6.12", "6.12")
    ]
    assert [one.label for one in columns(*kernels)] == [
        "night, 6.1",
        *(f"night, 6.12, {one.id}" for one in kernels[1:]),
    ]
    assert columns(kernels[0], QNX)[0].label == "night"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "reference", "words"),
    [
        (HARDWARE, HARDWARE, ""),
        (EMULATED, HARDWARE, "it is emulated, and the reference is not emulated"),
        (HARDWARE, EMULATED, "it is not emulated, and the reference is emulated"),
        (EMULATED, EMULATED, ""),
        (COUNTED, COUNTED, ""),
        (COUNTED, EMULATED, "it counts instructions"),
        (UNKNOWN, HARDWARE, "it may be emulated"),
        (None, EMULATED, "it is not emulated"),  # a published system
        (None, HARDWARE, ""),
        (EMULATED, None, "it is emulated"),
    ],
)
def test_times_of_different_kinds_stand_apart(
    one: dict[str, object] | None, reference: dict[str, object] | None, words: str
) -> None:
    first, second = columns(*(QNX if facts is None else on(facts) for facts in (reference, one)))
    assert second.apart.startswith(words) and bool(second.apart) == bool(words)
    assert first.apart == ""


def test_an_emulated_run_is_marked() -> None:
    marks = [one.mark for one in columns(on(EMULATED), on(COUNTED), on(HARDWARE), QNX)]
    assert marks == ["(emulated)", "(instructions)", "", ""]


def contradictory() -> MeasuredRun:
    wrong = series([1, 2, 3])
    wrong.count = 7
    return run_with(result(series=[wrong]))


def test_an_untrustworthy_run_stands_apart_as_reference_too() -> None:
    fair = run_with(result(), trust=Trust(grade="indicative", reasons=["virtual"]))
    found = columns(run_with(result(), trust=UNTRUSTED), fair)
    assert [one.apart for one in found] == ["not trustworthy: throttled", ""]
    assert (found[1].trust, found[1].trust_reasons) == ("indicative", ["virtual"])
    wrong = contradictory()
    apart = columns(run_with(result()), wrong)[1].apart
    assert apart.startswith("not trustworthy: ") and "count is 7" in apart
    assert told(wrong.document, wrong.contradictions) == told(wrong.document) != []
    for run in (fair, wrong):
        assert run.trust == trust_of(run.document)


@pytest.mark.parametrize(("target_ns", "is_apart"), [(60_000_000_000, False), (6_000_000, True)])
def test_a_run_whose_clock_ran_wrong_stands_apart(target_ns: int, is_apart: bool) -> None:
    check = ClockCheck(host_ns=60_000_000_000, target_ns=target_ns, uncertainty_ns=1_000_000)
    found = columns(run_with(result()), run_with(result(), clock_check=check))
    assert bool(found[1].apart) is is_apart


# Conditions


def rows(*subjects: Subject) -> dict[str, ConditionRow]:
    return {one.name: one for one in compare_view(list(subjects)).conditions}


def test_what_differs_is_marked_and_what_is_alike_or_not_known_is_not() -> None:
    one = run_with(result(), plan=plan_of([], policy="fifo"), tool=Tool(version="1", libc="glibc"))
    other = run_with(result(), plan=plan_of([], policy="rr"), tool=Tool(version="1", libc="musl"))
    found = rows(one, other)
    assert found["policy"] == ConditionRow("policy", ["fifo", "rr"], differs=True)
    assert found["libc"].differs and not found["load"].differs and not found["profile"].differs
    found = rows(switching(spread(500)), QNX)
    assert next(iter(found)) == "load"
    assert found["policy"] == ConditionRow("policy", ["fifo", "-"], differs=False)
    assert found["kernel"].differs


def test_a_published_system_is_shown_with_the_load_whose_figures_it_has() -> None:
    for asked, shown in (("none", "none"), ("heavy", "heavy"), ("other", "heavy")):
        assert rows(published_system("lynx", asked), QNX)["load"].cells == [shown, "-"]


def test_facts_that_differ_between_runs_have_a_row() -> None:
    isolated, quiet, unknown = (
        run_with(result(), system={"kernel.cmdline": line, "kernel.rt_period_us": 1})
        for line in ("isolcpus=1", "quiet", None)
    )
    found = rows(isolated, quiet, QNX)
    assert found["kernel.cmdline"].cells == ["isolcpus=1", "quiet", "-"]
    assert "kernel.rt_period_us" not in found
    assert rows(quiet, unknown)["kernel.cmdline"].cells == ["quiet", "none"]


def test_counts_of_the_decisive_series_differ_by_more_than_a_tenth() -> None:
    name, first = "values of THR-P-SLS/2/switch", switching(spread(500))
    alike = rows(first, switching(spread(500, 2, 19_000)), QNX)[name]
    assert not alike.differs and alike.cells[2] == "-"
    assert rows(first, switching(spread(500, 2, 15_000)))[name].differs


# Tests


def judged(test: str, *systems: Subject) -> ComparedTest:
    (found,) = [one for one in compare_view(list(systems)).tests if one.test == test]
    return found


def rotating(*passed: bool, name: str = "equal") -> Subject:
    verdicts = [
        Verdict(name=f"{name}/{number}", passed=one, evidence=f"order {number}")
        for number, one in enumerate(passed)
    ]
    return run_with(result("THR-B-NEW", series=[], verdicts=verdicts))


def test_a_study_judges_the_test_as_a_whole() -> None:
    found = judged("THR-B-NEW", rotating(True, False), QNX, rotating(True, True), CE7)
    whole = found.claims[0]
    assert whole.name == "as a whole"
    assert [one.word for one in whole.cells] == ["fails", "holds", "holds", "holds"]
    assert [one.evidence for one in whole.cells] == ["order 1", "pass", "2 of 2 hold", "pass"]
    assert found.states == ["measured", "published", "measured", "published"]


def test_claims_that_fail_come_first_and_many_are_counted() -> None:
    found = judged("THR-B-NEW", rotating(True, False), rotating(True, True))
    assert [one.name for one in found.claims] == ["equal: 1", "equal: 0"]
    assert [one.look for one in found.claims[0].cells] == ["failed", "passed"]
    aside = [rotating(one, name="lowered_setschedprio") for one in (False, True)]
    cell = judged("THR-B-NEW", *aside).claims[0].cells[0]
    assert cell.look == "uncounted" and "does not count" in cell.evidence
    found = judged("THR-B-NEW", rotating(*[True] * 80), rotating(True))
    assert len(found.claims) == 60 and any("20 more claims" in one for one in found.notes)


@pytest.mark.slow
def test_a_test_says_what_it_measures_and_what_studies_said_in_words() -> None:
    found = judged("TMR-P-LAT", made_run(1), made_run(2))
    assert found.category == "timers" and "latency" in found.about.lower()
    said = judged("TMR-P-JIT", run_with(result("TMR-P-JIT")), QNX).published
    first = "Obenland 2000, load none: every configuration under 200 us, solaris-1rt least"
    assert said[0] == first and len(said) == len(set(said)) == 2
    resolution = judged("CLK-B-RES", run_with(result("CLK-B-RES")), QNX)
    assert "HP 1987: CLK-B-RES/setitimer/expiry_step min 10 ms" in resolution.published
    tests = [one.test for one in compare_view([QNX, CE7]).tests]  # in the battery's order
    assert tests.index("CLK-P-DUR") < tests.index("THR-P-SLS") < tests.index("IRQ-P-LAT")


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
    assert found.systems[1].apart == "it is emulated, and the reference is not emulated"
    rows = {one.address: one for test in found.tests for one in test.rows}
    row = rows["THR-P-SLS/2/switch"]
    assert row.cells[1].grey == found.systems[1].apart and row.cells[1].count == 20_000
    assert row.cells[2].figures[2].missing == "not published"
    (period,) = [one for one in found.summary if one.address.endswith("minimal_period")]
    assert [one.figures[1].statistic for one in period.cells] == ["min", "min", "min"]
    assert "THR-P-SLS/2/switch" in [one.address for one in found.summary]


# Tables of the older studies with a row for each run


def table(anchor: str, *subjects: Subject) -> PlainTable:
    (found,) = [one for one in compare_view(list(subjects)).tables if one.anchor == anchor]
    return found


def worst_cases(**changed: object) -> Subject:
    shuffle = labelled([7, 3500], "shuffle", kind="unnamed", scope="thread")
    results = [
        result("THR-P-SLS", series=[labelled([500, 1500], "switch", threads=2)]),
        result("THR-P-PRE", series=[labelled([600, 2500], "preemption", by="thread")]),
        result("SEM-P-SHF", series=[shuffle]),
    ]
    return run_with(*results, name="mine", **changed)


NOT_BESIDE = "emulated: not beside figures of hardware"


def without_realtime() -> Subject:
    ordinary = Conditions(load="heavy", cpu_config="shared", policy="other", realtime=False)
    switch = [labelled([500, 1500], "switch", threads=2)]
    return run_with(result("THR-P-SLS", series=switch, conditions=ordinary), name="mine")


@pytest.mark.parametrize(
    ("run", "cells"),
    [
        (worst_cases, ["1.50 us", "2.50 us", "3.50 us"]),
        (
            partial(worst_cases, system=EMULATED),
            ["emulated: not beside figures of hardware", "-", "-"],
        ),
        (partial(worst_cases, trust=UNTRUSTED), ["not trustworthy: throttled", "-", "-"]),
        (
            without_realtime,
            ["1.50 us (not comparable: measured without real-time scheduling)", "-", "-"],
        ),
        (lambda: run_with(result()), None),
    ],
)
def test_worst_cases_are_those_of_the_study_with_ours_below(
    run: Callable[[], Subject], cells: list[str] | None
) -> None:
    rows = {row[0]: row[2:] for row in table("worst-cases", run(), QNX).rows}
    assert rows["RTAI 3.9.1 (Linux 2.6.38)"] == ["12.06 us", "14.855 us", "12.986 us"]
    assert rows["Xenomai 2.6.2.1 (Linux 3.5.7)"] == ["1.422 us", "2.922 us", "1.282 us"]
    assert rows["Linux 3.5.7"][1] == "> 1 ms"
    assert rows.get("mine") == cells and len(rows) == 5 + (cells is not None)


def test_context_switches_and_message_queues_are_those_of_the_study() -> None:
    switches = [
        labelled([2000, 4000], "context_switch", kind=kind, scope="thread")
        for kind in ("unnamed", "sysv")
    ]
    run = run_with(result("SEM-P-RTP", series=switches), name="mine")
    rows = {(row[0], row[1]): row[2:] for row in table("context-switches", run, QNX).rows}
    assert rows["LynxOS 3.0.1", "none"] == ["20.1 us", "42.2 us", "24.2 us", "47.2 us"]
    assert rows["Solaris 8, 2 CPUs", "heavy"][3] == "639.191 ms"
    assert rows["mine, sysv", "heavy"] == ["3 us", "4 us", "-", "-"]
    assert ("mine, unnamed", "heavy") not in rows and len(rows) == 9
    queues = {row[0]: row[2:] for row in table("message-queues", QNX, run).rows}
    assert queues["LynxOS 3.0.1"] == [
        *("30.5 us", "50.1 us", "35.9 us", "57.7 us"),
        *("51.6 MB/s", "46.2 MB/s", "50 MB/s", "45.9 MB/s"),
    ]
    assert len(queues) == len(load_studies()["obenland-2000"].tables["message_queue"]["rows"])


def test_the_ladder_has_what_is_known_and_says_what_is_not() -> None:
    facts = {"limits.priority_min": 1, "limits.priority_max": 99, "kernel.hz": 250}
    known = run_with(result(), name="known", system=facts)
    unknown = run_with(result(), name="unknown", system={})
    rows = {row[0]: row[1:] for row in table("priorities", known, unknown).rows}
    assert rows["LynxOS 3.0.1"] == ["256", "not known", "100 Hz", "-"]
    assert rows["Solaris 8, 2 CPUs"][1].startswith("interrupt 160 to 169, real-time 100 to 159")
    assert rows["known"] == ["99", "real-time (SCHED_FIFO) 1 to 99", "250 Hz", "not known"]
    assert rows["unknown"] == ["not known"] * 4


def kernel_run(model: str, system: dict[str, object] | None = None, **changed: object) -> Subject:
    is_short = model == "full"
    facts = {"kernel.preemption": model} | (system or {})
    one = kernel_result(1 + is_short, is_short=is_short)
    return run_with(one, name=model, system=facts, **changed)


@pytest.mark.slow
def test_kernel_time_stands_beside_hps_with_the_improvement() -> None:
    found = table("kernel-preemption", kernel_run("none"), kernel_run("full"), QNX)
    assert [(row[0], row[1]) for row in found.rows] == [
        *(("HP 1987", "off"), ("HP 1987", "on"), ("HP 1987, improvement", "off / on")),
        *(("none", "none"), ("full", "full"), ("full, improvement", "reference / system")),
    ]
    assert found.rows[0][2:] == ["40 ms", "129 ms", "1127 ms"]
    assert found.rows[2][2:] == ["28", "37", "77"]
    assert 10 < float(found.rows[-1][3].split(" ")[0]) < 60


@pytest.mark.slow
def test_what_is_of_another_kind_or_not_trustworthy_is_divided_by_nothing() -> None:
    fair, bad = kernel_run("none"), kernel_run("full", trust=UNTRUSTED)
    emulated = kernel_run("full", EMULATED | {"kernel.name": "Linux"})
    for pair, said in (
        ((fair, emulated), "different kinds"),
        ((fair, bad), "no improvement is given: not trustworthy"),
        ((bad, fair), "no improvement is given: not trustworthy"),
    ):
        found = table("kernel-preemption", *pair)
        assert found.rows[-1][2:] == ["-", "-", "-"]
        assert any(said in one for one in found.notes)
        if bad in pair:
            told = [row[1] for row in found.rows if row[0] == "full"]
            assert told == ["full; not trustworthy: throttled"]
        else:
            assert "(emulated)" in found.rows[4][0]
    anchors = [one.anchor for one in compare_view([QNX, run_with(result())]).tables]
    assert anchors == ["context-switches", "message-queues", "worst-cases", "priorities"]


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


def tables(*subjects: Subject) -> list[PlainTable]:
    view = compare_view(list(subjects))
    return [one for one in view.tables if one.anchor.startswith("runs-of-one-system")]


def cells_of(*subjects: Subject) -> dict[str, str]:
    (found,) = tables(*subjects)
    (row,) = found.rows
    return dict(zip(found.columns, row, strict=True))


def ten() -> list[Subject]:
    return [a_run(number) for number in MIXED]


@pytest.mark.slow
def test_ten_runs_have_the_median_over_runs_with_its_order_statistics() -> None:
    subjects = ten()
    cells = cells_of(*subjects)
    means = sorted(one.held()[0].series.mean or 0 for one in subjects)  # type: ignore[union-attr]
    assert cells["runs"] == "10" and cells["series"].startswith("THR-P-SLS switch")
    middle, low, high = (format_value(one, "ns") for one in (median(means), means[1], means[8]))
    assert cells["mean"] == f"{middle} ({low.removesuffix(' us')} to {high})"
    assert len({format_value(one, "ns") for one in (means[0], means[1], means[8], means[9])}) == 4
    assert cells["worst of a run"].startswith("20.0 us (20.0 to 20.0 us")
    assert cells["worst of all runs"] == "20.0 us"
    assert tables(*subjects[:9]) == []
    assert "1 to 10 are runs of one machine" in tables(*subjects)[0].about
    assert "2 to 11" in tables(QNX, *subjects)[0].about  # published systems are no runs


HOT = Trust(grade="untrustworthy", reasons=["slowed down for heat"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        {"system": SYSTEM | {"machine.node": "two"}},
        {"system": SYSTEM | {"kernel.release": "6.13.0-rt"}},
        {"system": SYSTEM | {"power.governor": "powersave"}},
        {"system": SYSTEM | {"virtual.hypervisor": "TCG", "virtual.emulated": True}},
        {"plan": msgspec.structs.replace(document().plan, target="ssh:board")},
        {"trust": HOT},
    ],
)
def test_a_run_of_another_machine_kernel_or_trust_is_not_counted(other: dict[str, object]) -> None:
    usual = ten()
    assert tables(*usual[:9], a_run(9, **other)) == []
    (found,) = tables(*usual, a_run(11, **other))
    assert found.rows[0][1] == "10"
    left_out = any("1 more of this system: left out" in one for one in found.notes)
    assert left_out == ("trust" in other)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "value"), [("load", "none"), ("cpu_config", "shielded")])
def test_a_run_under_another_condition_is_not_counted(name: str, value: str) -> None:
    usual = result().conditions
    other = msgspec.structs.replace(usual, **{name: value})
    assert tables(*ten()[:9], a_run(9, switch(9, conditions=other))) == []
    assert cells_of(*ten()[:9], a_run(9, switch(9, conditions=usual)))["runs"] == "10"


@pytest.mark.slow
def test_series_of_other_parameters_or_counts_are_not_one() -> None:
    alike = [a_run(number, switch(number, params={"interval_ns": 5})) for number in TEN]
    assert tables(*alike)
    alike[3] = a_run(3, switch(3, params={"interval_ns": 6}))
    assert tables(*alike) == []
    cells = cells_of(*ten()[:9], a_run(MIXED[9], switch(MIXED[9], size=400)))
    assert cells["worst of a run"] == "unlike counts"
    assert cells["mean"] != "-" and cells["worst of all runs"] == "20.0 us"


@pytest.mark.slow
def test_two_systems_of_ten_runs_have_a_table_each() -> None:
    other = [a_run(number, system=SYSTEM | {"kernel.release": "6.13"}) for number in TEN]
    found = tables(*ten(), *other)
    assert [one.anchor for one in found] == ["runs-of-one-system", "runs-of-one-system-2"]
    assert [one.about[8:16] for one in found] == ["1 to 10 ", "11 to 20"]
    guests = [a_run(number, system=EMULATED) for number in TEN]
    assert tables(*guests) and tables(a_run(0), *guests) == []  # apart from hardware


def test_runs_that_depend_on_the_one_before_have_no_interval() -> None:
    """In the order in which they ran, not that of the command."""
    (found,) = tables(*(at(number, number) for number in TEN))
    cells = dict(zip(found.columns, found.rows[0], strict=True))
    for name in ("mean", "p50", "worst of a run"):
        assert cells[name].endswith(" us (runs depend)")
    depend = "Runs depend: a figure of the series goes with that of the run before"
    assert any(depend in one for one in found.notes)
    rising = [at(number, minute) for minute, number in enumerate(MIXED)]
    rising.sort(key=lambda one: one.held()[0].series.mean or 0)
    (found,) = tables(*rising)
    assert all(" to " in one and "depend" not in one for one in found.rows[0][2:5])
    assert "1 to 10" in found.about
