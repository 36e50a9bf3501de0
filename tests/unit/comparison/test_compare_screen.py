"""A comparison on one screen: 30 lines of 80 columns, 37 of more than 3 systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from hardstone.comparison.assemble import compare_view
from hardstone.comparison.screen import (
    MOST_LINES,
    MOST_OF_MANY,
    comparison_lines,
    different_names,
    print_comparison,
)
from hardstone.comparison.view import CompareView
from hardstone.model import Result, Verdict
from hardstone.systems.subjects import Amount, MeasuredRun, published_system
from hardstone.wording import numbers_text
from tests.unit.comparison import compared
from tests.unit.comparison.made_systems import QNX, labelled, run_with
from tests.unit.stats import make

HELD = [Verdict(name="in_order", passed=True, evidence="in order")]
OBENLAND = ("lynx", "solaris-2proc", "solaris-1proc", "solaris-1rt")
VIEWS = {
    "two": compared.two_systems,
    "six": compared.six_systems,
    "emulated": compared.emulated_systems,
    "twenty": compared.twenty_systems,
}


def shown(view: CompareView, width: int = 80) -> list[str]:
    return [line.plain for line in comparison_lines(view, width)]


def most_lines(view: CompareView) -> int:
    return MOST_LINES if len(view.columns) <= 3 else MOST_OF_MANY


@pytest.mark.slow
@pytest.mark.parametrize("name", VIEWS)
def test_it_fits_a_screen(name: str) -> None:
    view = VIEWS[name]()
    for width in (80, 120):
        lines = shown(view, width)
        assert len(lines) <= most_lines(view)
        systems = len(view.columns) if len(view.columns) <= 6 else 0
        tables = lines[1 + systems :]  # names of systems are cut by the console
        assert max(map(len, tables)) <= width


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 6, 7, 13, 20])
def test_every_system_is_there(count: int) -> None:
    lines = shown(compared.made_view([compared.made_run(n) for n in range(1, count + 1)]))
    assert all(any(f"board {n}" in line for line in lines) for n in range(1, count + 1))
    assert len(lines) <= (MOST_LINES if count <= 3 else MOST_OF_MANY)
    assert lines[0] == f"{count} systems; 1 is the reference: board 1"


@pytest.mark.parametrize("width", [40, 50, 60])
def test_on_a_narrow_screen_no_system_is_cut_off(width: int) -> None:
    lines = shown(compared.six_systems(), width)
    head = next(n for n, line in enumerate(lines) if "worst observed" in line)
    figures = lines[head : head + 7]
    assert [line.split()[0] for line in figures[1:]] == ["1", "2", "3", "4", "5", "6"]
    assert max(map(len, figures)) <= width


def test_a_figure_keeps_its_unit_where_a_column_is_narrow() -> None:
    view = compared.twenty_systems()
    row = view.decisive[0]
    worst = Amount("ns", "max", "made up", value=47_400.0)
    grey = [replace(one, worst=worst, is_grey=True, why="a reason") for one in row.cells]
    lines = shown(replace(view, decisive=[replace(row, cells=grey)]), 60)
    assert sum("(47.4us)" in line for line in lines) == 20


def test_names_that_begin_alike_are_told_apart() -> None:
    hp = compared.made_view([published_system("hpux-off"), published_system("hpux-on")])
    lines = shown(hp)
    assert "preemption off" in lines[1] and "preemption on:" in lines[2]
    names = ["a" * 50 + " first", "a" * 50 + " last"]
    assert different_names(names, 20) == [
        "a" * 9 + "\u2026aaaa first",
        "a" * 9 + "\u2026aaaaa last",
    ]
    assert different_names(["short", "a" * 50], 20) == ["short", "a" * 19 + "\u2026"]


def line_of(lines: Sequence[str], start: str) -> str:
    (found,) = [line for line in lines if line.startswith(start)]
    return found


def test_study_hardware_and_year_stand_with_published_systems() -> None:
    view = compared.six_systems()
    for width in (80, 120, 300):
        lines = shown(view, width)
        text = " ".join(" ".join(lines).split())
        assert "Dedicated Systems 2012" in line_of(lines, " 2 QNX")
        assert "Obenland 2000" in line_of(lines, " 5 Solaris")
        assert [one.hardware for one in view.columns if one.hardware not in text] == []
    # published figures keep their digits, bounds and gaps
    lines = shown(view)
    assert " ".join(line_of(lines, "CLK-P-DUR").split()).endswith("10 us 12 us 30 us - -")
    assert "< 100 ns" in line_of(lines, "MUT-P-ARN acquire")
    assert not any("One run each" in line for line in lines)


def test_two_systems_are_compared_in_words() -> None:
    view = compared.two_systems()
    lines = shown(view)
    assert "*" in line_of(lines, "THR-P-SLS 2 ") and "*" not in line_of(lines, "CLK-P-DUR")  # tick
    assert "> 1.4 (1.36-1.45)" in line_of(lines, "CLK-P-DUR")
    assert "One run each proves no difference; use hardstone gate --pairs." in lines
    assert line_of(lines, "differs").endswith("kernel: Linux 6.13.0 (1), Linux 6.14.0 (2)")
    assert any("PREEMPT_RT (1), PREEMPT_DYNAMIC voluntary (2)" in line for line in lines)
    assert line_of(lines, "stars of 5").split()[-1] == "<=4.5"  # figures are missing
    known = replace(view.columns[1], rating=replace(view.columns[1].rating, is_at_most=False))
    stars = line_of(shown(replace(view, columns=[view.columns[0], known])), "stars of 5")
    assert stars.split()[-2:] == ["-", "4.5"]


def test_what_may_not_be_compared_stands_in_brackets() -> None:
    lines = shown(compared.emulated_systems())
    assert line_of(lines, "THR-P-SLS 2 ").count("(") == 1
    assert any(
        line.startswith("apart") and "emulated: not comparable with" in line for line in lines
    )
    assert any("( ) not comparable" in line for line in lines)
    assert not any("( )" in line for line in shown(compared.two_systems()))
    alone = shown(compared.worst_alone_grey(compared.two_systems(), "5 values"))
    assert " (53.5us) " in line_of(alone, "CLK-P-DUR")
    said = "why not     worst of CLK-P-DUR, TMR-P-LAT, THR-P-SLS 2 and 8 more: 5 values"
    assert said in alone
    assert any("( ) not comparable" in line for line in alone)


def run_of(number: int, *results: Result) -> MeasuredRun:
    return compared.made_run(number, results=list(results))


def test_two_runs_have_both_medians_and_their_ratio_or_why_there_is_none() -> None:
    few, many = make.result(values=[20_000] * 15), make.result(values=[30_000] * 5_000)
    lines = shown(compare_view([run_of(1, few), run_of(2, many, make.result("SEM-P-NEW"))]))
    assert line_of(lines, "TMR-P-LAT").split()[-5:] == ["20", "us", "30", "us", "-"]
    text = " ".join(" ".join(lines).split())
    assert "ratio of TMR-P-LAT: fewer than 10 of 15 values lie beyond the quantile" in text
    assert "worst of TMR-P-LAT: 5 000 values, the reference 15: more values" in text
    assert "only 2 measured SEM-P-NEW" in text and len(lines) <= MOST_LINES


def test_two_runs_of_a_test_that_is_not_in_the_summary_are_compared() -> None:
    values = list(range(20_000, 20_200)) * 25
    views = [run_of(n, make.result("SEM-P-NEW", values)) for n in (1, 2)]
    lines = shown(compare_view(views))
    assert "= 1 (" in line_of(lines, "SEM-P-NEW")
    nothing = shown(compare_view([run_of(1, make.result()), run_of(2, make.result("SEM-P-NEW"))]))
    assert "No series was measured in both runs." in nothing


def test_more_runs_say_how_many_medians_differ() -> None:
    lines = shown(compare_view([compared.made_run(n) for n in (1, 2, 3)]))
    (medians,) = [line for line in lines if line.startswith("medians")]
    assert "for" in medians and "series" in medians and len(lines) <= MOST_LINES


def test_the_command_is_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    view = compared.two_systems()
    long = replace(view.columns[0], id="a-name-of-a-run-" * 8)
    print_comparison(replace(view, columns=[long, view.columns[1]]))
    command = f"hardstone show {'a-name-of-a-run-' * 8} --why"
    assert command in capsys.readouterr().out


def test_hostile_names_stay_on_their_line() -> None:
    view = compared.two_systems()
    bad = replace(view.columns[0], label="a\x1b[31m\nb\u202e", apart="x\ny")
    lines = shown(replace(view, columns=[bad, view.columns[1]]))
    assert not any("\n" in line or "\x1b" in line or "\u202e" in line for line in lines)


@pytest.mark.parametrize(
    ("numbers", "short", "in_words"),
    [
        ([], "", ""),
        ([1], "1", "1"),
        ([2, 1], "1-2", "1, 2"),
        ([1, 2, 3, 5], "1-3, 5", "1 to 3, 5"),
        ([1, 3, 4, 5, 7, 9, 10], "1, 3-5, 7, 9-10", "1, 3 to 5, 7, 9, 10"),
        ([2, 4, 6], "2, 4, 6", "2, 4, 6"),
    ],
)
def test_numbers_with_ranges(numbers: list[int], short: str, in_words: str) -> None:
    assert (numbers_text(numbers, "-", 2), numbers_text(numbers)) == (short, in_words)


def obenland_run(**changed: object) -> MeasuredRun:
    """A run with figures of Obenland's tests: blocks, context switches and message queues."""
    scopes = ("thread", "process")
    block = labelled([10_000_000] * 20, "time", kind="add")
    switches = [
        labelled([2_500] * 20, "context_switch", kind="unnamed", scope=one) for one in scopes
    ]
    queues = [
        labelled([3_100] * 20, "latency", kind="mq", scope=one, size_bytes=64) for one in scopes
    ]
    rates = [
        labelled([2_560_000_000] * 20, "throughput", kind="mq", scope=one, size_bytes=8192)
        for one in scopes
    ]
    for one in rates:
        one.unit = "bytes_per_s"
    return run_with(
        make.result("CLK-P-DUR", series=[labelled([100] * 20, "tick")]),
        make.result("RSP-P-FIX", series=[block], params={"block_ns": 10_000_000}),
        make.result("SEM-P-RTP", series=switches),
        make.result("MSG-P-LAT", series=queues),
        make.result("MSG-P-THR", series=rates),
        system={"kernel.name": "Linux"},
        **changed,
    )


