"""The command as a process: what it loads, limits of the system, signals, pipes, progress, other packages' commands."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from alarms import alarmed

import planner.cli.solve as progress_module
from planner import Plan, Problem, Progress, Result, Statistics, Status, Step, StoppedBy, load
from planner.cli import Exit, interrupt, main, plugin_commands, root
from planner.cli.interrupt import interruptible
from planner.cli.output import exit_of, give, judge
from planner.cli.solve import Watch, attempt, describe_status, show_progress
from planner.errors import EngineError, InputError, NoPlan
from planner.limits import Alarm

CORRIDOR = """
domain: corridor
actions:
  move:
    parameters: {robot: robot, origin: room, target: room}
    requires: ["at(robot, origin)", "door(origin, target)"]
    provides: ["at(robot, target)"]
    modifies: ["at(robot, _)"]
types: {robot: object, room: object}
---
problem: ten-rooms-on
domain: corridor
"""
TEN_STEPS = (
    CORRIDOR
    + "objects: {r: robot, "
    + ", ".join(f"a{number}: room" for number in range(11))
    + "}\ninitial: ['at(r, a0)', "
    + ", ".join(f"'door(a{number}, a{number + 1})'" for number in range(10))
    + "]\ngoal: ['at(r, a10)']\n"
)


@pytest.fixture
def corridor(tmp_path: Path) -> Path:
    path = tmp_path / "corridor.yaml"
    path.write_text(TEN_STEPS, encoding="utf-8")
    return path


def forethought(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "planner.cli", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=50, check=False)


@pytest.mark.parametrize("source", ["yaml", "pddl"])
def test_ten_steps_are_planned_without_anything_heavy(corridor: Path, tmp_path: Path, source: str) -> None:
    files = [str(corridor)]
    if source == "pddl":
        assert forethought("compile", corridor, "--to", "pddl", "--out", tmp_path).returncode == 0
        files = [str(tmp_path / "domain.pddl"), str(tmp_path / "problem.pddl")]
    code = (
        "import sys\nfrom planner.cli import main\n"
        f"try:\n    main(['solve', *{files!r}, '--json'])\n"
        "finally:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(json.loads(done.stdout)["plan"]["steps"]) == 10
    modules = set(done.stderr.split())
    heavy = {"numba", "numpy", "unified_planning", "networkx", "rich", "typer", "pydantic", "importlib.metadata"}
    if source == "yaml":
        heavy -= {"pydantic", "importlib.metadata"}
    else:
        heavy |= {"planner.language.declare", "dataclasses", "inspect", "datetime"}
    assert modules & heavy == set()
    assert {f"planner.cli.{name}" for name in root.OWN} & modules == {"planner.cli.solve"}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps the limit on address space")
def test_the_default_memory_limit_is_within_that_of_the_shell() -> None:
    code = "from planner.cli.interrupt import available_gibibytes; print(available_gibibytes())"
    limited = ["sh", "-c", 'ulimit -v 1048576; exec "$@"', "sh", sys.executable, "-c", code]
    done = subprocess.run(limited, capture_output=True, text=True, check=True)
    assert 0 < float(done.stdout) <= 1


WASTEFUL = {
    "while reading": "waste = bytearray(64 << 30)\n",
    "while planning": """
