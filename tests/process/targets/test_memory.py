"""Where recordings are: the folder of a run in memory, and the memory that a guest shares."""

from __future__ import annotations

import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hardstone.errors import TargetError
from hardstone.memory import Another, Memory
from hardstone.targets.find import find_probe
from hardstone.targets.host_memory import HostMemory
from hardstone.targets.lab import LabMemory
from tests.process.store.faults import mounted

RUN = "20261121T032200Z-1a2b3c"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stands for /dev/shm, and must be empty in the end."""
    folder = tmp_path / "memory"
    folder.mkdir()
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    (tmp_path / "journal").mkdir()
    return tmp_path / "journal"


@pytest.fixture
def memory(journal: Path) -> Iterator[HostMemory]:
    made = HostMemory(RUN, journal)
    yield made
    made.remove()


def place(memory: Memory) -> Path:
    """Where its recordings are; nothing is there."""
    path = Path(memory.path_for(1))
    assert path.parent.is_dir() and not path.exists()
    return path.parent


def recorded(memory: Memory) -> Path:
    path = Path(memory.path_for(1))
    path.write_bytes(b"recorded")
    return path


def test_the_folder_is_private_in_memory_and_made_when_it_is_needed(
    folder: Path, memory: HostMemory
) -> None:
    assert memory.kept() == [] and not memory.has(str(folder / "1.rec"))
    assert list(folder.iterdir()) == []
    made = place(memory)
    assert made.parent == folder
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert place(memory) == made


def test_a_second_one_finds_what_the_first_left(
    journal: Path, memory: HostMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(recorded(memory))
    memory.release()
    with monkeypatch.context() as patched:  # its path says where it is
        patched.setenv("HARDSTONE_MEMORY_DIR", str(journal))
        assert HostMemory(RUN, journal).has(path)
    for damaged in ("", "/", "/a\0b/c", "x/y", "/x/" + "y" * 9000):
        assert not memory.has(damaged), damaged[:9]
    kept = memory.keep(b"the run")
    assert memory.another() is None
    again = HostMemory(RUN, journal)
    assert again.has(path)
    assert b"".join(again.copy(path) or ()) == b"recorded"
    assert again.kept() == [kept] and kept is not None and kept.read_bytes() == b"the run"
    assert not HostMemory("20261121T032200Z-ffffff", journal).has(path)
    for _ in range(2):
        again.drop(path)
        assert not again.has(path) and again.copy(path) is None
    again.remove()


def test_of_several_journals_of_a_run_the_one_that_made_its_memory_has_it(
    tmp_path: Path, journal: Path, memory: HostMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the journal has none, until that one is gone and no tool records any more."""
    copied = tmp_path / "copied"
    copied.mkdir()
    copy = HostMemory(RUN, copied)
    assert copy.another() is None
    path = recorded(memory)
    kept = memory.keep(b"the run")
    for is_recording in (True, False):
        assert copy.another() == Another(journal, is_recording=is_recording)
        assert not copy.has(str(path)) and copy.kept() == []
        copy.remove()
        assert path.exists() and memory.has(str(path)) and memory.kept() == [kept]
        memory.release()
        memory.release()
    journal.rename(tmp_path / "away")
    assert copy.another() is None and copy.has(str(path)) and copy.kept() == [kept]
    copy.remove()
    assert not path.parent.exists()
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(tmp_path / "none"))
    copied.joinpath("x").mkdir()
    inside = recorded(HostMemory(RUN, copied))
    assert not HostMemory(RUN, copied / "x").has(str(inside)), "in the journal it is the same"


@pytest.mark.parametrize("owner", [b"", b"relative/journals/run", b"/a\0b/c/d", None])
def test_memory_whose_journal_is_not_known_is_of_the_first_that_asks(
    folder: Path, journal: Path, owner: bytes | None
) -> None:
    """A tool that was killed before it named its journal; or one of before journals were named."""
    left = folder / f"hardstone-{RUN}-x"
    left.mkdir()
    if owner is not None:
        (left / "journal").write_bytes(owner)
    (left / "1.rec").write_bytes(b"recorded")
    memory = HostMemory(RUN, journal)
    assert memory.another() is None and memory.has(str(left / "1.rec"))
    memory.remove()
    assert not left.exists()