def test_where_no_decisive_figure_is_shared_all_shared_ones_are_shown() -> None:
    lynx, solaris = published_system("lynx", "none"), published_system("solaris-1rt", "none")
    lines = shown(compare_view([obenland_run(), lynx, solaris]))
    assert not any(line.startswith("CLK-P-DUR") for line in lines)  # no row of dashes
    block = line_of(lines, "RSP-P-FIX/add/time")
    assert block.split()[1:] == ["worst", "10", "ms", "9.9", "ms", "10", "ms"]
    text = " ".join(" ".join(lines).split())
    assert "MSG-P-LAT/mq/thread/64/latency worst 3.10 us 50.1 us 98.7 us" in text
    assert "mean 3.10 us 30.5 us 90.5 us" in text
    assert "MSG-P-THR/mq/thread/8192/throughput least 2.56 GB/s 46.2 MB/s 62.4 MB/s" in text
    assert "SEM-P-RTP/unnamed/thread/ worst 2.50 us (42.2 us) (65.4 us)" in text
    assert "why not 2-3: SEM-P-RTP: not comparable: on Linux this kind enters the kernel" in text
    assert any("( ) not comparable" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_more_shared_figures_than_a_screen_has_lines_are_named() -> None:
    lines = shown(compare_view([published_system(one) for one in ("qnx", "ce7")]))
    said = "and more, of THR-P-NEW, SEM-P-NEW, IRQ-P-LAT and 2 more too: with -o"
    assert said in lines and len(lines) <= MOST_LINES + 14
    many = shown(compare_view([obenland_run(), *map(published_system, ("qnx", "ce7", "linux-rt"))]))
    assert line_of(many, "all of it").endswith("to the command (16 more shared)")


def test_two_studies_show_what_they_share_or_that_they_share_nothing() -> None:
    both = shown(compare_view([published_system(one) for one in ("qnx", "xenomai")]))
    assert line_of(both, "THR-P-SLS/2/switch").split()[1:] == ["worst", "2.8", "us", "1.422", "us"]
    assert not any(line.startswith(("CLK-P-DUR", "SIM-S-RT")) for line in both)
    none = shown(compare_view([published_system(one) for one in ("qnx", "lynx")]))
    at = none.index("The systems share no figure.")
    assert none[at + 1].startswith("1 has CLK-P-DUR, THR-P-SLS")
    assert none[at + 2].startswith("2 has RSP-P-FIX, SEM-P-RTP")
    three = shown(compare_view([published_system(one) for one in ("qnx", "xenomai", "lynx")]))
    assert any(line.startswith("3 shares none of its figures: RSP-P-FIX") for line in three)


def test_claims_that_two_systems_were_judged_by_are_shared() -> None:
    lines = shown(compare_view([run_of(1, make.result("THR-B-RR", [], verdicts=HELD)), QNX]))
    assert line_of(lines, "THR-B-RR").split() == ["THR-B-RR", "claims", "holds", "holds"]


def test_many_systems_have_their_shared_figures_in_blocks() -> None:
    four = [published_system(one, "none") for one in OBENLAND]
    heavy = [obenland_run(name=f"board {n}") for n in range(4)]
    lines = shown(compare_view([*heavy, *four]))
    at = lines.index("RSP-P-FIX/add/time worst")
    assert lines[at + 1].startswith("  1: 10 ms, 2: 10 ms") and "5: 9.9 ms" in lines[at + 1]
    assert line_of(lines, " 5 LynxOS") and len(lines) <= MOST_OF_MANY + 24


def test_shares_of_kernel_time_say_what_they_are() -> None:
    lines = shown(compare_view([published_system(one) for one in ("hpux-off", "hpux-on")]))
    at = lines.index(line_of(lines, "KRN-P-PRE/all/dispatch"))
    assert lines[at].split()[1:] == ["worst", "1.127", "s", "14.6", "ms"]
    assert lines[at + 1].split() == ["90", "%", "40", "ms", "1.4", "ms"]
    assert "shorter sections made up that share of kernel time" in " ".join(lines)
