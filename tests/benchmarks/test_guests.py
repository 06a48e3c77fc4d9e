"""Peers in environments of their own, played by stand-ins: how they are found, asked and understood."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace as Space
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.planners import Answer, Outcome, find_installed, find_missing, guest_script, planner_of
from benchmarks.planners.environments import VARIABLE, find_own_version, find_peers_folder, interpreter_of
from benchmarks.planners.python_peers import Guest
from benchmarks.process import Limits, Run, run_limited
from benchmarks.records import read_records
from benchmarks.tools.tool_benchmark import measure_others
from benchmarks.tools.tool_library import declare_problem
from benchmarks.tools.tool_profiles import generate
from planner import solve
from planner.language.pddl.export import export
from planner.language.pddl.plan_files import write_plan

LIMITS = Limits(cpu_seconds=20, memory_gib=2.0)
JUPYDDL = """
from types import SimpleNamespace as Space
class UnsupportedFeatureError(Exception): pass
class Result:
    solved, truncated, cost = {solved}, {truncated}, {cost}
    stats = Space(evaluated=7, expanded=5)
    def plan_names(self, canonical): return {names}
def build_task(domain, problem):
    if {refuses}: raise UnsupportedFeatureError("no axioms")
    return Space(metric_cost=True, operators=[Space(cost={says_cost})])
def solve_task(task, search, heuristic, time_limit): return Result()
"""
KAIROS = """
from enum import Enum
from types import SimpleNamespace as Space
Status, StopReason = Enum("Status", "SOLVED TIMEOUT"), Enum("StopReason", "EXHAUSTED PROVEN_OPTIMAL TIMEOUT STOPPED")
class PddlError(ValueError): pass
class Plan:
    cost = {cost}
    def to_string(self): return {plan!r}
def load_domain(path):
    if {refuses}: raise PddlError("domain.pddl:3:8: invalid characters")
    return path
def load_problem(path, domain): return path
class Search:
    reason = StopReason.{stop}
    def running(self): return {endless} and sum(range(100000)) > 0 and self.reason is not StopReason.STOPPED
    def stop(self): self.reason = StopReason.STOPPED
    def wait(self):
        stats = Space(search_ms=1.0, total_ms=3.0, parse_ms=1.0, evaluated=9, expanded=4, states=10)
        return Space(status=Status.SOLVED, stop_reason=self.reason, plan=Plan(), diagnostics=[], stats=stats)
class Planner:
    def start(self, problem, timeout, anytime, threads): return Search()