from planner import Domain
domain = Domain("wasteful")
domain.action("wait", {}, provides=["waited"], cost=lambda: len(bytearray(64 << 30)))
problem = domain.problem(initial=[], goal=["waited"])
""",
}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps the limit on address space")
@pytest.mark.parametrize("where", ["while reading", "while planning"])
def test_an_allocation_past_the_limit_ends_in_a_verdict_and_not_in_a_killed_process(tmp_path: Path, where: str) -> None:
    (tmp_path / "greedy.py").write_text(WASTEFUL[where], encoding="utf-8")
    done = forethought("solve", "greedy.py", "--memory-limit", "0.5", "--json", cwd=tmp_path)
    result = json.loads(done.stdout)
    assert (done.returncode, result["status"], result["stopped_by"]) == (Exit.NO_VERDICT, "UNKNOWN", "memory")
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_no_error(corridor: Path) -> None:
    command = [sys.executable, "-m", "planner.cli", "solve", str(corridor), "--quiet"]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=50, check=False)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_closed_streams_are_no_error(corridor: Path) -> None:
    command = f"{sys.executable} -m planner.cli solve {corridor} >&- 2>&-"
    assert subprocess.run(["/bin/sh", "-c", command], timeout=50, check=False).returncode == 0


def test_a_terminal_without_unicode_is_no_error(corridor: Path) -> None:
    command = [sys.executable, "-m", "planner.cli", "explain", str(corridor), "ten-rooms-on"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0
    assert "\\u2192 3. move(r, a2, a3)" in done.stdout


def test_help_has_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.14 colours help, but control characters are not for the terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    plain = forethought("solve", "--help").stdout
    assert "\x1b" not in plain
    assert plain.startswith("Usage: forethought solve [")


def test_in_a_pipe_there_is_no_progress(corridor: Path) -> None:
    done = forethought("solve", corridor)
    assert done.stdout.count("\n") == 11
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr


INTERRUPTING = """
import os, signal
from planner import Domain
domain = Domain("slow")
domain.action("wait", {}, provides=["waited"], cost=lambda: os.kill(os.getpid(), signal.SIG) or 1)
problem = domain.problem(initial=[], goal=["waited"])
"""


def test_a_signal_cuts_off_nothing_that_is_being_written_without_a_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = os.pipe()
    read: list[bytes] = []

    def interrupt_and_read() -> None:
        time.sleep(0.05)  # by now the pipe is full
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
        with io.FileIO(source) as pipe:
            read.append(pipe.readall())

    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    reader = threading.Thread(target=interrupt_and_read)
    try:
        with io.TextIOWrapper(io.FileIO(target, "w"), write_through=True) as stream:
            monkeypatch.setattr(sys, "stdout", stream)
            reader.start()
            give("x" * 500_000)
    finally:
        monkeypatch.undo()
        reader.join()
        signal.signal(signal.SIGUSR1, before)
    assert read == [b"x" * 500_000 + b"\n"]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGXCPU"])
def test_a_signal_ends_the_work_in_good_order(tmp_path: Path, name: str) -> None:
    (tmp_path / "slow.py").write_text(INTERRUPTING.replace("SIG)", f"{name})"), encoding="utf-8")
    done = forethought("solve", "slow.py", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["stopped_by"]) == (Exit.INTERRUPTED, "cancelled"), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGXCPU"])
@pytest.mark.parametrize("command", ["solve", "check", "explain", "compile"])
def test_one_signal_ends_reading(tmp_path: Path, name: str, command: str) -> None:
    text = f"import os, signal\nos.kill(os.getpid(), signal.{name})\nwhile True: pass\n"
    (tmp_path / "slow.py").write_text(text, encoding="utf-8")
    more = {"explain": ["some-problem"], "compile": ["--to", "yaml"]}.get(command, [])
    done = forethought(command, "slow.py", *more, cwd=tmp_path)
    assert done.returncode == Exit.INTERRUPTED, done.stderr
    assert "Traceback" not in done.stderr


LOOP = "while True: pass\n"
ENDLESS = {
    "a loop": LOOP,
    "a loop that catches all": f"while True:\n    try:\n        {LOOP}    except Exception: pass\n",
    "a loop after one that was ended": f"try:\n    {LOOP}except BaseException: pass\n{LOOP}",
}


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_the_time_limit_ends_reading(tmp_path: Path, text: str) -> None:
    (tmp_path / "endless.py").write_text(text, encoding="utf-8")
    done = forethought("solve", "endless.py", "--time-limit", "0.5", "--json", cwd=tmp_path)
    result = json.loads(done.stdout)
    assert (done.returncode, result["status"], result["stopped_by"]) == (Exit.NO_VERDICT, "UNKNOWN", "time")
    done = forethought("check", "endless.py", "--time-limit", "0.5", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (Exit.NO_VERDICT, "no verdict: stopped by the time limit\n")


@pytest.mark.parametrize("kind", ["yaml", "json", "pddl", "py"])
def test_a_pipe_that_nobody_writes_is_waited_for_no_longer_than_the_limit(tmp_path: Path, kind: str) -> None:
    os.mkfifo(tmp_path / f"pipe.{kind}")
    done = forethought("solve", f"pipe.{kind}", "--time-limit", "0.5", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (Exit.NO_VERDICT, "")
    assert "ended: the time limit" in done.stderr


def test_a_search_that_does_not_look_at_the_clock_is_ended_too(tmp_path: Path) -> None:
    text = INTERRUPTING.replace("os.kill(os.getpid(), signal.SIG) or 1", "next(None for _ in iter(int, 1) if _)")
    (tmp_path / "slow.py").write_text(text, encoding="utf-8")
    done = forethought("solve", "slow.py", "--time-limit", "0.5", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["stopped_by"]) == (Exit.NO_VERDICT, "time"), done.stderr


def test_a_signal_while_the_command_is_loaded_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "argparse.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n", encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "planner.cli", "--help"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (Exit.INTERRUPTED, "", "")


LINGERING = """
import os, signal, threading, time

