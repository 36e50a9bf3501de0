"""The arithmetic of the benchmarks; what they measure is never asserted."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from bench import booting, busy_host, compare, finding, loads, processes, signals
from bench.comparison import Comparison
from bench.finding import Found, kept, markdown, pairs, ratio_rows, reading, turned
from bench.rounds import Interval, Metrics, Rounds, Spread, measure
from bench.run import guests, rows_of
from bench.table import agreement, line, measured, skipped, write
from hardstone.stats.consistency import contradiction_messages
from hardstone.stats.identity import index_of
from tests.programs import script
from tests.running import children, has_ended
from tests.unit.report import sample
from tests.waiting import wait_until


def test_sides_take_turns_a_b_b_a() -> None:
    turns: list[str] = []

    def side(name: str, value: float) -> Metrics:
        turns.append(name)
        return {"cost": value}

    result = measure(lambda: side("A", 1.0), lambda: side("B", 4.0), rounds=2)
    assert "".join(turns) == "ABBAABBA"
    assert result.ratio("cost") == Spread(0.25, 0.25, 0.25)


def test_the_ratio_is_formed_within_a_round_and_maxima_are_not_averaged() -> None:
    rounds = Rounds(own={"cost": [1.0, 10.0]}, peer={"cost": [2.0, 10.0]})
    assert rounds.ratio("cost") == Spread(0.75, 0.5, 1.0)
    values = iter([1.0, 9.0])
    result = measure(lambda: {"worst": next(values)}, None, rounds=1, joined=max)
    assert result.own == {"worst": [9.0]}


def test_without_a_peer_there_is_no_ratio_but_the_reason() -> None:
    result = measure(lambda: {"cost": 3.0}, None, rounds=1)
    row = measured("cost", "ns", result, "cost", "oslat", "oslat is not installed")
    assert line(row) == "cost: 3 ns (oslat is not installed)"
    assert line(skipped("gaps", "no probe")) == "gaps: skipped: no probe"


@pytest.mark.parametrize(
    ("ratios", "reading"),
    [
        ([0.5, 0.8], "hardstone is better"),
        ([1.2, 2.0], "hardstone is worse"),
        ([0.8, 1.2], "even"),
        ([1.01, 1.5], "even"),
    ],
)
def test_only_what_holds_in_every_round_is_called_better(ratios: list[float], reading: str) -> None:
    rounds = Rounds(own={"cost": ratios}, peer={"cost": [1.0] * len(ratios)})
    assert measured("cost", "ns", rounds, "cost", "peer", "").reading == reading
    checked = measured("cost", "ns", rounds, "cost", "peer", "", agreement)
    assert checked.reading.startswith("a check: ")  # praises nobody


def test_rows_that_were_not_measured_anew_stay_with_their_machine(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- results -->\n<!-- end -->\nafter\n")
    result = measure(lambda: {"cost": 9.0}, lambda: {"cost": 10.0}, rounds=5)
    first = [measured(name, "ns", result, "cost", "perf", "") for name in ("one", "two")]
    write(page, first, "an old machine")
    other = measure(lambda: {"cost": 7.0}, lambda: {"cost": 10.0}, rounds=3)
    write(page, [measured("two", "ns", other, "cost", "perf", "")], "a new one")
    rows = [text for text in page.read_text().splitlines() if text.startswith("| ")]
    assert rows[0] == "| what | hardstone | peer | ratio | reading | measured on |"
    assert rows[2:] == [
        "| one | 9 ns | perf: 10 ns | 0.9 | hardstone is better | an old machine; 5 rounds |",
        "| two | 7 ns | perf: 10 ns | 0.7 | hardstone is better | a new one; 3 rounds |",
    ]
    assert page.read_text().startswith("before\n") and page.read_text().endswith("after\n")


@pytest.mark.parametrize(("most", "rounds"), [(None, 4), (3, 3), (9, 4)])
def test_what_takes_long_has_fewer_rounds(most: int | None, rounds: int) -> None:
    long = Comparison("long", {"cost": ("long", "s")}, lambda: {"cost": 1e9}, most_rounds=most)
    assert [row.rounds for row in rows_of(long, 4)] == [rounds]


@pytest.mark.parametrize(("median", "said"), [(5e9, "goal 5 s: met"), (5.1e9, "goal 5 s: missed")])
def test_a_goal_is_told_beside_the_figure(tmp_path: Path, median: float, said: str) -> None:
    one = Comparison("x", {"cost": ("cost", "s")}, dict, dict, "two", goals={"cost": 5e9})
    assert one.goal_text("cost", median) == said and one.goal_text("other", median) == ""
    result = measure(lambda: {"cost": median}, lambda: {"cost": 1e9}, rounds=1)
    row = measured("cost", "s", result, "cost", "two", said)
    assert line(row).endswith(f"({said})")
    page = tmp_path / "README.md"
    page.write_text("<!-- results -->\n<!-- end -->\n")
    write(page, [row], "here")
    assert f"; {said} |" in page.read_text()


def test_runs_that_are_compared_agree_with_themselves_and_differ() -> None:
    source = sample.document(count=3_000)
    made = compare.copies(source, 3)
    assert [contradiction_messages(one) for one in made] == [[], [], []]
    assert len({one.id for one in made}) == 3
    figures = [[series.count for one in run.results for series in one.series] for run in made]
    assert figures[0] != figures[1] != figures[2]
    assert len(figures[0]) == sum(len(one.series) for one in source.results)


def test_without_a_run_to_compare_the_row_says_what_to_type(own_home: Path) -> None:
    with pytest.raises(processes.Missing, match="hardstone evaluate"):
        compare.source_run()


def test_a_peer_that_ends_meanwhile_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loads, "SETTLE_S", 0.0)
    with pytest.raises(processes.Missing, match="ended while"), loads.beside(["sleep", "1000"]):
        (peer,) = children(os.getpid())
        os.kill(peer, signal.SIGKILL)
        wait_until(lambda: has_ended(peer))


FILE_BYTES = 500_000


def lab_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: str, said: str) -> None:
    """A hardstone in whose lab is `kernel`, and which says `said` before it measures; its file in
    memory is there until it has been seen."""
    seen, file_bytes = tmp_path / "seen", booting.file_bytes

    def look(folder: Path) -> int:
        if (found := file_bytes(folder)) >= FILE_BYTES:
            seen.touch()
        return found

    monkeypatch.setattr(booting, "file_bytes", look)
    listed = json.dumps([{"name": kernel, "has_emulator": True}])
    program = script(
        tmp_path / "hardstone",
        f"[ $1 = lab ] && echo '{listed}' && exit\n"
        f"echo '{said}' >&2\n"
        '[ -d "$HARDSTONE_MEMORY_DIR" ] || exit 0\n'
        f'head -c {FILE_BYTES} /dev/zero >"$HARDSTONE_MEMORY_DIR/x"\n'
        f"while [ ! -e {seen} ]; do sleep 0.01; done",
    )
    monkeypatch.setattr(booting.toolkit, "HARDSTONE", str(program))


def test_the_first_sample_is_between_two_moments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab_of(tmp_path, monkeypatch, "debian", "hardstone: 1 of 1  TMR-P-LAT  about 1 s")
    found = booting.first_samples()
    times, memory = guests()
    assert set(found) == set(times.metrics)
    for name in booting.TARGETS:
        assert 0 < found[f"{name}_start_ns"] < found[f"{name}_end_ns"]
    assert set(booting.memory_of_guest()) == set(memory.metrics)


def test_a_command_that_starts_no_test_is_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab_of(tmp_path, monkeypatch, "debian", "hardstone: 1 of 1  TMR-P-LATE")
    with pytest.raises(processes.Missing, match="TMR-P-LAT"):
        booting.first_samples()


@pytest.mark.parametrize("side", [booting.first_samples, booting.memory_of_guest])
def test_without_the_kernel_the_reason_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, side: Callable[[], Metrics]
) -> None:
    lab_of(tmp_path, monkeypatch, "debian-rt", "")
    with pytest.raises(processes.Missing, match=r"hardstone lab get debian$"):
        side()


def test_memory_counts_files_once_and_holes_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert booting.private_bytes({"Pss": 900, "Pss_Shmem": 400, "Pss_Anon": 500}) == 500
    assert booting.private_bytes({}) == 0  # it has ended
    with (tmp_path / "recording").open("wb") as file:
        file.write(bytes(8192))
        file.truncate(1 << 26)
    assert 8192 <= booting.file_bytes(tmp_path) < 1 << 20
    lab_of(tmp_path, monkeypatch, "debian", "")
    assert booting.memory_of_guest()["guest_bytes"] >= FILE_BYTES


def test_values_of_signaltest_are_cut_off_microseconds() -> None:
    """Those of the first thread, without the two before the first round trip."""
    told = [(0, 0, 0), (0, 1, 27), (1, 2, 900), (0, 2, 7), (0, 3, 7), (0, 4, 8), (0, 5, 9)]
    lines = ["Using 1 cpus.", *("".join(f"{one:8}:" for one in three)[:-1] for three in told)]
    assert signals.middle_ns("\n".join(lines)) == pytest.approx(8000)
    with pytest.raises(processes.Missing):
        signals.middle_ns("Using 1 cpus.")


PROBE = Path("probe")


def series(values: list[int]) -> dict[str, Any]:
    """As the probe sends it."""
    counts: dict[int, int] = {}
    for value in values:
        counts[index_of(value)] = counts.get(index_of(value), 0) + 1
    worst = [{"value_ns": value} for value in sorted(values)[-32:]]
    buckets = [[index, counts[index]] for index in sorted(counts)]
    histogram = {"layout": "log-linear/10", "buckets": buckets}
    return {"name": "wakeup", "max": max(values), "worst": worst, "histogram": histogram}


def asked_of_the_probe(monkeypatch: pytest.MonkeyPatch, *events: str) -> list[list[str]]:
    """Commands that are run from now on; the worst is their number."""
    commands: list[list[str]] = []

    def run(command: list[str], *more: object) -> processes.Finished:
        commands.append(command)
        lines: list[dict[str, object]] = [
            *({"type": "event", "name": name, "text": name} for name in events),
            {"type": "series", **series([len(commands)] * 40)},
            {"type": "result", "status": "measured", "reason": None},
        ]
        return processes.Finished("\n".join(map(json.dumps, lines)), 0, 0)

    monkeypatch.setattr(processes, "run", run)
    return commands


@pytest.mark.parametrize("count", range(1, 60))
def test_the_interval_is_that_of_the_binomial_distribution(count: int) -> None:
    found = Interval.of(range(1, count + 1))
    outer = int(stats.binom.ppf(0.025, count, 0.5))  # as many may lie below the median
    if outer < 1:
        assert (found.low, found.high) == (None, None)
        return
    assert (found.low, found.high) == (outer, count + 1 - outer)
    held = stats.binom.cdf(count - outer, count, 0.5) - stats.binom.cdf(outer - 1, count, 0.5)
    assert held >= 0.95


def test_the_interval_moves_with_the_values() -> None:
    assert Interval.of([3.0, 1.0, 2.0]) == Interval(2.0)
    assert Interval.of([6.0, 5.0, 4.0, 3.0, 2.0, 1.0]) == Interval(3.5, 1.0, 6.0)


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        ([1.5, 1.1, 3, 2, 2, 9], "more"),
        ([0.2, 0.9, 0.5, 0.5, 0.99, 0.1], "less"),
        ([0.5, 1.5, 2, 2, 2, 2], "even"),
        ([5.0, 5.0, 5.0], "too few rounds"),
    ],
)
def test_a_ratio_says_more_only_with_its_whole_interval(ratios: list[float], said: str) -> None:
    assert reading(Interval.of(ratios)) == said


def test_figures_of_a_series() -> None:
    found = loads.figures(series([*range(1, 1001), 5000]))
    assert found[loads.WORST] == 5000
    assert found[loads.LARGEST] == pytest.approx((5000 + sum(range(982, 1001))) / 20)
    assert found[loads.P999] == 1000  # 1000 of 1001 are 99.9 % and a little more
    assert loads.figures(series([4, 6]))[loads.LARGEST] == 5  # fewer than twenty


def test_each_load_is_at_each_place_and_every_second_round_is_backwards() -> None:
    sides = loads.compared()
    orders = [[side.name for side in turned(sides, number)] for number in range(10)]
    for place in range(5):
        assert sorted(order[place] for order in orders) == sorted(2 * [side.name for side in sides])
    assert orders[1] == orders[0][::-1]


def test_all_sides_are_measured_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = asked_of_the_probe(monkeypatch)
    beside: list[str] = []

    @contextmanager
    def fake(command: list[str]) -> Iterator[None]:
        beside.append(command[0])
        yield

    monkeypatch.setattr(loads, "beside", fake)
    monkeypatch.setattr(processes, "require", lambda program, package: program)
    for side in loads.compared():
        loads.found_under(side, PROBE, 2.5)
    asked = [command[command.index("--load") + 1] for command in commands]
    assert asked == ["none", "heavy@cpu", loads.ALL, "none", "none"]
    assert beside == ["hackbench", "stress-ng"]
    assert len({tuple(command[: command.index("--load")]) for command in commands}) == 1
    assert all("2500000000" in command for command in commands)


def test_the_storm_without_an_element_has_the_others() -> None:
    whole, plain, last = loads.without(["cpu", "messages"])
    assert whole.load == loads.ALL and whole.load.endswith("kernel@cpu+messages")
    assert plain.load == whole.load.removeprefix("cpu@cpu+")
    assert last.load == whole.load.removesuffix("+messages")
    with pytest.raises(processes.Missing, match="no element hevy: cpu"):
        loads.without(["hevy"])


def test_the_elements_are_those_of_the_mix(probe: Path) -> None:
    """With what heavy has written out: the bench leaves none of the mix out."""
    done = processes.run([str(probe), "load", "--list", "--json"])
    mixes = {one["name"]: one["load"] for one in json.loads(done.stdout)["mixes"]}
    text = mixes["storm"].replace("heavy", mixes["heavy"])
    assert [term.partition("=")[0] for term in text.split("+")] == list(loads.ELEMENTS)


@pytest.mark.parametrize("event", loads.BROKEN)
def test_a_load_that_broke_is_no_figure(monkeypatch: pytest.MonkeyPatch, event: str) -> None:
    asked_of_the_probe(monkeypatch, event)
    with pytest.raises(processes.Missing, match=event):
        loads.found_under(loads.Side("heavy", "heavy"), PROBE, 1)


def found_of(*rounds: dict[str, float]) -> Found:
    found = Found()
    for number, one in enumerate(rounds):
        for name, value in one.items():
            found.add(number, name, dict.fromkeys(finding.FIGURES, value))
    return found


def test_ratios_are_formed_within_rounds_that_have_both() -> None:
    found = found_of({"storm": 2, "hackbench": 4}, {"storm": 9}, {"storm": 3, "hackbench": 1})
    assert found.ratios("storm", "hackbench", loads.WORST) == [0.5, 3]
    assert found.values("storm", loads.P999) == [2, 9, 3]


def test_rows_say_the_ratio_with_its_interval() -> None:
    found = found_of(*({"storm": value, "without kernel": 1.0} for value in (2, 4, 4, 4, 4, 5)))
    sides = loads.without(["kernel"])
    (head, row) = ratio_rows(found, finding.LEAVE_OUT, sides)
    assert head == ["load", "by", "worst observed", "mean of the 20 largest", "p99.9"]
    assert row == ["without kernel", "storm", *["0.25 (0.20 to 0.50): less"] * 3]
    assert list(pairs(finding.COMPARE, loads.compared()))[:2] == [
        ("storm", "hackbench"),
        ("storm", "stress-ng"),
    ]
    assert markdown([head, row]).count("\n") == 3


def test_a_round_goes_on_where_it_was_cut_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keep, asked = tmp_path / "kept.jsonl", []
    sides = loads.without(["kernel", "messages"])

    def measured(side: loads.Side, probe: Path, seconds: float) -> dict[str, float]:
        asked.append(side.name)
        if len(asked) == 3:
            raise processes.Missing("it did not settle")
        return dict.fromkeys(finding.FIGURES, float(len(asked)))

    monkeypatch.setattr(loads, "found_under", measured)
    first = kept(keep)
    finding.measure(sides, 1, 1, keep, first)
    assert asked == ["storm", "without kernel", "without messages"]
    assert first.broken == [("without messages", "it did not settle")]
    assert "broke: it did not settle" in finding.page(first, finding.LEAVE_OUT, sides, 1)
    again = kept(keep)
    finding.measure(sides, 1, 1, keep, again)
    assert asked[3:] == ["without messages"]
    assert again.values("without messages", loads.WORST) == [4]
    assert math.isclose(again.ratios("without messages", "storm", loads.WORST)[0], 4)


def test_only_its_own_block_is_written(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("a\n<!-- finding -->\nold\n<!-- end of finding -->\nb\n")
    finding.write(page, finding.LEAVE_OUT, "new\n")
    assert "old" in page.read_text()
    finding.write(page, finding.COMPARE, "new\n")
    assert page.read_text() == "a\n<!-- finding -->\nnew\n<!-- end of finding -->\nb\n"


def test_the_page_has_both_blocks() -> None:
    text = (finding.ROOT / "bench" / "README.md").read_text()
    for name in finding.BLOCKS.values():
        assert text.count(f"<!-- {name} -->") == text.count(f"<!-- end of {name} -->") == 1


def test_a_run_beside_hogs_that_fails_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of two clones has its turn; `make test` fails in the second run of one."""
    (tmp_path / "Makefile").write_text(
        "test:\n\t@echo 'tests: 3 passed, 0 failed' $(ARGS) $$DELAY_MS\n"
        "\t@mkdir ran || test ! -d ran\n"
    )
    runs = busy_host.Runs(tmp_path, 2, ["--only", "process  cli"], {"DELAY_MS": "600"})
    runs.work(tmp_path)
    assert [gate.has_passed for gate in runs.done] == [True, False]
    ok, failed = capsys.readouterr().out.splitlines()
    assert ok.startswith("ok   run  1") and ok.endswith(
        "s  tests: 3 passed, 0 failed --only process  cli 600"
    )
    assert failed.startswith("FAIL run  2")


def test_a_run_beside_hogs_that_starts_while_others_are_stopped_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(busy_host.os, "killpg", lambda group, number: ended.append(group))
    (tmp_path / "Makefile").write_text("test:\n")
    runs, popen = busy_host.Runs(tmp_path, 1, []), subprocess.Popen

    def start(*words: Any, **how: Any) -> subprocess.Popen[bytes]:
        process = popen(*words, **how)
        runs.stop()
        return process

    monkeypatch.setattr(busy_host.subprocess, "Popen", start)
    runs.work(tmp_path)
    assert len(ended) == 1 and runs.done == []