"""


def kairos(peers: Path, **says: Any) -> None:
    values = {"cost": 1, "plan": "", "stop": "EXHAUSTED", "endless": False, "refuses": False, **says}
    stand_in(peers, "kairos-planner", "kairos", KAIROS.format(**values))


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
    values = {"solved": True, "truncated": False, "cost": 2, "names": ["(go)"], "refuses": False, "says_cost": 1.0}
    values |= says
    stand_in(peers, "jupyddl", "jupyddl", JUPYDDL.format(**values))


def test_without_an_environment_a_peer_is_missing(peers: Path) -> None:
    assert find_peers_folder() == peers
    assert find_missing(planner_of("jupyddl-astar-lmcut")) == "jupyddl"
    assert find_missing(planner_of("kairos")) == "kairos-planner"


def test_the_folder_is_in_the_cache_unless_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert find_peers_folder() == tmp_path / "forethought" / "peers"


def test_a_peer_in_an_environment_is_found_with_its_version(peers: Path) -> None:
    jupyddl(peers)
    assert find_own_version("jupyddl") == "7.1"
    assert find_installed(("jupyddl", "kairos-planner")) == {"jupyddl": "7.1"}
    assert find_missing(planner_of("jupyddl-astar-lmcut")) is None
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
    exported = export(declare_problem(library))
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


def guest_run(name: str, tmp_path: Path, seconds: float = 5) -> Answer:
    planner, limits = planner_of(name), Limits(seconds, 1)
    folder = tmp_path / "run"
    folder.mkdir()
    job = planner.job(limits)
    return planner.read(run_limited(job.command, folder, limits), folder, frozenset())


def test_jupyddl_is_understood(peers: Path, tmp_path: Path) -> None:
    jupyddl(peers, names=["pick(ball1,rooma)", "wait", "(go(a))"])
    answer = guest_run("jupyddl-astar-lmcut", tmp_path)
    assert (answer.outcome, answer.cost) == (Outcome.OPTIMAL, 2)
    assert answer.plan == "(pick ball1 rooma)\n(wait)\n(go a)\n"
    assert (answer.effort.evaluations, answer.effort.expansions, answer.effort.stored_states) == (7, 5, None)


def test_where_jupyddl_miscounts_costs_its_claims_are_no_proof(peers: Path, tmp_path: Path) -> None:
    jupyddl(peers, says_cost=1)
    answer = guest_run("jupyddl-astar-lmcut", tmp_path)
    assert (answer.outcome, answer.cost, answer.lower_bound) == (Outcome.SOLVED, None, None)


def test_kairos_says_what_its_search_took(peers: Path, tmp_path: Path) -> None:
    kairos(peers)
    answer = guest_run("kairos", tmp_path)
    assert (answer.outcome, answer.search_seconds) == (Outcome.OPTIMAL, 0.001)
    assert (answer.effort.evaluations, answer.effort.expansions, answer.effort.stored_states) == (9, 4, 10)


def test_what_the_parser_of_kairos_refuses_is_unsupported(peers: Path, tmp_path: Path) -> None:
    kairos(peers, refuses=True)
    answer = guest_run("kairos", tmp_path)
    assert (answer.outcome, answer.detail) == (Outcome.UNSUPPORTED, "domain.pddl:3:8: invalid characters")


def test_kairos_ends_by_itself_in_time(peers: Path, tmp_path: Path) -> None:
    kairos(peers, endless=True)
    assert guest_run("kairos", tmp_path, 0.6).outcome is Outcome.SOLVED


@pytest.mark.parametrize(("stop", "outcome"), [("PROVEN_OPTIMAL", "optimal"), ("TIMEOUT", "solved")])
def test_others_are_measured_on_tool_libraries_and_judged(peers: Path, stop: str, outcome: str) -> None:
    library = generate("quotas", 10)
    problem = declare_problem(library)
    exported = export(problem)
    plan = solve(exported.written).expect_plan()
    kairos(peers, cost=plan.cost, plan=write_plan(plan), stop=stop)
    (measured,) = measure_others(library, [planner_of("kairos=kairos:warm=1")], 5.0)
    assert (measured.outcome, measured.planner, measured.cost) == (outcome, "kairos", library.optimum)
    assert measured.search == pytest.approx(1.0)
    assert measured.compile is not None
    assert measured.total == pytest.approx(measured.compile + measured.search)


@pytest.mark.parametrize("plan", ["", "(nonsense)\n"])
def test_plans_of_others_are_not_believed(peers: Path, plan: str) -> None:
    kairos(peers, plan=plan)
    (measured,) = measure_others(generate("quotas", 10), [planner_of("kairos")], 5.0)
    assert measured.outcome.startswith("wrong: ")


@pytest.mark.slow
def test_the_command_says_who_is_left_out(peers: Path) -> None:
    assert not peers.exists()
    options = ["--profile", "groups", "--sizes", "10", "--seeds", "1", "--planner", "kairos"]
    ran = CliRunner().invoke(app, ["tools", *options])
    assert ran.exit_code == 0
    assert "kairos is left out: kairos-planner is not installed" in ran.stderr


NUMERIC_DOMAIN = """(define (domain tank) (:requirements :typing :numeric-fluents)
  (:functions (level) (limit) (moves))
  (:action fill :parameters () :precondition (<= (+ (level) {step}) (limit))
    :effect (and (increase (level) {step}) (increase (moves) 1))))"""
NUMERIC_PROBLEM = """(define (problem p) (:domain tank) (:init (= (level) 0) (= (limit) {limit}) (= (moves) 0))
  (:goal (>= (level) 2)) (:metric minimize (moves)))"""


class Filler:
    """An engine of unified-planning for integers, which takes the first action twice."""

    skip_checks = False

    @staticmethod
    def supported_kind() -> Space:
        names = "ACTION_BASED INT_FLUENTS INCREASE_EFFECTS FLAT_TYPING ACTIONS_COST FINAL_VALUE SIMPLE_NUMERIC_PLANNING"
        return Space(features=set(f"{names} INT_NUMBERS_IN_ACTIONS_COST UNDEFINED_INITIAL_NUMERIC".split()))

    def solve(self, problem: Any, timeout: float, output_stream: Any) -> Space:
        assert self.skip_checks
        assert timeout == 7
        output_stream.write("it may say what it likes")
        step = Space(action=problem.actions[0], actual_parameters=())
        plan = Space(all_sequential_plans=lambda: iter([Space(actions=[step, step])]))
        return Space(status=Space(name="SOLVED_SATISFICING"), plan=plan, log_messages=None)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # unified-planning's reader against newer pyparsing
@pytest.mark.parametrize(
    ("step", "limit", "status"), [("1", "3", "solved"), ("1", "2.5", "unsupported"), ("0.5", "3", "unsupported")]
)
def test_engines_for_integers_get_them_where_all_numbers_are(
    step: str, limit: str, status: str, tmp_path: Path
) -> None:
    pytest.importorskip("unified_planning")
    files = tmp_path / "domain.pddl", tmp_path / "problem.pddl"
    files[0].write_text(NUMERIC_DOMAIN.format(step=step), encoding="utf-8")
    files[1].write_text(NUMERIC_PROBLEM.format(limit=limit), encoding="utf-8")
    answer = guest_script.solve_unified(Filler, *map(str, files), 7)
    assert answer["status"] == status
    assert answer.get("plan") == ("(fill)\n(fill)\n" if status == "solved" else None)
    assert answer["detail"] == ("" if status == "solved" else "REAL_FLUENTS")
