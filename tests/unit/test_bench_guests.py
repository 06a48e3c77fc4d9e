"""Peers in environments of their own, played by stand-ins: how they are found, asked and understood."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.planners import Outcome, installed, missing, planner_of
from benchmarks.planners.environments import VARIABLE, interpreter_of, peers_folder, version_in_own
from benchmarks.planners.guests import Guest
from benchmarks.process import Limits, Run
from benchmarks.records import read_records
from benchmarks.tools.declare import declared
from benchmarks.tools.others import measure_others
from benchmarks.tools.profiles import generate
from planner import solve
from planner.pddl.export import export
from planner.pddl.plans import write_plan

LIMITS = Limits(cpu_seconds=20, memory_gib=2.0)
JUPYDDL = """
class UnsupportedFeatureError(Exception): pass
class Result:
    solved, truncated, cost = {solved}, {truncated}, {cost}
    def plan_names(self, canonical): return {names}
def build_task(domain, problem):
    if {refuses}: raise UnsupportedFeatureError("no axioms")
def solve_task(task, search, heuristic, time_limit): return Result()
"""
KAIROS = """
from enum import Enum
from types import SimpleNamespace as Space
Status, StopReason = Enum("Status", "SOLVED TIMEOUT"), Enum("StopReason", "EXHAUSTED PROVEN_OPTIMAL TIMEOUT")
class Plan:
    cost = {cost}
    def to_string(self): return {plan!r}
def load_domain(path): return path
def load_problem(path, domain): return path
class Planner:
    def solve(self, problem, timeout, anytime, threads):
        return Space(status=Status.SOLVED, stop_reason=StopReason.{stop}, plan=Plan(), diagnostics=[],
                     stats=Space(search_ms=1.0))
