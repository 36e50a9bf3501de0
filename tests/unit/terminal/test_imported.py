"""A run of a file of another tool on a terminal: whose figures they are, what the file does not
say, and a reason in the place of what follows from nothing."""

from __future__ import annotations

import pytest

from hardstone.model import Conditions, Loss, RunDocument
from hardstone.present.answer import answer_of, screen_rows, title_of
from hardstone.present.deadlines import misses_document
from hardstone.present.overview import conditions_text
from hardstone.systems.rating import rate_run
from hardstone.terminal.one_screen import print_screen
from hardstone.terminal.whole_run import print_misses, print_whole
from tests import imported
from tests.unit.report.media import flat, printed, sketched, words
from tests.unit.stats import make

QUIET = [2500 + 37 * number % 9000 for number in range(3000)]
ASSUMED = Loss(what="unit", text="The text does not state its unit: microseconds are assumed.")
DROPPED = Loss(what="overflow", text="The tool dropped values, and does not say how many.")
EXTREMES_ONLY = "-: the file has minimum, mean and maximum only, so no quantile"


def cpu(number: int) -> dict[str, int | str]:
    return {"part": "total", "cpu": number}


def thread(number: int) -> dict[str, int | str]:
    return {"part": "total", "thread": number}


def histogram() -> RunDocument:
    late = [*QUIET, 57_300]
    return imported.imported_run(
        imported.cyclictest(late), imported.cyclictest(QUIET, labels=cpu(1))
    )


def overflowed() -> RunDocument:
    return imported.imported_run(imported.cyclictest([*QUIET, *[57_000] * 80], buckets=20))


def cut() -> RunDocument:
    series = imported.cyclictest([*QUIET, *[57_000] * 80], buckets=20, is_cut=True)
    return imported.imported_run(series, losses=[DROPPED])


def bare() -> RunDocument:
    return imported.imported_run(imported.bare(1760), imported.bare(1500, labels=cpu(1)))


def means() -> RunDocument:
    result = imported.imported_result(imported.only_mean(), test="zephyr")
    return imported.imported_run(result=result, tool="zephyr", version="3.6", form="text")


def without_maximum() -> RunDocument:
    lacking = imported.cyclictest(QUIET, min=None, mean=None, max=None)
    return imported.imported_run(lacking, tool="rtla", version=None)


RUNS = [histogram, overflowed, cut, bare, means, without_maximum]


def screen(document: RunDocument) -> str:
    return printed(print_screen, document)


def whole(document: RunDocument) -> str:
    return printed(print_whole, document)


@pytest.mark.parametrize("run", RUNS)
def test_every_screen_says_whose_figures_they_are_and_what_is_not_said(run: object) -> None:
    document = run()  # type: ignore[operator]
    tool = document.imported
    for text in (flat(screen(document)), flat(whole(document))):
        assert f"read from cyclictest-hist.txt, {tool.format} of" in text
        assert "hardstone did not measure it" in text
        assert all(loss.text in text for loss in tool.losses)
        for wrong in ("not scheduled as real-time", "not run:", "hardstone run", "stars", "None"):
            assert wrong not in text


def test_the_first_screen_of_a_histogram() -> None:
    text = screen(histogram())
    assert "machine and kernel not known\n" in text
    assert "policy fifo 90, CPU 0-1, not known: memory lock, idle states, load" in text
    said = (
        "Worst wake-up 57 us on CPU 0 (median <7 us, 6 001 values), measured by cyclictest 2.40: "
        "real-time as measured, load not known"
    )
    assert said in flat(text)
    (row,) = [line for line in text.splitlines() if line.startswith("   0 ")]
    assert row.split() == ["0", "3", "001", "2", "us", "<7", "us", "<12", "us", "57", "us"]
    assert "max at" not in text


