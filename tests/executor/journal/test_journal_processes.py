"""The journal and real processes: killed while they append, two for one run, forked, without room, without rights."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from executor.errors import DrivenError
from executor.journal import Journal

BEGIN = """
import sys
from executor.errors import *
from executor.journal import Journal
path = sys.argv[1]
"""
APPENDS = """
with Journal(path, durability=sys.argv[2]) as journal, journal.drive("r1"):
    number = len(list(journal.read("r1")))
    while True:
        number = journal.extend("r1", [(f"{number + 1}", "x" * (number % 300), None), (f"{number + 2}", "", "ACTIVE")])
        print(number, flush=True)
"""
DRIVES = """
with Journal(path) as journal, journal.drive("r1"):
    journal.append("r1", "mine", "")
    print("driving", flush=True)
    sys.stdin.read()
"""


def started(text, *arguments, **options):
    command = [sys.executable, "-c", BEGIN + text, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, **options)


def finished(text, *arguments, **options):
    """Return what a process printed that went through `text` without an error."""
    command = [sys.executable, "-c", BEGIN + text, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False, **options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def killed(process):
    """Kill `process`; return what else it had printed, as whole lines."""
    process.kill()
    printed = process.stdout.read()
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL
    return printed[: printed.rfind("\n") + 1].splitlines()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.db"


@pytest.fixture
def run(path):
    with Journal(path) as journal:
        journal.create("r1")
    return path


@pytest.mark.parametrize(("durability", "rounds"), [("process", (1, 7, 90, 700)), ("power", (1, 5))])
def test_what_was_appended_before_kill_9_is_there(run, durability, rounds):
    for appends in rounds:
        process = started(APPENDS, run, durability)
        printed = [process.stdout.readline().strip() for _ in range(appends)]
        reported = int((printed + killed(process))[-1])
        with Journal(run) as journal:
            entries = list(journal.read("r1"))
            assert len(entries) in (reported, reported + 2)
            assert [(entry.seq, entry.kind) for entry in entries] == [
                (number, str(number)) for number in range(1, len(entries) + 1)
            ]
            assert [(each.events, each.status) for each in journal.runs()] == [(len(entries), "ACTIVE")]


def test_a_run_is_driven_by_one_process_until_that_is_gone(run):
    process = started(DRIVES, run)
    assert process.stdout.readline() == "driving\n"
    with Journal(run) as journal:
        for _ in range(2):
            with pytest.raises(
                DrivenError, match=rf"'r1' is driven by process {process.pid} on .* since 20.*UTC; wait"
            ):
                journal.drive("r1").__enter__()
        assert [entry.kind for entry in journal.read("r1")] == ["mine"]
        killed(process)
        with journal.drive("r1"):
            assert journal.append("r1", "mine too", "") == 2


def test_reading_and_closing_elsewhere_in_the_process_keeps_the_lock(run):
    """Closing any descriptor of a file drops the locks of its process: there must not be a second one."""
    with Journal(run) as journal, journal.drive("r1"):
        with Journal(run) as other:
            other.create("r2")
        text = "try:\n  Journal(path).drive('r1').__enter__()\nexcept DrivenError as error: print(error)"
        assert f"driven by process {os.getpid()} " in finished(text, run)


def test_processes_make_one_journal_together_and_append_at_once(path):
    text = """
name = sys.argv[2]
sys.stdin.readline()
with Journal(path) as journal:
    journal.create(name)
    with journal.drive(name):
        for number in range(40):
            journal.append(name, name, str(number))
    journal.save_plan(name, "")
"""
    processes = [started(text, path, f"r{number}") for number in range(6)]
    for process in processes:
        process.stdin.write("now\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=50)
        assert process.returncode == 0
    with Journal(path) as journal:
        names = [each.run for each in journal.runs()]
        assert sorted(names) == [f"r{number}" for number in range(6)]
        assert sorted(each.name for each in journal.plans()) == sorted(names)
        for name in names:
            entries = list(journal.read(name))
            assert [entry.data for entry in entries] == [str(number) for number in range(40)]
            assert {entry.kind for entry in entries} == {name}


def test_a_forked_process_is_refused_and_does_no_harm(run):
    text = """
