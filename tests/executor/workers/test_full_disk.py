"""Disks are full: no step begins unrecorded, observers settle outcomes, and workers go on by themselves with room."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from belt_workers import enqueue, start_worker, status_of, wait_until

WORLD = """
import secrets
from pathlib import Path
from executor import World
from planner import Domain

FOLDER = Path(__file__).parent
STEPS = 6
works = Domain("works")
for number in range(STEPS):
    needs = [f"done{number - 1}"] if number else []
    works.action(f"do{number}", {}, requires=needs, provides=[f"done{number}"])
world = World(works)
problem = works.problem(goal=[f"done{STEPS - 1}"])


def calls():
    path = FOLDER / "calls"
    return path.read_text().split() if path.exists() else []


def fill():
    with (Path((FOLDER / "disk").read_text()) / "filler").open("wb", buffering=0) as file:
        try:
            while file.write(bytes(512)):
                pass
        except OSError:
            pass


def bind(name, fact):
    @world.handler(name)
    def do():
        if name == "do2" and name not in calls():
            fill()
        with (FOLDER / "calls").open("a") as file:
            file.write(f"{name}\\n")
        return {"letter": secrets.token_hex(8000)}

    @world.observer(fact, conclusive=True)
    def done():
        return name in calls()


for number in range(STEPS):
    bind(f"do{number}", f"done{number}")
"""


@pytest.fixture
def disk(tmp_path):
    """A file system of two megabytes."""
    folder = tmp_path / "disk_of_the_test"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder]
    if os.geteuid() or not shutil.which("mount") or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def works(tmp_path, disk):
    path = tmp_path / "works.py"
    path.write_text(WORLD)
    (tmp_path / "disk").write_text(str(disk))
    return path


@contextlib.contextmanager
def working(works, place):
    """Let a worker work; yield what reads its messages."""
    log = works.with_suffix(".log")
    with log.open("w") as file:
        process = start_worker(works, place, stderr=file)
    try:
        yield log.read_text
    finally:
        process.terminate()
        process.wait(60)


def calls_of(works):
    path = works.parent / "calls"
    return path.read_text().split() if path.exists() else []


@pytest.mark.timeout(240)
def test_a_run_in_a_file_stands_still_while_the_disk_is_full_and_goes_on_with_room(works, disk):
    place = disk / "runs.db"
    run = enqueue(works, place)
    with working(works, place) as read_log:
        wait_until(lambda: read_log().count("is full") >= 2)
        assert calls_of(works) == ["do0", "do1", "do2"], "do3 was not begun: nothing could be recorded"
        log = read_log()
        assert f"{run}: {place}: the disk is full (SQLITE_FULL" in log
        assert "make room and try again" in log
        (disk / "filler").unlink()
        wait_until(lambda: status_of(place, run) == "SUCCEEDED")
        assert "Traceback" not in read_log()
    assert Counter(calls_of(works)) == {f"do{number}": 1 for number in range(6)}


@pytest.mark.timeout(240)
def test_a_run_in_a_database_whose_disk_is_full_is_settled_by_observing_and_goes_on_with_room(works, disk, postgres):
    place, folder = postgres.address("full"), disk / "space"
    run = enqueue(works, place)
    folder.mkdir()
    shutil.chown(folder, "postgres")
    for each in works.parents:
        if each.is_relative_to(Path(tempfile.gettempdir()).resolve()) and each.stat().st_uid == os.getuid():
            each.chmod(each.stat().st_mode | 0o111)
    postgres.run_sql(f"CREATE TABLESPACE small LOCATION '{folder}'")
    postgres.run_sql('ALTER TABLE "full".events SET TABLESPACE small')
    with working(works, place) as read_log:
        wait_until(lambda: read_log().count("is full") >= 2)
        called = calls_of(works)
        log = read_log()
        assert "the disk of the database is full (53100: could not extend file" in log
        assert "make room and try again" in log
        (disk / "filler").unlink()
        wait_until(lambda: status_of(place, run) == "SUCCEEDED")
        assert "Traceback" not in read_log()
    assert called[:3] == ["do0", "do1", "do2"]
    assert Counter(calls_of(works)) == {f"do{number}": 1 for number in range(6)}
    postgres.run_sql('ALTER TABLE "full".events SET TABLESPACE pg_default')
    postgres.run_sql("DROP TABLESPACE small")