def linger():
    threading.main_thread().join()
    while True:  # one signal may come just before the interpreter starts to wait, and then it goes on waiting
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)

threading.Thread(target=linger).start()
from planner import Domain
domain = Domain("lingering")
"""


def test_a_signal_after_the_command_has_ended_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "lingering.py").write_text(LINGERING, encoding="utf-8")
    done = forethought("check", "lingering.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (Exit.INTERRUPTED, "lingering: nothing to report\n")


def test_timers_and_handlers_of_others_are_put_back() -> None:
    before = signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGTERM)
    timer = signal.getitimer(signal.ITIMER_REAL)[0] > 0
    with pytest.raises(ZeroDivisionError), interruptible(1e300):
        raise ZeroDivisionError
    assert (signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGTERM)) == before
    assert (signal.getitimer(signal.ITIMER_REAL)[0] > 0) == timer


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_told(corridor: Path) -> None:
    command = f"{sys.executable} -m planner.cli solve {corridor} --quiet >/dev/full"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stderr) == (Exit.USAGE, "Error: standard output: No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_device_for_the_plan_is_told(corridor: Path) -> None:
    done = forethought("solve", corridor, "--quiet", "--plan-file", "/dev/full")
    assert (done.returncode, done.stderr) == (Exit.USAGE, "Error: /dev/full: No space left on device\n")
    assert "(move r a0 a1)" in done.stdout


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="the system has no /dev/stdout")
@pytest.mark.parametrize("name", ["/dev/stdout", "out"])
def test_a_plan_file_that_is_standard_output_is_not_replaced(corridor: Path, tmp_path: Path, name: str) -> None:
    command = f"{sys.executable} -m planner.cli solve {corridor} --quiet --plan-file {name} >>out"
    (tmp_path / "out").write_text("kept\n", encoding="utf-8")
    assert subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, timeout=50, check=False).returncode == 0
    lines = (tmp_path / "out").read_text(encoding="utf-8").splitlines()
    assert (lines[0], lines.count("(move r a0 a1)")) == ("kept", 2)


def test_devices_are_written_straight(corridor: Path) -> None:
    assert forethought("solve", corridor, "--plan-file", "/dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()


@pytest.fixture
def incumbent(corridor: Path) -> Progress:
    problem = load(corridor)
    steps = tuple(Step("move", ("r", f"a{number}", f"a{number + 1}"), 1) for number in range(10))
    return Progress(Plan(steps, problem), 4, 0.5, Statistics(expanded=1234))


def test_what_was_found_before_an_interrupt_is_printed(
    corridor: Path, incumbent: Progress, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(
        _: Problem, *, on_progress: Callable[[Progress], None], cancel: threading.Event, **_others: Any
    ) -> Result:
        on_progress(incumbent)
        signal.raise_signal(signal.SIGINT)
        assert cancel.is_set()
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the second signal raises")

    monkeypatch.setattr(import_module("planner.solve"), "solve", interrupted)
    monkeypatch.setattr(interrupt.resource, "setrlimit", lambda *_: None)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(SystemExit) as ended:
        main(["solve", str(corridor)])
    printed = capsys.readouterr()
    assert ended.value.code == Exit.INTERRUPTED
    assert printed.out.count("(move r") == 10
    assert "solved: cost 10, 10 steps; lower bound 4 (gap 60.0%); ended: cancellation" in printed.err
    assert signal.getsignal(signal.SIGINT) is before


def test_memory_that_runs_out_leaves_the_incumbent(incumbent: Progress) -> None:
    def exhausting() -> Result:
        raise MemoryError

    watch = Watch()
    assert attempt(exhausting, watch) == Result(Status.UNKNOWN, StoppedBy.MEMORY)
    watch(incumbent)
    result = attempt(exhausting, watch)
    assert (result.status, result.stopped_by) == (Status.SOLVED, StoppedBy.MEMORY)
    assert (result.plan, result.lower_bound) == (incumbent.plan, 4)


def test_exit_codes_and_verdicts_of_results(incumbent: Progress) -> None:
    plan = incumbent.plan
    table = {
        Result(Status.OPTIMAL, StoppedBy.EXHAUSTED, plan, 10): (Exit.OK, "proved optimal: cost 10, 10 steps"),
        Result(Status.SOLVED, StoppedBy.FIRST_PLAN, plan): (
            Exit.OK,
            "solved: cost 10, 10 steps; no lower bound; ended: the first plan was asked for, or the search stops at it",
        ),
        Result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED): (Exit.NEGATIVE, "proved unsolvable"),
        Result(Status.UNKNOWN, StoppedBy.TIME, lower_bound=7): (
            Exit.NO_VERDICT,
            "unknown: no plan found and none excluded, a plan costs 7 or more; ended: the time limit",
        ),
        Result(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, reason="numbers"): (Exit.UNSUPPORTED, "unsupported: numbers"),
    }
    for result, expected in table.items():
        assert (exit_of(result), describe_status(result)) == expected
    assert {status for result in table for status in [result.status]} == set(Status)
    assert exit_of(Result(Status.SOLVED, StoppedBy.CANCELLED, plan)) is Exit.INTERRUPTED


def test_errors_that_are_no_bugs() -> None:
    unknown = Result(Status.UNKNOWN, StoppedBy.TIME)
    assert judge(NoPlan(unknown))[0] is Exit.NO_VERDICT
    assert judge(EngineError("pyperplan crashed")) == (Exit.NO_VERDICT, "no verdict: pyperplan crashed")
    assert judge(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"))[0] is Exit.USAGE
    missing = "Error: this needs scipy.stats, which is not installed; 'pip install forethought' brings it"
    assert judge(ModuleNotFoundError("no", name="scipy.stats")) == (Exit.USAGE, missing)
    assert judge(ModuleNotFoundError("no", name="planner.lost"))[0] is Exit.INTERNAL


def test_a_bug_is_one_message_and_a_traceback_only_on_demand(
    corridor: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **_others: object) -> None:
        raise RuntimeError("one fact too many")

    monkeypatch.setattr(interrupt.resource, "setrlimit", lambda *_: None)
    monkeypatch.setattr("planner.cli.solve.limit_memory", broken)
    with pytest.raises(SystemExit) as ended:
        main(["solve", str(corridor)])
    message = capsys.readouterr().err
    assert ended.value.code == Exit.INTERNAL
    assert message.startswith("Internal error: RuntimeError: one fact too many\n")
    assert "Traceback" not in message
    monkeypatch.setenv("FORETHOUGHT_DEBUG", "1")
    with pytest.raises(SystemExit):
        main(["solve", str(corridor)])
    assert "Traceback" in capsys.readouterr().err


def test_watch_says_what_is_known(incumbent: Progress) -> None:
    watch = Watch()
    assert str(watch).startswith("reading and grounding · ")
    watch(Progress(None, 3, 0.1, Statistics(expanded=5)))
    assert str(watch).startswith("no plan yet · lower bound 3 · 5 states · ")
    watch(incumbent)
    assert str(watch).startswith("best cost 10 · lower bound 4 · gap 60.0% · 1,234 states · ")


def all_of(terminal: int) -> bytes:
    """Return what was written to a terminal that nobody has open any more; it comes in pieces."""
    pieces = []
    with os.fdopen(terminal, "rb", buffering=0) as file, contextlib.suppress(OSError):  # Linux: no end, but an error
        while piece := file.read(1 << 16):
            pieces.append(piece)
    return b"".join(pieces)


def test_progress_is_drawn_on_a_terminal_and_wiped_away(incumbent: Progress, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = threading.Event()
    draw = progress_module._draw

    def draw_and_tell(*arguments: Any) -> None:
        draw(*arguments)
        drawn.set()

    master, slave = os.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress_module, "DRAW_AFTER_SECONDS", 0)
    monkeypatch.setattr(progress_module, "_draw", draw_and_tell)
    with os.fdopen(slave, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        watch = Watch()
        watch(incumbent)
        with show_progress(watch, quiet=False):
            assert drawn.wait(30)
        monkeypatch.undo()
    seen = all_of(master).decode()
    assert "best cost 10 · lower bound 4" in re.sub(r"\x1b\[[\d;]*m", "", seen)
    assert "\x1b[2K" in seen.rpartition("best cost")[2]


def test_quiet_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(threading, "Timer", None)
    with show_progress(Watch(), quiet=True):
        pass


def single(name: str) -> None:
    """One command."""
    typer.echo(f"single {name}")


def ending(how: str) -> None:
    """End in one of several ways."""
    match how:
        case "code":
            raise typer.Exit(Exit.NEGATIVE)
        case "mistake":
            raise InputError("not so")
        case "interrupt":
            raise KeyboardInterrupt
        case _:
            raise RuntimeError(how)


single_app = typer.Typer()
single_app.command()(single)
group_app = typer.Typer()
group_app.command("first")(single)
group_app.command("second")(single)
ending_app = typer.Typer()
ending_app.command()(ending)


@pytest.fixture
def extra(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let another package have the command `extra`: the Typer app of a name here."""
    apps = SimpleNamespace(single_app=single_app, group_app=group_app, ending_app=ending_app)
    monkeypatch.setitem(sys.modules, "elsewhere", apps)

    def install(app: str) -> None:
        entries = [EntryPoint("extra", f"elsewhere:{app}", plugin_commands.GROUP)]
        monkeypatch.setattr(
            plugin_commands, "entry_points", lambda *, group: entries if group == plugin_commands.GROUP else []
        )

    return install