def test_a_quantile_of_whole_microseconds_is_less_than_the_next_one() -> None:
    """5 us are 5 000 to 5 999 ns; one in the step of the maximum is shown as the maximum is."""
    document = imported.imported_run(imported.cyclictest([5000] * 1990 + [7000] * 100))
    (row,) = [line for line in screen(document).splitlines() if line.startswith("   0 ")]
    assert row.split() == ["0", "2", "090", "5", "us", "<6", "us", "7", "us", "7", "us"]
    assert "(median <6 us" in screen(document) and "<6 us" in whole(document)
    assert "p99 7 us" in whole(document) and "<8 us" not in whole(document)


def timerlat(irq: int, thread: int, **labels: str) -> RunDocument:
    """Of rtla: the interrupt of the wake-up, which is hardstone's, and threads, which are not."""
    one = imported.bare(most=irq, labels={"part": "interrupt", "cpu": 0})
    others = [
        imported.bare(most=thread + cpu, labels={"part": "thread", "cpu": cpu}, name="timerlat")
        for cpu in range(2)
    ]
    results = [
        imported.imported_result(one),
        imported.imported_result(*others, test="rtla"),
    ]
    return imported.imported_run(results=results, tool="rtla", version=None, command=None)


def test_the_answer_is_the_wake_up_of_a_tool_that_ends_at_another_moment() -> None:
    """An interrupt latency would flatter; and what ends in the kernel is no judgement."""
    document = timerlat(41_000, 367_000)
    answer = answer_of(document)
    assert (answer.what, answer.grade) == ("wake-up (thread)", "unjudged")
    assert answer.figure is not None and answer.figure.worst_ns == 367_001
    text = flat(screen(document))
    assert "Worst wake-up (thread) 367 us on CPU 1" in text
    assert "not judged: it ends in the kernel, before the return to user space" in text
    assert "no maximum in the file" not in text + words(sketched(document))
    assert screen_rows(document)[0].states == ["not in the file"]
    assert title_of(document, answer).endswith("worst wake-up (thread) 367 us")


def test_hardstones_own_moments_come_first_however_late_others_are() -> None:
    document = timerlat(41_000, 367_000)
    document.results[0].series.append(imported.bare(most=50_000))
    assert answer_of(document).what == "wake-up"
    assert "Worst wake-up 50 us" in screen(document)


def test_a_quantile_in_the_overflow_is_a_bound() -> None:
    text = screen(overflowed())
    (row,) = [line for line in text.splitlines() if line.startswith("   0 ")]
    assert ">20 us" in row
    assert "80 values are above the range of the histogram" in text
    assert "p99 above 20 us" in flat(whole(overflowed()))


def test_a_cut_histogram_has_bars_and_no_quantile() -> None:
    text = screen(cut())
    (row,) = [line for line in text.splitlines() if line.startswith("   0 ")]
    assert row.split() == ["0", "3", "000", "or", "more", "2", "us", "-", "-", "57", "us"]
    assert "-: the file has no count of the values above 20 us, so no quantile" in text
    assert "values above the range of the histogram are not counted in the file" in text
    assert "(3 000 values or more)" in flat(text)
    assert "values above the range of its histogram are not counted" in flat(text)


def test_extremes_alone_have_no_quantile_and_no_bars() -> None:
    text = screen(bare())
    assert EXTREMES_ONLY in text and "bars" not in text
    assert EXTREMES_ONLY in whole(bare())
    assert "Worst wake-up 34 us on CPU 0 (3 260 values)" in flat(text)


def test_a_mean_has_no_minimum_and_no_maximum() -> None:
    text = screen(means())
    assert "No worst value: the file of Zephyr 3.6 has means only" in flat(text)
    (row,) = [line for line in text.splitlines() if line.startswith("switch")]
    assert row.split() == ["switch,", "k_to_k", "1.20", "us", "zephyr"]
    (row,) = [line for line in whole(means()).splitlines() if "k_to_k" in line]
    assert row.split()[-5:] == ["-"] * 5
    assert "the file has a mean only, so no quantile" in whole(means())


