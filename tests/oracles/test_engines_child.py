"""Engines that misbehave: none of it reaches the caller, and nothing is left running."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from unified_planning.environment import get_environment

from planner.errors import EngineError
from planner.model import Action, Atom, DomainModel, Goal, Predicate, Problem
from planner.options import SolveOptions
from planner.plan import Status, StoppedBy
from planner.solve import solve
from planner.unified_planning import solve_with

FAKES = """
import os, subprocess, sys, time
from pathlib import Path

from unified_planning.engines import Engine, PlanGenerationResult, PlanGenerationResultStatus as Outcome
from unified_planning.engines.mixins import OneshotPlannerMixin
from unified_planning.model import ProblemKind
from unified_planning.plans import ActionInstance, SequentialPlan


class Fake(Engine, OneshotPlannerMixin):
    name = "fake"
    supported_kind = staticmethod(lambda: ProblemKind({"ACTION_BASED"}, version=2))
    supports = staticmethod(lambda kind: True)
    satisfies = staticmethod(lambda guarantee: True)

    def __init__(self):
        Engine.__init__(self)
        OneshotPlannerMixin.__init__(self)

    def _solve(self, problem, heuristic=None, timeout=None, output_stream=None):
        print("stdout is mine"), print("so is stderr", file=sys.stderr), Path("litter").touch()
        return self.answer(problem)


class Boaster(Fake):
    def answer(self, problem):
        plan = SequentialPlan([ActionInstance(problem.action("dear"))])
        return PlanGenerationResult(Outcome.SOLVED_OPTIMALLY, plan, self.name)


class Crasher(Fake):
    def answer(self, problem):
        raise RuntimeError("out of cheese")


class Dier(Fake):
    def answer(self, problem):
        os._exit(7)


class Sleeper(Fake):
    def answer(self, problem):
        self._process = subprocess.Popen(["sleep", "60"], start_new_session=True)
        Path(os.environ["FAKE_PIDS"]).write_text(f"{os.getpid()} {self._process.pid}")
        self._process.wait()


class Glutton(Fake):
    def answer(self, problem):
        self.food = bytearray(1_000_000_000)
        time.sleep(60)
"""


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the fake engines known to this process only; return the file for the numbers of processes."""
    (tmp_path / "fake_engines.py").write_text(FAKES, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("FAKE_PIDS", str(tmp_path / "pids"))
    factory = get_environment().factory
    for name in ("Boaster", "Crasher", "Dier", "Sleeper", "Glutton"):
        if f"fake-{name}" not in factory.engines:
            factory.add_engine(f"fake-{name}", "fake_engines", name)
    return tmp_path / "pids"


def choice() -> Problem:
    actions = {name: Action(name, provides=(Atom("done"),), cost=(cost,)) for name, cost in (("cheap", 1), ("dear", 5))}
    domain = DomainModel("choice", predicates={"done": Predicate("done")}, actions=actions)
    return Problem("choice", domain, goal=Goal(Atom("done")))


def test_engines_that_this_process_registered_are_found_and_kept_quiet(
    fakes: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    result = solve(choice(), engine="fake-Boaster", time_limit=60)
    assert (result.status, result.cost, result.lower_bound) == (Status.SOLVED, 5, None)
    assert result.reason == "fake-Boaster ignores costs"
    assert capfd.readouterr() == ("", "")
    assert not Path("litter").exists()
    assert not fakes.exists()


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("fake-Crasher", "fake-Crasher crashed: RuntimeError: out of cheese"),
        ("fake-Dier", "fake-Dier crashed: exit code 7: so is stderr"),
    ],
)
@pytest.mark.usefixtures("fakes")
def test_failures_are_named(engine: str, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        solve_with(choice(), SolveOptions(engine=engine, time_limit=60))


def test_time_is_up_for_all_processes(fakes: Path) -> None:
    result = solve_with(choice(), SolveOptions(engine="fake-Sleeper", time_limit=8))
    assert (result.status, result.stopped_by) == (Status.UNKNOWN, StoppedBy.TIME)
    assert_gone(fakes)


def test_cancelling_stops_all_processes(fakes: Path) -> None:
    cancel = threading.Event()

    def watch() -> None:
        while not (fakes.exists() and fakes.read_text()):
            time.sleep(0.02)
        cancel.set()

    threading.Thread(target=watch, daemon=True).start()
    result = solve_with(choice(), SolveOptions(engine="fake-Sleeper", time_limit=None, cancel=cancel))
    assert (result.status, result.stopped_by) == (Status.UNKNOWN, StoppedBy.CANCELLED)
    assert_gone(fakes)


@pytest.mark.usefixtures("fakes")
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the memory of other processes is read from /proc")
def test_memory_is_limited() -> None:
    result = solve_with(choice(), SolveOptions(engine="fake-Glutton", time_limit=None, memory_limit=0.9))
    assert (result.status, result.stopped_by) == (Status.UNKNOWN, StoppedBy.MEMORY)


def assert_gone(pids: Path) -> None:
    """Assert that the processes do not run any more; one that nobody has waited for may still be listed."""
    for pid in map(int, pids.read_text().split() if pids.exists() else ()):
        with suppress(OSError):
            assert Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        with suppress(ProcessLookupError):
            os.kill(pid, 0)