@pytest.mark.parametrize(
    ("app", "line"), [("single_app", "extra x"), ("group_app", "extra first x"), ("group_app", "extra second x")]
)
def test_other_packages_bring_commands(
    extra: Callable[[str], None], capsys: pytest.CaptureFixture[str], app: str, line: str
) -> None:
    extra(app)
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert (ended.value.code or 0, capsys.readouterr().out) == (0, "single x\n")


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("extra code", Exit.NEGATIVE, ""),
        ("extra mistake", Exit.USAGE, "Error: not so\n"),
        ("extra interrupt", Exit.INTERRUPTED, ""),
        ("extra bug", Exit.INTERNAL, "Internal error: RuntimeError: bug\n"),
        ("extra", Exit.USAGE, "Usage: forethought extra"),
        ("extra code --nope", Exit.USAGE, "Usage: forethought extra"),
        ("extre", Exit.USAGE, "Error: there is no command 'extre'; did you mean 'extra'?\n"),
    ],
)
def test_other_packages_commands_end_as_ours(
    extra: Callable[[str], None], capsys: pytest.CaptureFixture[str], line: str, code: Exit, message: str
) -> None:
    extra("ending_app")
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == code
    assert capsys.readouterr().err.startswith(message)


def test_help_says_what_other_packages_commands_do(
    extra: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    extra("ending_app")
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "\n  extra     End in one of several ways.\n" in capsys.readouterr().out


def test_a_command_that_cannot_be_loaded_harms_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [EntryPoint("extra", "no_such_package:app", plugin_commands.GROUP)]
    monkeypatch.setattr(plugin_commands, "entry_points", lambda **_: entries)
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert (ended.value.code or 0) == 0
    assert "the command 'extra' of no_such_package:app cannot be loaded" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["extra"])
    assert ended.value.code == Exit.USAGE