def test_a_file_without_a_maximum_shows_its_quantiles() -> None:
    text = screen(without_maximum())
    assert "No worst value: the file of rtla has no maximum" in text
    assert "<7 us" in text and "p99 <12 us" in text


def test_threads_are_not_called_cpus() -> None:
    document = imported.imported_run(
        imported.cyclictest(QUIET, labels=thread(0)),
        imported.cyclictest([*QUIET, 57_000], labels=thread(1)),
    )
    text = screen(document)
    assert "thread       wake-ups" in text
    assert "57 us of thread 1" in flat(text)
    assert "not bound to a CPU" not in whole(document)


def test_keys_that_are_not_known_are_counted_and_listed() -> None:
    document = imported.imported_run(imported.bare(), unknown={"a.b": "[1]", "c": '"\x1b[31m"'})
    assert "2 keys of the file not known to hardstone: see --all" in flat(screen(document))
    text = whole(document)
    assert "2 keys of the file not known to hardstone" in text
    assert "a.b [1]" in text


def test_a_series_outside_of_the_fixed_rows() -> None:
    below = imported.linear([-5] * 80 + [4000] * 40, 1000, 0, name="turn")
    document = imported.imported_run(result=imported.imported_result(below, test="oslat"))
    assert "median <0, 120 values" in screen(document)
    assert conditions_text(document).endswith("not known: memory lock, idle states, load")


# ---- the judgement ----

POLICY_UNSAID = "not judged: the file does not say whether the thread was real-time"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (bare(), "real-time as measured, load not known"),
        (
            imported.imported_run(imported.bare(most=100_000)),  # 100 us are up to 100 999 ns
            "real-time as measured for periods of 10 ms and longer, load not known",
        ),
        (imported.imported_run(imported.bare(999)), "not judged: fewer than 1 000 values"),
        (
            imported.imported_run(
                result=imported.imported_result(imported.bare(), conditions=Conditions())
            ),
            POLICY_UNSAID,
        ),
        (
            imported.imported_run(imported.bare(), losses=[ASSUMED]),
            "not judged: the file does not state the unit of its figures",
        ),
        (
            imported.imported_run(
                imported.bare(), losses=[Loss(what="count", text="No count is in the file.")]
            ),
            "not judged: the file does not say how many values there were",
        ),
        (
            imported.imported_run(imported.bare(mean=99_000.0)),
            "not judged: figures of the test cannot be true",
        ),
    ],
)
def test_a_judgement_needs_what_it_rests_on(document: RunDocument, said: str) -> None:
    answer = answer_of(document)
    assert answer.judgement.replace("\N{NO-BREAK SPACE}", " ") == said
    assert "measured by cyclictest 2.40: " in answer.sentence
    assert answer.steps == []


def test_a_file_is_not_rated() -> None:
    ((_, rating),) = rate_run(histogram())
    assert rating.overall is None
    assert "read from a file of another tool" in rating.why_none
    assert all(one.stars is None for one in rating.categories)


def test_an_own_run_whose_load_is_not_known_is_not_called_unloaded() -> None:
    conditions = Conditions(policy="fifo", priority=98, realtime=True)
    document = make.document(results=[make.result(values=QUIET, conditions=conditions)])
    assert answer_of(document).judgement.endswith("load not known")


# ---- deadlines ----


def test_misses_of_a_deadline() -> None:
    text = flat(printed(lambda run, stream: print_misses(run, 10_000, stream), bare()))
    assert "the file has minimum, mean and maximum only, so no share above a deadline" in text
    (first, _) = misses_document(bare(), 34_999).series
    assert (first.least_count, first.most_count, first.problem) == (0, 0, "")
    (first, _) = misses_document(bare(), 34_500).series
    assert first.problem and first.most_count is None
    (only,) = misses_document(overflowed(), 30_000).series
    assert (only.least_count, only.most_count, only.is_past) == (1, 80, True)
    assert any("above the last bucket of the file" in note for note in _notes(overflowed()))


def _notes(document: RunDocument) -> list[str]:
    return misses_document(document, 30_000).notes
