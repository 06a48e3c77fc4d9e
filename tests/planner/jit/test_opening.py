"""What is loaded as machine code is opened once, through folders that nobody else can change."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from planner.jit import library, targets, trusted_files
from planner.jit.common_kernel import ENTRIES
from planner.jit.trusted_files import Untrusted, make_checksum, open_file, open_folder, read_descriptor

build = pytest.importorskip("planner.jit.build", reason="llvmlite is not installed")
needs_linker = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("ld") is None, reason="there is no linker, and no shared library then"
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of machine code in a cache of its own, which has none yet."""
    monkeypatch.setenv("FORETHOUGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(library.SWITCH)
    monkeypatch.setattr(library, "SHIPPED", tmp_path / "shipped")
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
@pytest.mark.usefixtures("shared_group")
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


@pytest.fixture
def shared_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all groups have members besides the user and root."""
    monkeypatch.setattr(trusted_files, "is_own_group", lambda _: False)


@pytest.mark.parametrize(
    ("group", "name", "users", "members", "own"),
    [
        (50, "staff", [("ann", 1000, 50)], [], True),
        (50, "staff", [("ann", 1000, 50), ("root", 0, 0)], ["ann", "root"], True),
        (50, "staff", [("ann", 1000, 50), ("ben", 1001, 50)], [], False),
        (50, "staff", [("ann", 1000, 50), ("ben", 1001, 51)], ["ben"], False),
        (50, "staff", [("ann", 1000, 50)], ["nobody knows"], False),
        (1000, "ann", [("ann", 1000, 1000)], [], True),
        (1000, "ann", [("ann", 1000, 1000), ("ben", 1001, 1001)], ["ben"], False),
        (20000, "researchers", [("ann", 1000, 20000)], [], False),  # a directory service may not list the others
    ],
)
def test_a_group_of_ones_own_has_no_other_member(monkeypatch, group, name, users, members, own):  # noqa: PLR0917
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    known = {each: SimpleNamespace(pw_name=each, pw_uid=user, pw_gid=first) for each, user, first in users}
    monkeypatch.setattr("grp.getgrgid", lambda _: SimpleNamespace(gr_mem=members, gr_name=name))
    monkeypatch.setattr("pwd.getpwuid", lambda user: next(each for each in known.values() if each.pw_uid == user))
    monkeypatch.setattr("pwd.getpwall", lambda: [*known.values()])
    monkeypatch.setattr("pwd.getpwnam", known.__getitem__)
    assert trusted_files.is_own_group.__wrapped__(group) is own


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="access lists are read on Linux only")
def test_an_access_list_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trusted_files, "is_own_group", lambda _: True)
    (tmp_path / "file").write_bytes(b"code")
    entries = [(0x01, 6, -1), (0x02, 6, 4242), (0x04, 6, -1), (0x10, 6, -1), (0x20, 4, -1)]  # the second: a user's
    packed = struct.pack("<I", 2)
    for tag, mode, who in entries:
        packed += struct.pack("<HHI", tag, mode, who & 0xFFFFFFFF)
    try:
        os.setxattr(tmp_path / "file", "system.posix_acl_access", packed)
    except OSError:
        pytest.skip("the file system has no access lists")
    with pytest.raises(Untrusted, match="others may write to"):
        read(tmp_path, "file")


@pytest.mark.parametrize(("mode", "passed"), [(0o775, True), (0o777, False), (0o757, False)])
def test_the_group_may_write_where_nobody_else_is_in_it(tmp_path: Path, monkeypatch, mode: int, passed: bool) -> None:
    monkeypatch.setattr(trusted_files, "is_own_group", lambda _: True)
    (tmp_path / "file").write_bytes(b"code")
    tmp_path.chmod(mode)
    if passed:
        assert read(tmp_path, "file") == b"code"
    else:
        with pytest.raises(Untrusted, match="others may write to"):
            read(tmp_path, "file")


@pytest.mark.usefixtures("shared_group")
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
    source = "\n".join(f"define i64 @forethought_{name}() {{ ret i64 {value} }}" for name in library.load_or_plain())
    machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic", codemodel="default")
    return machine.emit_object(llvm.parse_assembly(source))


def make(place: Path, value: int) -> list[Path]:
    """Write machine code of every module of kernels of `planner`, whose entries return `value`."""
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    object_file = place / "all.o"
    object_file.write_bytes(shared(value))
    subprocess.run(["ld", "-shared", "-o", str(place / "all.so"), str(object_file)], check=True)
    content = (place / "all.so").read_bytes()
    made = []
    for module in map(library.short_name, library.module_names()):
        made.append(place / f"{module}.so")
        made[-1].write_bytes(content)
        (place / f"{module}.sum").write_bytes(make_checksum(f"{module}.so", content))
    return made


def values_of(entries) -> set[int]:
    """Return what the entries of `planner` return."""
    return {entries[name].code(*[0] * len(entries[name].code.argtypes)) for name in library.entry_names()}


@needs_linker
def test_what_was_checked_is_what_is_loaded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = make(place, 7)
    load = ctypes.CDLL

    def swapped(path: str) -> ctypes.CDLL:
        for file, other in zip(files, make(place.parent / "other", 13), strict=True):
            other.replace(file)  # between the check and the load
        return load(path)

    monkeypatch.setattr(library.ctypes, "CDLL", swapped)
    name = library.entry_names()[0]
    entry = library.load_or_plain()[name]
    assert entry.code(*[0] * len(entry.code.argtypes)) == 7


@needs_linker
@pytest.mark.parametrize("shipped", [False, True])
@pytest.mark.parametrize("by_descriptor", [False, True])
def test_each_module_is_loaded_from_its_own_file(place: Path, monkeypatch, shipped: bool, by_descriptor: bool) -> None:
    target = targets.find_targets()[0].name
    where = library.SHIPPED / library.folder_name("planner", target) if shipped else place
    make(where, 7)
    for other in {library.SHIPPED / library.folder_name("planner", target), place} - {where}:
        if shipped:
            make(other, 13)
    if not by_descriptor:
        monkeypatch.setattr(library, "_DESCRIPTORS", place / "no such folder")
    assert values_of(library.load()) == {7}


def test_an_object_file_is_loaded_where_there_was_no_linker(place: Path) -> None:
    place.mkdir(parents=True, mode=0o700)
    build.write_module(place, "astar", shared(7), lambda *_: False)
    assert [path.name for path in sorted(place.iterdir())] == ["astar.o", "astar.sum"]
    entry = library.load("astar")["astar"]
    assert entry.code(*[0] * len(entry.code.argtypes)) == 7


@needs_linker
@pytest.mark.parametrize("harm", ["cut", "changed", "without a sum", "of others", "for other kernels"])
def test_damaged_or_foreign_code_is_not_loaded(place: Path, monkeypatch, harm: str) -> None:
    monkeypatch.setattr(trusted_files, "is_own_group", lambda _: False)
    first = make(place, 7)[0]
    match harm:
        case "cut":
            first.write_bytes(first.read_bytes()[:-1])
        case "changed":
            first.write_bytes(first.read_bytes()[:-1] + b"x")
        case "without a sum":
            first.with_suffix(".sum").unlink()
        case "of others":
            first.chmod(0o770)
        case _:
            place.rename(place.with_name(f"{place.name}0"))
    assert library.load() is None
    name = next(name for name in library.entry_names() if library.module_of(name) == first.stem)
    assert library.load_or_plain()[name] is ENTRIES[name]


@needs_linker
def test_nothing_is_loaded_where_machine_code_is_switched_off(place: Path, monkeypatch) -> None:
    make(place, 7)
    monkeypatch.setenv(library.SWITCH, "off")
    assert library.load() is None
    assert library.load_or_plain()["astar"] is ENTRIES["astar"]


@needs_linker
def test_a_library_in_a_folder_below_one_that_others_can_change_is_not_loaded(place: Path) -> None:
    make(place, 7)
    place.parents[1].chmod(0o777)
    assert library.load() is None


def test_there_is_no_folder_that_users_share(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FORETHOUGHT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none" / "such"))
    monkeypatch.delenv(library.SWITCH)
    monkeypatch.setattr(library, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(library, "_loaded", {})
    with pytest.raises(library.NoCache, match="FORETHOUGHT_CACHE"):
        library.find_cache()
    assert library.load() is None


def test_a_home_that_may_not_be_searched_has_no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user may have the HOME of another one, as after `su`."""
    monkeypatch.delenv(library.SWITCH)
    monkeypatch.setattr(library, "SHIPPED", tmp_path / "home" / "shipped")
    monkeypatch.setattr(library, "_loaded", {})
    look = os.stat

    def refuse(path, *arguments, **options):
        if str(path).startswith(str(tmp_path / "home" / "")):
            raise PermissionError(13, "Permission denied", str(path))
        return look(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", refuse)
    monkeypatch.setenv("FORETHOUGHT_CACHE", str(tmp_path / "home" / "cache"))
    assert library.load() is None
    assert library.describe_state() == "missing"
    assert library.find_used_folder() == library.find_folder()
    monkeypatch.delenv("FORETHOUGHT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / "none"))
    with pytest.raises(library.NoCache):
        library.find_cache()


def test_shipped_code_needs_no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FORETHOUGHT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none" / "such"))
    monkeypatch.setattr(library, "SHIPPED", tmp_path)
    shipped = tmp_path / library.folder_name(library.OWN, targets.find_targets()[-1].name)
    shipped.mkdir()
    assert library.find_used_folder() == shipped


@pytest.mark.parametrize("harm", ["none", "cut", "without a sum", "of others", "damaged sum"])
def test_what_cannot_be_loaded_counts_as_not_made(tmp_path: Path, monkeypatch, harm: str) -> None:
    monkeypatch.setattr(trusted_files, "is_own_group", lambda _: False)
    tmp_path.chmod(0o700)
    build.write_module(tmp_path, "astar", shared(7))
    code = next(each for each in tmp_path.iterdir() if each.suffix in {".so", ".o"})
    match harm:
        case "cut":
            code.write_bytes(code.read_bytes()[:-1])
        case "without a sum":
            code.with_suffix(".sum").unlink()
        case "of others":
            code.chmod(0o770)
        case "damaged sum":
            code.with_suffix(".sum").write_bytes(b"\0\xff /")
    assert build.is_made(tmp_path, "astar") == (harm == "none")


def test_only_old_folders_of_machine_code_are_removed(tmp_path: Path) -> None:
    present, old, foreign = (
        tmp_path / each for each in ("planner-a-0123456789abcdef", "htn-b-c-fedcba9876543210", "src")
    )
    for each in (present, old, foreign):
        each.mkdir()
        (each / "file").touch()
        os.utime(each, (0, 0))
    build._remove_old(present)
    assert sorted(tmp_path.iterdir()) == [present, foreign]


def test_two_builders_at_once_leave_whole_files(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    code, failed = shared(7), []

    def write_often() -> None:
        try:
            for _ in range(20):
                build.write_module(tmp_path, "astar", code)
        except BaseException as error:  # noqa: BLE001 - it is looked at below
            failed.append(error)

    builders = [threading.Thread(target=write_often) for _ in range(2)]
    for each in builders:
        each.start()
    for each in builders:
        each.join()
    assert not failed
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names in (["astar.so", "astar.sum"], ["astar.o", "astar.sum"])
    content = (tmp_path / names[0]).read_bytes()
    assert (tmp_path / "astar.sum").read_bytes() == make_checksum(names[0], content)


def test_code_is_made_for_every_target() -> None:
    pytest.importorskip("llvmlite")
    from planner.jit import emit

    source = "define i64 @forethought_f(i64 %x) { %y = mul i64 %x, 3 ret i64 %y }"
    bitcode = pytest.importorskip("llvmlite.binding").parse_assembly(source).as_bitcode()
    kinds = {
        targets.X86_64_V3: (b"\x7fELF", 18, 62),
        targets.X86_64_V2: (b"\x7fELF", 18, 62),
        targets.AARCH64: (b"\x7fELF", 18, 183),
        targets.APPLE: (b"\xcf\xfa\xed\xfe", 4, 0x0C),
    }
    for target, (magic, place, machine) in kinds.items():
        code = emit.emit(bitcode, target)
        assert (code[:4], code[place]) == (magic, machine)
        assert b"forethought_f" in code


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        (targets._V3, ["linux-x86-64-v3", "linux-x86-64-v2"]),
        (targets._V3 - {"avx2"}, ["linux-x86-64-v2"]),
        (targets._V2 - {"popcnt"}, ["linux-x86_64"]),
        (frozenset(), ["linux-x86_64"]),
    ],
)
def test_the_best_code_that_the_processor_runs_comes_first(monkeypatch, flags, names) -> None:
    monkeypatch.setattr(targets, "read_flags", lambda: flags)
    monkeypatch.setattr(targets.sys, "platform", "linux")
    monkeypatch.setattr(targets.os, "uname", lambda: SimpleNamespace(machine="x86_64"))
    assert [each.name for each in targets.find_targets.__wrapped__()] == names


@pytest.mark.parametrize(
    ("platform", "machine", "name"),
    [
        ("darwin", "arm64", "macos-arm64"),
        ("linux", "aarch64", "linux-aarch64"),
        ("darwin", "x86_64", "darwin-x86_64"),
        ("linux", "riscv64", "linux-riscv64"),
    ],
)
def test_other_computers_have_targets_of_their_own(monkeypatch, platform, machine, name) -> None:
    monkeypatch.setattr(targets.sys, "platform", platform)
    monkeypatch.setattr(targets.os, "uname", lambda: SimpleNamespace(machine=machine))
    assert [each.name for each in targets.find_targets.__wrapped__()] == [name]


def test_the_features_of_a_processor_are_read_from_the_first_lines(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("processor: 0\nflags\t\t: avx2 pni\n\nprocessor: 1\nflags\t: other\n", encoding="utf-8")
    assert targets.read_flags(str(file)) == {"avx2", "pni"}
    file.write_bytes(b"flags: \xff\xfe")
    assert targets.read_flags(str(file)) == frozenset()
    assert targets.read_flags(str(tmp_path / "none")) == frozenset()


def test_nothing_is_built_below_a_folder_that_others_can_change(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translate = pytest.importorskip("planner.jit.translate", reason="numba is not installed")
    monkeypatch.setattr(translate, "import_kernels", lambda: library)
    monkeypatch.setattr(build, "make_objects", lambda *_: pytest.fail("built"))
    place.parents[1].mkdir(parents=True)
    place.parents[1].chmod(0o777)
    with pytest.raises(Untrusted):
        build.build(lambda _: None)


def test_a_build_removes_what_nobody_uses_and_what_killed_builds_left(tmp_path: Path) -> None:
    old = "planner-linux-aarch64-0123456789abcdef"
    for name in ("mine", "mine/.killed", "mine/.running", old, "new"):
        (tmp_path / name).mkdir()
    for name, age in ((old, build.KEPT_SECONDS), ("mine/.killed", build.LEFT_SECONDS)):
        os.utime(tmp_path / name, (0, time.time() - age - 60))
    os.utime(tmp_path / "mine", (0, 0))
    build._remove_old(tmp_path / "mine")
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["mine", "mine/.running", "new"]