def test_a_signal_while_a_plan_is_written_does_not_lose_it(
    corridor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = import_module("planner.cli.options")
    written = module.plan_text

    def disturbed(plan: Plan) -> str:
        signal.raise_signal(signal.SIGINT)
        return written(plan)

    monkeypatch.setattr(module, "plan_text", disturbed)
    monkeypatch.setattr(interrupt.resource, "setrlimit", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        main(["solve", str(corridor), "--json", "--plan-file", str(tmp_path / "plan")])
    assert ended.value.code == 0
    assert (tmp_path / "plan").read_text(encoding="utf-8").count("(move r") == 10
    assert json.loads(capsys.readouterr().out)["cost"] == 10


@pytest.mark.parametrize("number", range(12))
def test_an_alarm_at_any_time_of_the_start_ends_with_its_own_code(number: int) -> None:
    seconds, allowed, command = alarmed(7 * number, 200)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in allowed, (seconds, done.stderr)
    assert "Traceback" not in done.stderr
    assert "Internal error" not in done.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Alarm(StoppedBy.TIME), Exit.NO_VERDICT),
        (KeyboardInterrupt(), Exit.INTERRUPTED),
        (MemoryError(), Exit.NO_VERDICT),
    ],
)
def test_a_limit_that_arrives_while_a_class_is_created_keeps_its_code(error: BaseException, code: Exit) -> None:
    class Late:
        def __set_name__(self, owner: type, name: str) -> None:
            raise error

    with pytest.raises(BaseException) as raised:  # noqa: PT011 - which one it is depends on Python
        type("Made", (), {"late": Late()})
    assert judge(raised.value)[0] is code
    assert judge(RuntimeError("something else"))[0] is Exit.INTERNAL


