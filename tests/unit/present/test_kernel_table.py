"""What is said of the operations of the kernel, and what is not."""

from __future__ import annotations

import numpy as np
import pytest

from hardstone.model import Result
from hardstone.present.kernel_history import history_line, kernel_history
from hardstone.present.kernel_summary import kernel_lines
from hardstone.present.kernel_table import KernelTable, kernel_table, rate_text
from tests.unit.stats import make
from tests.unit.stats.blocked import dispatch, idle, kernel_result, result, with_reference_at_work


def table(found: Result) -> KernelTable:
    shown = kernel_table(found)
    assert shown is not None
    return shown


def test_rows_are_worst_first_with_all_and_the_reference_apart() -> None:
    found = table(kernel_result())
    assert found.rows[0].operation == "exit" and found.rows[0].rank == "1"
    assert [row.rank for row in found.rows] == ["1", "2=", "2="]
    assert found.whole.operation == "all" and found.whole.rank == ""
    assert found.reference is not None and found.reference.operation == "reference"
    assert found.level == "p99"
    assert found.rate_above == "2 us"


def test_a_row_has_hps_three_figures_with_intervals() -> None:
    row = table(kernel_result()).rows[0]
    assert row.length_90.endswith(" us") and row.length_99.endswith(" us")
    assert " to " in row.interval_90 and " to " in row.interval_99 and " to " in row.interval
    assert row.worst.endswith(" us")
    assert row.rate.endswith(" /s") and " to " in row.rate_interval
    assert row.kernel_share == "95\N{NO-BREAK SPACE}%"


def test_what_cannot_be_told_is_said() -> None:
    notes = " ".join(table(kernel_result()).notes)
    assert "Nothing shorter than " in notes and " is told from the idle latency" in notes
    assert "Too rare to have been seen" in notes and "1 ms: 0.75" in notes  # 3 / (4000 x 1 ms)
    assert "not distinguishable" in notes


def test_a_length_below_the_idle_latency_is_a_bound() -> None:
    row = table(kernel_result(is_short=True)).whole
    assert row.length_90.startswith("< ")


def test_few_releases_give_no_share_of_time() -> None:
    row = table(kernel_result(count=300)).rows[0]
    assert row.length_99 == "-" and row.interval_99 == ""


def test_a_missing_reference_is_said() -> None:
    found = kernel_result()
    found.series = [one for one in found.series if one.labels["operation"] != "none"]
    shown = table(found)
    assert any("reference (operation none)" in note for note in shown.notes)
    assert shown.rate_above == "" and shown.rows[0].rate == "-" and shown.rows[0].length_90 == "-"
    assert shown.rows[0].quantile != "-"


def test_a_reference_of_other_processes_is_said_and_gives_no_rates_and_sections() -> None:
    found = table(with_reference_at_work(kernel_result(), still=0.585, waited=0.66))
    (note,) = [one for one in found.notes if one.startswith("The reference is that of other")]
    assert "before 58\N{NO-BREAK SPACE}% of its values" in note
    assert "for 66\N{NO-BREAK SPACE}% of its time" in note and "no rates" in note
    assert not any("missing" in one or "is told from the idle" in one for one in found.notes)
    assert found.reference is not None
    rows = [*found.rows, found.whole, found.reference]
    assert {(row.rate, row.rate_interval, row.length_90, row.length_99) for row in rows} == {
        ("-", "", "-", "-")
    }
    assert [row.rank for row in found.rows] == ["1", "2=", "2="]
    ((_, text),) = kernel_lines(
        make.document(results=[with_reference_at_work(kernel_result(), still=0.9)])
    )
    assert text.startswith("worst at p99: exit (") and "of kernel time" not in text


def test_residuals_that_do_not_fall_give_no_rate() -> None:
    """Each wake-up from the operation takes 8 us more, and nothing blocks for less."""
    found = kernel_result()
    late = np.random.default_rng(1).integers(18_000, 20_000, 1000).tolist()
    found.series = [one for one in found.series if one.labels["operation"] != "exit"]
    found.series.append(dispatch("exit", late))
    shown = table(found)
    (row,) = [row for row in shown.rows if row.operation == "exit"]
    assert (row.rate, row.rate_interval, row.length_90, row.length_99) == ("-", "", "-", "-")
    assert row.quantile != "-" and row.worst != "-"
    assert any(note.startswith("No rate and no sections of exit: ") for note in shown.notes)


def test_uncounted_kernel_time_is_said() -> None:
    shown = table(kernel_result(share=None))
    assert any(note.startswith("Time in the kernel not counted: ") for note in shown.notes)
    assert shown.whole.length_90 == "-" and shown.whole.rate != "-"