"""


@pytest.fixture
def peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "peers"))
    return tmp_path / "peers"


def stand_in(peers: Path, package: str, module: str, code: str) -> None:
    """Make an environment in which `code` is installed as `module`."""
    place = peers / package
    site = place / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    for folder in (place / "bin", site / f"{package.replace('-', '_')}-7.1.dist-info"):
        folder.mkdir(parents=True, exist_ok=True)
    (place / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n", encoding="utf-8")
    if not (place / "bin" / "python").exists():
        (place / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    (site / f"{module}.py").write_text(code, encoding="utf-8")
    metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: 7.1\n"
    (site / f"{package.replace('-', '_')}-7.1.dist-info" / "METADATA").write_text(metadata, encoding="utf-8")


def jupyddl(peers: Path, **says: Any) -> None:
    values = {"solved": True, "truncated": False, "cost": 2, "names": ["(go)"], "refuses": False, **says}
    stand_in(peers, "jupyddl", "jupyddl", JUPYDDL.format(**values))


def test_without_an_environment_a_peer_is_missing(peers: Path) -> None:
    assert peers_folder() == peers
    assert missing(planner_of("jupyddl-astar-lmcut")) == "jupyddl"
    assert missing(planner_of("kairos")) == "kairos-planner"


def test_the_folder_is_in_the_cache_unless_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert peers_folder() == tmp_path / "forethought" / "peers"


def test_a_peer_in_an_environment_is_found_with_its_version(peers: Path) -> None:
    jupyddl(peers)
    assert version_in_own("jupyddl") == "7.1"
    assert installed(("jupyddl", "kairos-planner")) == {"jupyddl": "7.1"}
    assert missing(planner_of("jupyddl-astar-lmcut")) is None
    assert planner_of("kairos").job(LIMITS).command[0] == str(interpreter_of("kairos-planner"))


@pytest.mark.parametrize("text", ["kairos:fast=1", "jupyddl:first=1"])
def test_options_that_a_peer_does_not_have(text: str) -> None:
    with pytest.raises(Exception, match=r"has no option"):
        planner_of(text)


def told(status: str, features: frozenset[str] = frozenset(), kind: str = "jupyddl") -> Outcome:
    line = json.dumps({"status": status, "cost": 3, "plan": "(go)\n", "read_seconds": 0.5, "search_seconds": 0.25})
    run = Run(0, 1.0, 1.0, 1 << 20, None, f"noise\n{line}\n", "", LIMITS)
    answer = Guest("x", kind, "x").read(run, Path(), features)
    assert (answer.lower_bound == 3) is (answer.outcome is Outcome.OPTIMAL)
    return answer.outcome


def test_what_a_peer_says_is_understood() -> None:
    assert told("optimal") is Outcome.OPTIMAL
    assert told("optimal", frozenset({"axioms"})) is Outcome.SOLVED
    assert told("optimal", frozenset({"axioms"}), "kairos") is Outcome.OPTIMAL
    assert told("timeout") is Outcome.TIME
    assert told("no_plan_found") is Outcome.UNKNOWN
    assert told("internal_error") is Outcome.ERROR


def test_a_peer_without_an_answer_is_an_error() -> None:
    answer = Guest("x", "jupyddl", "x").read(Run(1, 1.0, 1.0, 1, None, "", "boom", LIMITS), Path(), frozenset())
    assert (answer.outcome, answer.detail) == (Outcome.ERROR, "exit code 1: boom")


def suite_of(folder: Path) -> Path:
    library = generate("quotas", 10)
    exported = export(declared(library))
    (folder / "domain.pddl").write_text(exported.domain, encoding="utf-8")
    (folder / "p01.pddl").write_text(exported.problem, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("says", "outcome"),
    [
        ({"names": ["go"]}, Outcome.INVALID),
        ({"solved": False, "names": None, "cost": None}, Outcome.UNSOLVABLE),
        ({"solved": False, "truncated": True, "names": None, "cost": None}, Outcome.TIME),
        ({"refuses": True}, Outcome.UNSUPPORTED),
    ],
)
def test_a_run_in_another_environment_is_recorded(
    peers: Path, tmp_path: Path, says: dict[str, Any], outcome: Outcome
) -> None:
    jupyddl(peers, **says)
    out = tmp_path / "results.jsonl"
    suite = tmp_path / "suite"
    suite.mkdir()
    ran = CliRunner().invoke(
        app, ["run", str(suite_of(suite)), "--planner", "jupyddl-astar-lmcut", "--out", str(out), "--time-limit", "5"]
    )
    assert ran.exit_code == 0
    (record,) = read_records(out)
    assert record.outcome is outcome
    assert record.versions["jupyddl"] == "7.1"


@pytest.mark.parametrize(("stop", "outcome"), [("PROVEN_OPTIMAL", "optimal"), ("TIMEOUT", "solved")])
def test_others_are_measured_on_tool_libraries_and_judged(peers: Path, stop: str, outcome: str) -> None:
    library = generate("quotas", 10)
    problem = declared(library)
    exported = export(problem)
    plan = solve(exported.written).expect_plan()
    stand_in(peers, "kairos-planner", "kairos", KAIROS.format(cost=plan.cost, plan=write_plan(plan), stop=stop))
    (measured,) = measure_others(library, [planner_of("kairos=kairos:warm=1")], 5.0)
    assert (measured.outcome, measured.planner, measured.cost) == (outcome, "kairos", library.optimum)
    assert measured.search == pytest.approx(1.0)
    assert measured.ground is not None
    assert measured.total == pytest.approx(measured.ground + measured.search)


@pytest.mark.parametrize("plan", ["", "(nonsense)\n"])
def test_plans_of_others_are_not_believed(peers: Path, plan: str) -> None:
    stand_in(peers, "kairos-planner", "kairos", KAIROS.format(cost=1, plan=plan, stop="EXHAUSTED"))
    (measured,) = measure_others(generate("quotas", 10), [planner_of("kairos")], 5.0)
    assert measured.outcome.startswith("wrong: ")


def test_the_command_says_who_is_left_out(peers: Path) -> None:
    assert not peers.exists()
    options = ["--profile", "groups", "--sizes", "10", "--seeds", "1", "--planner", "kairos"]
    ran = CliRunner().invoke(app, ["tools", *options])
    assert ran.exit_code == 0
    assert "kairos is left out: kairos-planner is not installed" in ran.stderr
