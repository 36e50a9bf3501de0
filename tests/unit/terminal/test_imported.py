"""A run of a file of another tool on a terminal: whose figures they are, what the file does not
say, and a reason in the place of what follows from nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hardstone.calling import as_typed
from hardstone.model import Conditions, Loss, RunDocument
from hardstone.present.answer import answer_of, screen_rows, title_of
from hardstone.present.deadlines import misses_document
from hardstone.systems.rating import rate_run
from hardstone.terminal.one_screen import print_screen
from hardstone.terminal.whole_run import print_misses, print_whole
from tests import imported
from tests.unit.golden import assert_as_stored
from tests.unit.report.media import flat, printed, sketched, words
from tests.unit.stats import make

QUIET = [2500 + 37 * number % 9000 for number in range(3000)]
ASSUMED = Loss(what="unit", text="The text does not state its unit: microseconds are assumed.")
DROPPED = Loss(what="overflow", text="The tool dropped values, and does not say how many.")


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


def timerlat() -> RunDocument:
    """Of rtla: the interrupt of the wake-up, which is hardstone's, and threads, which are not."""
    one = imported.bare(most=41_000, labels={"part": "interrupt", "cpu": 0})
    others = [
        imported.bare(most=367_000 + cpu, labels={"part": "thread", "cpu": cpu}, name="timerlat")
        for cpu in range(2)
    ]
    results = [imported.imported_result(one), imported.imported_result(*others, test="rtla")]
    return imported.imported_run(results=results, tool="rtla", version=None, command=None)


def runs() -> Iterator[tuple[str, RunDocument]]:
    yield "a histogram", histogram()
    # 5 us are 5 000 to 5 999 ns; a quantile in the step of the maximum is shown as the maximum is
    steps = imported.cyclictest([5000] * 1990 + [7000] * 100)
    yield "a quantile of whole microseconds", imported.imported_run(steps)
    yield "an overflow", overflowed()
    yield "a cut histogram", cut()
    yield "extremes alone", bare()
    mean = imported.imported_result(imported.only_mean(), test="zephyr")
    yield "a mean", imported.imported_run(result=mean, tool="zephyr", version="3.6", form="text")
    lacking = imported.cyclictest(QUIET, min=None, mean=None, max=None)
    yield "no maximum", imported.imported_run(lacking, tool="rtla", version=None)
    values = (QUIET, [*QUIET, 57_300])
    threads = [imported.cyclictest(one, labels=thread(n)) for n, one in enumerate(values)]
    yield "threads", imported.imported_run(*threads)
    unknown = {"a.b": "[1]", "c": '"\x1b[31m"'}
    yield "keys that are not known", imported.imported_run(imported.bare(), unknown=unknown)
    below = imported.linear([-5] * 80 + [4000] * 40, 1000, 0, name="turn")
    turns = imported.imported_result(below, test="oslat")
    yield "a series outside of the fixed rows", imported.imported_run(result=turns)
    yield "a wake-up that ends at another moment", timerlat()
    both = timerlat()
    both.results[0].series.append(imported.bare(most=50_000))
    yield "the same, and hardstone's own moments, which come first", both


@pytest.mark.slow
def test_a_file_on_a_screen_and_whole(request: pytest.FixtureRequest) -> None:
    shown = {
        name: "\n--all\n".join(printed(one, run) for one in (print_screen, print_whole))
        for name, run in runs()
    }
    own = as_typed("hardstone")
    texts = {name: text.replace(own, "hardstone") for name, text in shown.items()}
    assert_as_stored(request, "imported.txt", texts)


def test_the_answer_is_the_wake_up_of_a_tool_that_ends_at_another_moment() -> None:
    """An interrupt latency would flatter; and what ends in the kernel is no judgement."""
    document = timerlat()
    answer = answer_of(document)
    assert (answer.what, answer.grade) == ("wake-up (thread)", "unjudged")
    assert answer.figure is not None and answer.figure.worst_ns == 367_001
    assert "no maximum in the file" not in words(sketched(document))
    assert screen_rows(document)[0].states == ["not in the file"]
    assert title_of(document, answer).endswith("worst wake-up (thread) 367 us")


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
    past = misses_document(overflowed(), 30_000)
    (only,) = past.series
    assert (only.least_count, only.most_count, only.is_past) == (1, 80, True)
    assert any("above the last bucket of the file" in note for note in past.notes)
