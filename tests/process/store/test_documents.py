from __future__ import annotations

import gzip
import os
import stat
import subprocess
import sys
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from hardstone.errors import InputError
from hardstone.store import Store, read_document
from hardstone.store.documents import write_document
from hardstone.store.place import open_place
from tests.unit.stats import make


def test_a_document_comes_back_as_it_was(tmp_path: Path) -> None:
    document = make.document()
    assert read_document(write_document(open_place(tmp_path), document)) == document


def test_a_document_is_never_rewritten(tmp_path: Path) -> None:
    path = write_document(open_place(tmp_path), make.document())
    before = path.read_bytes()
    with pytest.raises(InputError, match="stored already"):
        write_document(open_place(tmp_path), make.document(name="another"))
    assert path.read_bytes() == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o444


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    paths = [write_document(open_place(tmp_path / n), make.document()) for n in "ab"]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_plain_json_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(msgspec.json.encode(make.document()))
    assert read_document(tmp_path / "run.json") == make.document()


def _bad_histogram() -> bytes:
    document = make.document()
    document.results[0].series[0].histogram.buckets = [(5, 1), (4, 2)]
    return msgspec.json.encode(document)


BAD = [
    (b"", "not a run document"),
    (b"\xff\x00", "not a run document"),
    (b"{" * 200_000, "not a run document"),
    (b'{"schema":' + b"[" * 200_000, "not a run document"),
    (b'{"schema":"hardstone.run/3"}', "missing required field"),
    (b'{"schema":"hardstone.run/4"}', "upgrade hardstone"),
    (b'{"schema":"hardstone.stream/1"}', "is not a run document but"),
    (b'{"schema":"cyclictest"}', "is not a run document but"),
    (b"\x1f\x8b\x08garbage", "damaged"),
    (gzip.compress(msgspec.json.encode(make.document()))[:-20], "damaged"),
    (msgspec.json.encode(make.document(run_id="../../etc/passwd")), "no valid run id"),
    (_bad_histogram(), "bucket 4 does not ascend"),
]


@pytest.mark.parametrize(("content", "said"), BAD, ids=range(len(BAD)))
def test_what_is_no_document_is_refused_in_words(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "run.json.gz"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_document(path)
    assert said in str(caught.value)
    assert str(path) in caught.value.cause
    assert caught.value.remedy


def test_a_small_file_cannot_unpack_to_a_large_one(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * 100_000_000))
    tracemalloc.start()
    with pytest.raises(InputError, match="more than 1000000 bytes"):
        read_document(path, limit_bytes=1_000_000)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 10_000_000


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_bytes(b" " * 2000)
    with pytest.raises(InputError, match="more than 1000 bytes"):
        read_document(path, limit_bytes=1000)


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero"), tmp_path / "none"):
        with pytest.raises(InputError):
            read_document(path)


def test_old_versions_are_converted_on_reading(tmp_path: Path) -> None:
    """The first version said "heavy" of a load that is "heavy@cpu" today."""
    old = msgspec.json.decode(msgspec.json.encode(make.document()))
    old["schema"] = "hardstone.run/1"
    old["results"][0]["conditions"]["load"] = "heavy"
    (tmp_path / "old.json").write_bytes(msgspec.json.encode(old))
    found = read_document(tmp_path / "old.json")
    assert (found.schema, found.id, found.name) == ("hardstone.run/3", old["id"], old["name"])
    assert found.results[0].conditions.load == "heavy@cpu"


def test_the_store_names_a_run_that_it_cannot_read(store: Store) -> None:
    run_id = make.document().id
    (store.path / "runs").mkdir()
    store.path_of(run_id).write_bytes(b"damaged")
    assert store.runs() == []
    assert run_id in store.unreadable
    with pytest.raises(InputError, match="not a run document"):
        store.load(run_id)


READ = """
import resource, sys
from pathlib import Path
from hardstone.store import read_document
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, used + 2**26))
print(read_document(Path(sys.argv[1])).name)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc")
def test_a_small_document_takes_little_memory(store: Store) -> None:
    path = write_document(open_place(store.path), make.document())
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    command = [sys.executable, "-c", READ, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "evening\n"), done.stderr