@pytest.mark.parametrize(
    ("arguments", "late"),
    [
        (["run", "courier"], "executor.cli.execute"),
        (["repair", "courier", "desk", "plan"], "executor.agent.foreign_plans.repair_plan"),
    ],
    ids=["run", "repair"],
)
def test_the_limit_holds_while_the_executor_is_loaded(arguments: list[str], late: str) -> None:
    """The limit is over before that begins, so that the module is never there."""
    command = [sys.executable, "-X", "importtime", "-c", "from planner.cli import main; main()", *arguments]
    done = subprocess.run([*command, "--time-limit", "0.001"], capture_output=True, text=True, check=False, timeout=60)
    loaded = [line.split("|")[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    assert done.returncode == Exit.NO_VERDICT
    assert "typer" in loaded
    assert late not in loaded


class Dropped:
    """What may be referred to weakly."""


def test_an_interrupt_that_python_drops_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python drops exceptions that come while it calls a weak reference back, as it does while it imports."""
    monkeypatch.setattr("planner.cli.interrupt.PATIENCE_SECONDS", 0.01)
    dropped: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)
    before = signal.getsignal(signal.SIGALRM)
    item = Dropped()
    reference = weakref.ref(item, lambda _: signal.raise_signal(signal.SIGINT))
    with interruptible():
        del item
        assert reference() is None
        with pytest.raises(KeyboardInterrupt):
            time.sleep(30)
    assert signal.getsignal(signal.SIGALRM) is before
    assert not dropped, "nothing is printed of it"
    assert sys.unraisablehook == dropped.append
