"""What is loaded as machine code is opened once, through folders that nobody else can change."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from planner.jit import build, library
from planner.jit.trusted_files import Untrusted, open_file, open_folder, read_descriptor

needs_linker = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("ld") is None, reason="there is no linker, and no shared library then"
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of machine code in a cache of its own, which has none yet."""
    monkeypatch.setenv("FORETHOUGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(library, "_loaded", {})
    before = os.umask(0o022)
    yield library.find_folder()
    os.umask(before)


def read(path: Path, name: str) -> bytes:
    with open_folder(path) as folder, open_file(folder, name) as file:
        return read_descriptor(file)


def test_a_file_is_read_through_folders_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"code")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert read(tmp_path / "a", "file") == b"code"
    assert read(tmp_path / "link", "file") == b"code"


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777, 0o757])
@pytest.mark.parametrize("above", [0, 1, 2])
def test_a_folder_that_others_may_write_to_is_not_passed(tmp_path: Path, mode: int, above: int) -> None:
    folders = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"]
    folders[-1].mkdir(parents=True)
    (folders[-1] / "file").write_bytes(b"code")
    folders[2 - above].chmod(mode)
    if mode & 0o1000 and above:
        assert read(folders[-1], "file") == b"code"
    else:
        with pytest.raises(Untrusted, match="others may write to"):
            read(folders[-1], "file")


@pytest.mark.parametrize("mode", [0o666, 0o664])
def test_a_file_that_others_may_write_to_is_not_opened(tmp_path: Path, mode: int) -> None:
    (tmp_path / "file").write_bytes(b"code")
    (tmp_path / "file").chmod(mode)
    with pytest.raises(Untrusted):
        read(tmp_path, "file")


def test_a_folder_of_another_user_is_not_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"code")
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    if tmp_path.stat().st_uid == 0:
        os.chown(tmp_path, 4243, -1)
    with pytest.raises(Untrusted, match="belongs to the user"):
        read(tmp_path, "file")


@pytest.mark.parametrize("kind", ["symlink", "fifo", "folder"])
def test_only_plain_files_are_opened(tmp_path: Path, kind: str) -> None:
    (tmp_path / "real").write_bytes(b"code")
    made = tmp_path / "file"
    {"symlink": lambda: made.symlink_to(tmp_path / "real"), "fifo": lambda: os.mkfifo(made), "folder": made.mkdir}[
        kind
    ]()
    with pytest.raises((OSError, Untrusted)):
        read(tmp_path, "file")


def shared(value: int) -> bytes:
    """Return a shared library that has every entry, each of which returns `value`."""
    llvm = pytest.importorskip("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    source = "\n".join(f"define i64 @forethought_{name}() {{ ret i64 {value} }}" for name in library.ENTRIES)
    machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic", codemodel="default")
    return machine.emit_object(llvm.parse_assembly(source))


def make(place: Path, value: int) -> Path:
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    object_file = place / "all.o"
    object_file.write_bytes(shared(value))
    file = place / library.SHARED
    subprocess.run(["ld", "-shared", "-o", str(file), str(object_file)], check=True)
    file.chmod(0o700)
    (place / library.SHARED_STAMP).write_bytes(library.make_stamp(library.read_features(), [file.read_bytes()]))
    return file


@needs_linker
def test_what_was_checked_is_what_is_loaded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = make(place, 7)
    load = ctypes.CDLL

    def swapped(path: str) -> ctypes.CDLL:
        other = make(place.parent / "other", 13)
        other.replace(file)  # between the check and the load
        return load(path)

    monkeypatch.setattr(library.ctypes, "CDLL", swapped)
    entries = library.load()
    assert entries is not None
    assert {entry.code(*[0] * len(entry.code.argtypes)) for entry in entries.values()} == {7}


@needs_linker
def test_a_library_in_a_folder_below_one_that_others_can_change_is_not_loaded(place: Path) -> None:
    make(place, 7)
    place.parents[1].chmod(0o777)
    assert library.load() is None


def test_there_is_no_folder_that_users_share(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FORETHOUGHT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none" / "such"))
    monkeypatch.setattr(library, "_loaded", {})
    with pytest.raises(library.NoCache, match="FORETHOUGHT_CACHE"):
        library.find_cache()
    assert library.load() is None


def test_two_builders_at_once_leave_one_whole_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(made: Path, names: list[str]) -> set[str]:
        for name in names:
            (made / f"{name}.o").write_bytes(f"{name} {threading.get_ident()}".encode())
        return set()

    monkeypatch.setattr(build, "_import_kernels", lambda: library)
    monkeypatch.setattr(build, "_compile_entries", compiled)
    monkeypatch.setattr(build, "_link", lambda *_: None)
    llvm = pytest.importorskip("llvmlite.binding")
    failed: list[BaseException] = []

    def build_often() -> None:
        try:
            for _ in range(10):
                build.build(library.OWN)
        except BaseException as error:  # noqa: BLE001 - it is looked at below
            failed.append(error)

    builders = [threading.Thread(target=build_often) for _ in range(2)]
    for each in builders:
        each.start()
    for each in builders:
        each.join()
    assert not failed
    codes = [(place / f"{name}.o").read_bytes() for name in library.entry_names()]
    assert len({code.split()[1] for code in codes}) == 1
    assert (place / library.STAMP).read_bytes() == library.make_stamp(library.describe_processor(llvm), codes)
    assert [each.name for each in place.parent.iterdir()] == [place.name]
    assert place.stat().st_mode & 0o077 == 0


def test_nothing_is_built_below_a_folder_that_others_can_change(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_import_kernels", lambda: library)
    monkeypatch.setattr(build, "_compile_entries", lambda _: pytest.fail("built"))
    place.parents[1].mkdir(parents=True)
    place.parents[1].chmod(0o777)
    with pytest.raises(Untrusted):
        build.build()