def test_blocking_beyond_kernel_time_is_said() -> None:
    shown = table(kernel_result(share=0.01))
    assert any(note.startswith("Blocked for longer than in the kernel: ") for note in shown.notes)
    assert not any("Blocked for longer" in note for note in table(kernel_result()).notes)


@pytest.mark.slow
def test_other_processes_on_the_cpu_are_said() -> None:
    found = kernel_result()
    found.events[0].data["waited_ns"] = 4_000_000_000
    notes = table(found).notes
    assert any(note.startswith("Other processes had the CPU for up to 40") for note in notes)
    assert not any("Other processes" in note for note in table(kernel_result()).notes)


def test_a_reference_that_is_late_itself_is_said() -> None:
    rng = np.random.default_rng(1)
    wide = idle(rng, 2_000)
    wide[:60] += 20_000  # 3 %, all beyond three deviations
    found = result({"fork": idle(rng, 2_000)}, {"fork": 0.9}, reference=wide)
    assert any("releases of the reference are above" in note for note in table(found).notes)


@pytest.mark.slow
def test_traced_sections_stand_beside_the_estimate() -> None:
    section = dispatch("exit", [1_000] * 90 + [200_000] * 10, "section")
    section.labels["kind"] = "preempt"
    found = kernel_result()
    found.series.append(section)
    (row,) = table(found).traced
    assert (row.operation, row.kind, row.count) == ("exit", "preempt", "100")
    assert row.length_99 == row.longest == "200 us"
    assert row.estimated_99 == table(kernel_result()).rows[0].length_99


def test_hps_figures_are_those_of_the_study() -> None:
    found = kernel_history()
    assert found.machine == "HP-UX/RT on HP 9000 Series 800" and found.short == "HP 1987"
    assert found.off == {"time_90": 40e6, "time_99": 129e6, "max": 1127e6}
    assert found.on == {"time_90": 1.4e6, "time_99": 3.4e6, "max": 14.6e6}
    assert found.improvement == {"time_90": 28, "time_99": 37, "max": 77}
    assert "preemption off 90 % 40 ms, 99 % 129 ms, longest 1127 ms" in history_line(None)
    assert history_line("emulated") == "HP 1987 is not shown: emulated."


def test_the_line_of_one_screen() -> None:
    ((who, text),) = kernel_lines(make.document(results=[kernel_result(), make.result()]))
    assert who == "KRN-P-PRE"
    assert text.startswith("worst at p99: exit (")
    assert "of kernel time 90\N{NO-BREAK SPACE}% in sections < " in text


def alike(**others: np.ndarray) -> Result:
    """`map` and `pipe` are as the reference, or earlier."""
    rng = np.random.default_rng(7)
    found = {"map": idle(rng, 2_000), "pipe": idle(rng, 2_000) - 1_000} | others
    return result(found, {}, reference=idle(rng, 2_000))


def test_what_is_like_the_reference_is_marked_and_named() -> None:
    found = table(alike(exit=idle(np.random.default_rng(8), 2_000) + 5_000))
    ranks = [(row.rank, row.operation) for row in found.rows]
    assert ranks == [("1", "exit"), ("~", "map"), ("~", "pipe")]
    assert (found.whole.rank, found.reference and found.reference.rank) == ("", "")
    (note,) = [one for one in found.notes if one.startswith("~: not distinguishable from the ref")]
    assert "rank: map, pipe." in note and "exit" not in note
    assert not any("Too few releases" in one for one in found.notes)


def test_the_line_never_calls_what_is_like_the_reference_the_worst() -> None:
    late = idle(np.random.default_rng(8), 2_000) + 5_000
    ((_, text),) = kernel_lines(make.document(results=[alike(exit=late)]))
    assert text.startswith("worst at p99: exit (") and "map" not in text and "pipe" not in text
    ((_, text),) = kernel_lines(make.document(results=[alike()]))
    assert text.startswith("at p99 no operation is distinguishable from the reference")
    assert "worst" not in text


def test_ranks_without_a_reference_say_so() -> None:
    found = alike()
    found.series = [one for one in found.series if one.labels["operation"] != "none"]
    ((_, text),) = kernel_lines(make.document(results=[found]))
    assert text.startswith("worst at p99: map (") and ", without a reference)" in text
    found.series.insert(0, dispatch("none", [5_000] * 200))
    notes = table(found).notes
    assert any(one.startswith("The reference has too few releases for p99") for one in notes)


def test_rates_have_two_digits() -> None:
    assert [rate_text(rate) for rate in (0, 0.034, 3.46, 34.6, 346, 34_600)] == [
        "0 /s",
        "0.034 /s",
        "3.5 /s",
        "35 /s",
        "350 /s",
        "35000 /s",
    ]
