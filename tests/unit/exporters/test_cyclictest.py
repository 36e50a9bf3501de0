"""A run as the histogram of cyclictest, read by our importer of it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from hardstone.errors import InputError, UntrustworthyError
from hardstone.exporters.cyclictest import export_cyclictest
from hardstone.exporters.registry import Exported, Wanted
from hardstone.importers import cyclictest as importer
from hardstone.importers.imported import document_of
from hardstone.importers.reading import ReadSeries
from hardstone.importers.recognise import read, read_source
from hardstone.model import Conditions, RunDocument, Series
from tests.imported import bare, cyclictest, imported_run
from tests.unit.stats import make

SAMPLES = Path(__file__).parents[2] / "samples"


def exported(document: RunDocument) -> Exported:
    return export_cyclictest([document], Wanted())


def of_cpu(cpu: int, values: list[int], **how: int) -> Series:
    return msgspec.structs.replace(make.series(values, **how), labels={"part": "total", "cpu": cpu})


def run_of(*series: Series, test: str = "TMR-P-LAT") -> RunDocument:
    return make.document(results=[make.result(test, series=list(series))])


def reread(document: RunDocument) -> list[ReadSeries]:
    content = exported(document).content
    (form,) = [one for one in importer.FORMATS if one.recognises(content)]
    return list(form.read(content).series)


def test_the_text_is_that_of_cyclictest() -> None:
    document = run_of(of_cpu(0, [1000, 1999, 2500]), of_cpu(1, [3000, 3000]))
    assert exported(document).content.decode() == (
        "# Histogram\n"
        "000000 000000\t000000\n"
        "000001 000002\t000000\n"
        "000002 000001\t000000\n"
        "000003 000000\t000002\n"
        "# Total: 000000003 000000002\n"
        "# Min Latencies: 00001 00003\n"
        "# Avg Latencies: 00001 00003\n"
        "# Max Latencies: 00002 00003\n"
        "# Histogram Overflows: 00000 00000\n"
        "# Histogram Overflow at cycle number:\n"
        "# Thread 0:\n"
        "# Thread 1:\n"
        "\n"
    )


def test_our_importer_reads_the_same_counts_back() -> None:
    values = [*range(900, 90_000, 7), 1_234_567, 1_234_999]
    first, second = reread(run_of(of_cpu(0, values), of_cpu(1, [v + 333 for v in values])))
    assert first.count == second.count == len(values)
    assert (first.min, first.max) == (0, 1_234_000)
    assert sum(count for _, count in first.buckets or ()) == len(values)
    expected: dict[int, int] = {}
    for value in values[:-2]:  # up to 90 us a bucket is at most 64 ns wide
        expected[value // 1000 * 1000] = expected.get(value // 1000 * 1000, 0) + 1
    found = {low: count for low, count in first.buckets or () if count and low < 10**6}
    assert sum(found.values()) == sum(expected.values())
    for limit in range(1000, 90_000, 1000):  # never flattering: no more below a limit than were
        below = sum(count for low, count in found.items() if low < limit)
        truth = sum(count for low, count in expected.items() if low < limit)
        assert truth - 10 <= below <= truth


def test_a_bucket_on_the_border_of_two_rows_counts_in_the_upper_one() -> None:
    # From 17 to 32 us a bucket is 16 ns wide, and 17 000 lies within one: from 16 992 to 17 007.
    (one,) = reread(run_of(of_cpu(0, [16_000, 16_995, 16_999, 18_000])))
    assert {low: count for low, count in one.buckets or () if count} == {
        16_000: 1,
        17_000: 2,
        18_000: 1,
    }


def test_the_extremes_are_in_their_own_rows() -> None:
    (one,) = reread(run_of(of_cpu(0, [16_995, 16_998])))
    assert {low: count for low, count in one.buckets or () if count} == {16_000: 2}
    (one,) = reread(run_of(of_cpu(0, [16_995, 16_996, 17_005])))
    assert {low: count for low, count in one.buckets or () if count} == {16_000: 1, 17_000: 2}


@pytest.mark.slow
def test_values_past_the_rows_are_overflows() -> None:
    document = run_of(of_cpu(0, [5000, 99_000_000, 100_000_000]))
    text = exported(document).content.decode()
    assert "\n# Total: 000000002\n" in text and "\n100000 " not in text
    assert "# Max Latencies: 100000\n# Histogram Overflows: 00001\n" in text
    assert exported(document).lost[1:] == ["1 values are overflows, which no row has"]


def test_values_past_the_buckets_of_the_run_are_overflows() -> None:
    (one,) = reread(run_of(of_cpu(0, [5000, 5000, 800_000], limit=10_000)))
    assert (one.count, one.overflow, one.max) == (3, 1, 800_000)


def test_columns_are_in_the_order_of_the_cpus_and_named() -> None:
    made = exported(run_of(of_cpu(10, [5000]), of_cpu(2, [1000])))
    assert "000001 000001\t000000\n" in made.content.decode()
    (lost,) = made.lost
    assert lost == (
        "columns, by the number of the thread: 0: TMR-P-LAT/total/2/wakeup, "
        "1: TMR-P-LAT/total/10/wakeup"
    )


def test_other_parts_of_the_wakeup_are_no_columns() -> None:
    part = msgspec.structs.replace(make.series([7]), labels={"part": "interrupt", "cpu": 0})
    (one,) = reread(run_of(part, of_cpu(0, [1000])))
    assert one.count == 1 and one.min == 1000


def test_another_quantity_is_taken_where_it_is_the_only_one() -> None:
    switch = msgspec.structs.replace(make.series([2000], name="switch"), labels={"cpu": 1})
    assert "000002 000001\n" in exported(run_of(switch, test="THR-P-SWT")).content.decode()
    other = msgspec.structs.replace(switch, name="other")
    with pytest.raises(InputError, match="several quantities: THR-P-SWT/switch, THR-P-SWT/other"):
        exported(run_of(switch, other, test="THR-P-SWT"))


def test_two_conditions_are_two_files() -> None:
    results = [
        make.result(series=[of_cpu(0, [1])], conditions=Conditions(load=load, cpu_config="shared"))
        for load in ("none", "heavy")
    ]
    with pytest.raises(InputError, match=r"none \(shared\), heavy \(shared\).*choose with --load"):
        exported(make.document(results=results))


def test_a_run_without_such_latencies_is_refused() -> None:
    wrong = msgspec.structs.replace(of_cpu(0, [1]), count=9)
    with pytest.raises(
        UntrustworthyError, match=r"no wake-up latencies .*figures that cannot be true"
    ):
        exported(run_of(wrong))
    with pytest.raises(InputError, match="no wake-up latencies"):
        exported(make.document(results=[]))


def test_values_below_0_are_counted_at_0_and_told() -> None:
    series = msgspec.structs.replace(of_cpu(0, [-5000, 1000, 1000]), possible_min=-9000)
    made = exported(run_of(series))
    assert "000000 000001\n000001 000002\n" in made.content.decode()
    assert "values below 0 are counted at 0" in made.lost


@pytest.mark.parametrize("name", ["cyclictest-hist.stdout", "cyclictest-hist-overflow.stdout"])
def test_a_file_of_cyclictest_comes_out_as_it_came_in(name: str) -> None:
    source = read_source(SAMPLES / name)
    document = document_of(read(source), source, "20261121T032200Z-1a2b3c")
    ours = exported(document).content.decode().splitlines()
    theirs = [line for line in source.content.decode().splitlines() if "dma_latency" not in line]
    end = theirs.index("# Histogram Overflow at cycle number:")
    assert len(theirs[:end]) > 20 and ours[:end] == theirs[:end]


def test_a_series_without_a_maximum_or_a_distribution_is_refused() -> None:
    with pytest.raises(InputError, match="has no minimum, mean or maximum"):
        exported(imported_run(cyclictest(range(0, 9000, 7), mean=None)))
    with pytest.raises(InputError, match="the file has no distribution"):
        exported(imported_run(bare()))
