"""Processes under limits: what they used, and what ended them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.process import GIB, WALL_CLOCK_GUARD, Limits, Run, run_limited, stop_all
from planner.errors import ForethoughtError

BUSY = "while True: pass"
ASKED = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: (print('best so far'), sys.exit(3)))\n" + BUSY


def run(code: str, folder: Path, limits: Limits, ask_seconds: float | None = None) -> Run:
    return run_limited([sys.executable, "-c", code], folder, limits, ask_seconds=ask_seconds)


def test_a_process_that_ends_by_itself(tmp_path: Path) -> None:
    ended = run("print('said'); import sys; sys.exit(7)", tmp_path, Limits())
    assert (ended.returncode, ended.stdout, ended.killed, ended.limit) == (7, "said\n", None, None)
    assert ended.last_words == "said"
    assert 0 < ended.cpu_seconds <= ended.wall_seconds + 1
    assert 2**20 < ended.peak_bytes < GIB


def test_the_folder_is_its_own_and_stdin_is_empty(tmp_path: Path) -> None:
    code = "import sys; open('made', 'w').write(sys.stdin.read() + 'x')"
    assert run(code, tmp_path, Limits()).returncode == 0
    assert (tmp_path / "made").read_text() == "x"


PATIENT = Limits(cpu_seconds=1, wall_factor=300)
"""A second of CPU time, however busy others keep the machine."""


@pytest.mark.parametrize(
    ("code", "limits", "limit"),
    [
        pytest.param(BUSY, PATIENT, "time", id="cpu"),
        pytest.param(f"import os\nos.fork()\nos.fork()\n{BUSY}", PATIENT, "time", id="cpu of children"),
        pytest.param(
            "import time; time.sleep(60)",
            Limits(cpu_seconds=1, wall_factor=-4),
            WALL_CLOCK_GUARD,
            id="wall-clock guard",
        ),
        pytest.param("bytearray(1 << 30)", Limits(memory_gib=0.25), "memory", id="memory"),
        pytest.param(
            "import os, time\nos.fork()\nos.fork()\nx = bytearray(150 << 20)\ntime.sleep(30)",
            Limits(memory_gib=0.4),
            "memory",
            id="memory of all together",
        ),
        pytest.param("1 / 0", Limits(), None, id="no limit"),
    ],
)
def test_what_ended_it(code: str, limits: Limits, limit: str | None, tmp_path: Path) -> None:
    ended = run(code, tmp_path, limits)
    assert ended.returncode != 0
    assert ended.limit == limit


FINISH = """
import signal, sys, time
def end(*_):
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    until = time.process_time() + 1.7
    while time.process_time() < until: pass
    print("plan")
    sys.exit(3)
signal.signal(signal.SIGXCPU, end)
"""


def test_it_has_two_seconds_for_its_plan_after_the_limit(tmp_path: Path) -> None:
    ended = run(FINISH + BUSY, tmp_path, Limits(cpu_seconds=1))
    assert (ended.returncode, ended.stdout) == (3, "plan\n")


def test_it_may_be_asked_to_stop_first(tmp_path: Path) -> None:
    ended = run(ASKED, tmp_path, Limits(cpu_seconds=20), ask_seconds=0.1)
    assert (ended.returncode, ended.stdout, ended.limit) == (3, "best so far\n", None)


def test_a_command_that_does_not_exist(tmp_path: Path) -> None:
    ended = run_limited(["no-such-command"], tmp_path, Limits())
    assert ended.returncode == 127
    assert "no-such-command" in ended.last_words


def test_peak_memory_is_not_that_of_the_starter(tmp_path: Path) -> None:
    ballast = bytearray(300 << 20)
    assert run("pass", tmp_path, Limits()).peak_bytes < 100 << 20
    assert len(ballast) == 300 << 20


def test_what_a_process_leaves_behind_is_killed(tmp_path: Path) -> None:
    child = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"
    parent = (
        "import subprocess, sys, os, time\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        "while not (os.path.exists('pid') and os.path.getsize('pid')): time.sleep(0.01)"
    )
    assert run(parent, tmp_path, Limits()).returncode == 0
    wait_for_end(int((tmp_path / "pid").read_text()))


def test_a_killed_starter_takes_the_process_with_it(tmp_path: Path) -> None:
    code = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"
    starter = (
        "import sys; from pathlib import Path; from benchmarks.process import Limits, run_limited\n"
        f"run_limited([sys.executable, '-c', {code!r}], Path({str(tmp_path)!r}), Limits())"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", starter], cwd=root) as process:
        pid = tmp_path / "pid"
        while not (pid.exists() and pid.read_text()):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    wait_for_end(int(pid.read_text()))


def test_what_a_killed_starter_leaves_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    starter = (
        "import sys; from pathlib import Path; from benchmarks.process import Limits, run_limited\n"
        f"run_limited([sys.executable, '-c', {BUSY!r}], Path({str(folder)!r}), Limits())"
    )
    with subprocess.Popen([sys.executable, "-c", starter], cwd=Path(__file__).parents[2]) as process:
        while not (folder / "stdout").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    while folder.exists():
        time.sleep(0.02)


def test_a_process_stopped_from_outside_tells_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        ran = pool.submit(run, BUSY, tmp_path, Limits())
        while not (tmp_path / "stdout").exists():
            time.sleep(0.01)
        stop_all()
        with pytest.raises(ForethoughtError, match="was stopped from outside"):
            ran.result()


def wait_for_end(pid: int) -> None:
    """Return when the process is gone or a zombie; the test's own timeout says when it is not."""
    while True:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except (ProcessLookupError, FileNotFoundError):
            return
        time.sleep(0.02)