import os
journal = Journal(path)
with journal.drive("r1"):
    child = os.fork()
    if not child:
        for use in (journal.runs, lambda: journal.append("r1", "A", ""), lambda: Journal(path)):
            try:
                use()
            except JournalError as error:
                print(error, flush=True)
        journal.close()
    else:
        os.waitpid(child, 0)
        print(journal.append("r1", "A", ""))
        journal.close()
"""
    *refused, appended = finished(text, run).splitlines()
    assert [("forked this one" in line or "forked" in line, "spawn" in line) for line in refused] == [(True, True)] * 3
    assert appended == "1"
    with Journal(run) as journal:
        assert [entry.kind for entry in journal.read("r1")] == ["A"]


def test_a_process_that_was_forked_before_opens_its_own(run):
    text = """
import os
child = os.fork()
with Journal(path) as journal:
    journal.create("child" if not child else "parent")
if child:
    os.waitpid(child, 0)
"""
    finished(text, run)
    with Journal(run) as journal:
        assert {each.run for each in journal.runs()} == {"r1", "child", "parent"}


FILLS = """
reported = 0
try:
    with Journal(path) as journal, journal.drive("r1"):
        while True:
            reported = journal.append("r1", "A", "x" * 900)
except JournalError as error:
    print(reported)
    print(error)
"""


def test_a_limit_on_file_sizes_loses_nothing(run):
    limited = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))\n"
    reported, message = finished(limited + FILLS, run).splitlines()
    assert "limits on file sizes (ulimit -f); what was appended before is kept" in message
    with Journal(run) as journal:
        assert len(list(journal.read("r1"))) == int(reported) > 30


def test_a_full_disk_loses_nothing(tmp_path):
    """A small file system of its own, where this user may mount one."""
    mount = "mount -t tmpfs -o size=800k tmpfs"
    inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec"]
    if (
        not shutil.which("unshare")
        or subprocess.run([*inside, f"{mount} {tmp_path}"], check=False, capture_output=True).returncode
    ):
        pytest.skip("no file system can be mounted here")
    text = "with Journal(path) as journal: journal.create('r1')\n" + FILLS
    text += "with Journal(path) as journal: print(len(list(journal.read('r1'))))"
    script = f"{mount} {tmp_path}; {sys.executable} -c '{BEGIN}{text.replace(chr(39), chr(34))}' {tmp_path}/journal.db"
    done = subprocess.run([*inside, script], capture_output=True, text=True, check=True, timeout=50)
    reported, message, kept = done.stdout.splitlines()
    assert "the disk is full" in message
    assert int(kept) == int(reported) > 30


def test_runs_are_listed_where_nothing_can_be_written(tmp_path):
    """A folder that is mounted to be read only, where this user may mount one."""
    folder = tmp_path / "kept"
    folder.mkdir()
    with Journal(folder / "journal.db") as journal:
        journal.create("r1")
    mount = f"mount --bind {folder} {folder}; mount -o remount,ro,bind {folder}; ! touch {folder}/new 2>&1"
    inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec"]
    if not shutil.which("unshare") or subprocess.run([*inside, mount], check=False, capture_output=True).returncode:
        pytest.skip("no folder can be mounted here to be read only")
    script = f"{mount}; {sys.executable} -m planner.cli runs list {folder}/journal.db"
    done = subprocess.run([*inside, script], capture_output=True, text=True, check=False, timeout=50)
    assert (done.returncode, "r1" in done.stdout) == (0, True), done.stderr


@pytest.fixture
def reachable():
    """Return a folder that others than its owner can reach, unlike those that pytest makes."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("file", "folder", "kept", "found"),
    [
        (0o444, 0o777, True, "it cannot be written; .*must be writable by this user"),
        (0o666, 0o555, True, "it cannot be (opened|used|written) .*user"),
        (0o000, 0o777, True, "it cannot be opened .*may write"),
        (0o666, 0o555, False, "it cannot be opened .*may write"),
    ],
)
def test_what_cannot_be_written_is_refused(reachable, file, folder, kept, found):
    path = reachable / "journal.db"
    if kept:
        with Journal(path) as journal:
            journal.create("r1")
        path.with_name("journal.db-lock").chmod(0o666)
        path.chmod(file)
    reachable.chmod(folder)
    text = """
import os
if os.getuid() == 0:
    os.setuid(65534)
try:
    Journal(path)
except JournalError as error:
    print(error)
"""
    message = finished(text, path).strip()
    assert re.search(found, message), message
    assert message.startswith(str(path))