def test_a_copy_of_which_nothing_is_taken_leaves_no_file_open(memory: HostMemory) -> None:
    """Its file may go before the first piece is taken, with the test that it is of."""
    path = str(recorded(memory))
    before = len(list(Path("/proc/self/fd").iterdir()))
    chunks = memory.copy(path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    memory.drop(path)
    with pytest.raises(FileNotFoundError):
        next(chunks or iter(()))


@pytest.mark.parametrize("has_runtime", [True, False])
def test_the_runtime_folder_or_the_journal_serves_where_there_is_no_shared_memory(
    tmp_path: Path,
    journal: Path,
    memory: HostMemory,
    monkeypatch: pytest.MonkeyPatch,
    has_runtime: bool,
) -> None:
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(tmp_path / "none"))
    if has_runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    path = recorded(memory)
    assert path.parent.parent == (tmp_path if has_runtime else journal)
    memory.release()
    assert HostMemory(RUN, journal).has(str(path))
    memory.remove()
    assert [path.name for path in tmp_path.glob("hardstone-*")] == []


def test_a_link_is_not_the_folder_of_a_run(
    tmp_path: Path, folder: Path, memory: HostMemory
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("")
    link = folder / f"hardstone-{RUN}-x"
    link.symlink_to(precious)
    memory.remove()
    assert (precious / "file").exists()
    assert not memory.has(str(link / "file"))
    link.unlink()


@pytest.mark.parametrize(
    ("kind", "options", "serves"),
    [("tmpfs", "size=15m", False), ("tmpfs", "size=17m", True), ("ramfs", "", True)],
)
def test_a_full_memory_gives_way_to_the_journal(
    folder: Path, journal: Path, memory: HostMemory, kind: str, options: str, serves: bool
) -> None:
    """A ramfs has no size, and room all the same."""
    with mounted(folder, kind, options):
        assert place(memory).parent == (folder if serves else journal)
        memory.remove()


# A guest's: memory that is larger than what the probe keeps in it

BYTES = 1 << 26


@pytest.fixture
def probe() -> Path:
    try:
        return find_probe()
    except TargetError as error:
        pytest.skip(str(error))


def record(probe: Path, backing: Path) -> subprocess.CompletedProcess[bytes]:
    words = ["run", "CLK-B-RES", "--samples", "1000", "--json", "--backing", f"memory:{backing}"]
    return subprocess.run([probe, *words], capture_output=True, timeout=300, check=False)


def test_memory_that_is_there_is_recorded_into_and_read_back(tmp_path: Path, probe: Path) -> None:
    path = tmp_path / "recording"
    with path.open("wb") as file:
        file.truncate(BYTES)
    sent = record(probe, path).stdout
    assert path.stat().st_size == BYTES
    dumped = subprocess.run([probe, "dump", path], capture_output=True, timeout=300, check=True)
    series = [line for line in sent.splitlines() if line.startswith(b'{"type":"series"')]
    assert series
    assert set(series) <= set(dumped.stdout.splitlines())


def test_a_copy_has_what_the_probe_keeps_and_no_more(journal: Path) -> None:
    memory = LabMemory(RUN, journal)
    path = Path(memory.path_for(1))
    kept = b"\1" * 8 + (100_000).to_bytes(8, "little") + bytes(range(256)) * 500
    for content, copied in ((kept, kept[:100_000]), (bytes(1 << 20), b"")):
        path.write_bytes(content)
        chunks = memory.copy(str(path))
        assert chunks is not None
        assert b"".join(chunks) == copied
    memory.remove()


@pytest.mark.parametrize("is_there", [True, False])
def test_memory_that_is_too_small_or_missing_is_told(
    tmp_path: Path, probe: Path, is_there: bool
) -> None:
    path = tmp_path / "recording"
    if is_there:
        path.write_bytes(bytes(4096))
    done = record(probe, path)
    assert done.returncode == 3
    reason = "File too large" if is_there else "No such file"
    assert reason.encode() in done.stdout + done.stderr
    assert path.exists() == is_there
