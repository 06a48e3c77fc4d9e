"""Planners: how they are named, what is run, and what the end of a process means."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.commands.options import hint_at_installation
from benchmarks.planners import NAMED, Answer, Outcome, find_missing, planner_of
from benchmarks.planners.base import Effort
from benchmarks.planners.downward import Downward, Translator, make_symk
from benchmarks.planners.enhsp import Enhsp
from benchmarks.planners.ours import Ours
from benchmarks.planners.python_peers import Pyperplan
from benchmarks.process import Limits, Run, run_limited
from planner.errors import DocumentError

LIMITS = Limits(cpu_seconds=20, memory_gib=2.0)
NO_FEATURES: frozenset[str] = frozenset()
PLAN = "(move a b)\n(drop c)\n; cost = 5 (general cost)\n"


def ended(returncode: int = 0, stdout: str = "", stderr: str = "", **used: Any) -> Run:
    values: dict[str, Any] = {"cpu_seconds": 1.0, "wall_seconds": 1.0, "peak_bytes": 1 << 20, "killed": None, **used}
    return Run(returncode, **values, stdout=stdout, stderr=stderr, limits=LIMITS)


@pytest.mark.parametrize("name", NAMED)
def test_every_named_planner_has_a_command_or_says_what_it_lacks(name: str) -> None:
    planner = planner_of(name)
    assert planner.label == name
    if find_missing(planner) is None:
        assert all(isinstance(word, str) for word in planner.job(LIMITS).command)
    else:
        assert find_missing(planner) in planner.packages


@pytest.mark.parametrize("name", NAMED)
def test_the_configuration_of_a_named_planner_describes_it(name: str) -> None:
    planner = planner_of(name)
    assert planner_of(planner.configuration).configuration == planner.configuration


@pytest.mark.parametrize(
    ("text", "planner"),
    [
        ("fd:astar(blind())", Downward("fd:astar(blind())", "astar(blind())")),
        ("mine=fd:astar(blind())", Downward("mine", "astar(blind())")),
        ("fd:alias=lama", Downward("fd:alias=lama", "alias=lama")),
        ("base=ours-first", Ours("base", {"mode": "first"})),
        (
            "ours:mode=optimal,search=astar",
            Ours("ours:mode=optimal,search=astar", {"mode": "optimal", "search": "astar"}),
        ),
        ("p=pyperplan:search=bfs", Pyperplan("p", "bfs")),
    ],
)
def test_free_form_planners(text: str, planner: object) -> None:
    assert planner_of(text) == planner


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fd-astar-lmcat", "there is no planner 'fd-astar-lmcat'; did you mean 'fd-astar-lmcut'?"),
        ("fdd:astar(blind())", "there is no planner 'fdd:astar(blind())'; did you mean 'fd'?"),
        ("pyperplan:find=bfs", "'pyperplan:find=bfs' is not a configuration: "),
        ("ours:optimal", "'ours:optimal' is not a configuration: "),
        ("enhsp:sat-hadd+sat", "'enhsp:sat-hadd+sat' is not a configuration: there is no configuration 'sat'"),
        ("enhsp:opt-hlm", "'enhsp:opt-hlm' is not a configuration: there is no configuration 'opt-hlm'"),
    ],
)
def test_what_is_no_planner(text: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        planner_of(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("run", "outcome"),
    [
        (ended(11), Outcome.UNSOLVABLE),
        (ended(12), Outcome.UNKNOWN),
        (ended(22), Outcome.MEMORY),
        (ended(23), Outcome.TIME),
        (ended(34), Outcome.UNSUPPORTED),
        (ended(35, stderr="crashed"), Outcome.ERROR),
        (ended(-9, cpu_seconds=19.9), Outcome.TIME),
        (ended(-9, killed="wall"), Outcome.GUARD),
        (ended(-9, killed="memory"), Outcome.MEMORY),
        (ended(-6, stderr="std::bad_alloc"), Outcome.MEMORY),
        (ended(-11, peak_bytes=2 << 30), Outcome.MEMORY),
    ],
)
def test_the_driver_without_a_plan(run: Run, outcome: Outcome, tmp_path: Path) -> None:
    answer = Downward("fd", "astar(lmcut())").read(run, tmp_path, NO_FEATURES)
    assert (answer.outcome, answer.plan) == (outcome, None)
    assert ("crashed" in answer.detail) is (outcome is Outcome.ERROR)


@pytest.mark.parametrize(
    ("log", "outcome"),
    [
        (
            "BOUND: 4 < 2147483647 [0/1 plans]\nBOUND: 2147483647 < 2147483647 [0/1 plans], dir: BW\n",
            Outcome.UNSOLVABLE,
        ),
        ("BOUND: 4 < 2147483647 [0/1 plans]\n", Outcome.UNKNOWN),
        ("", Outcome.UNKNOWN),
    ],
)
def test_symbolic_search_that_has_exhausted_one_side(log: str, outcome: Outcome, tmp_path: Path) -> None:
    answer = make_symk("symk", "sym_bd()").read(ended(12, log), tmp_path, NO_FEATURES)
    assert answer.outcome is outcome
    assert answer.lower_bound == (4 if log and outcome is Outcome.UNKNOWN else None)


LOG = """Done! [0.250s CPU, 0.260s wall-clock]
[t=0.0s, 10156 KB] f = 9, 1 evaluated, 0 expanded
[t=0.0s, 10156 KB] f = 10, 42 evaluated, 21 expanded
[t=0.5s, 10544 KB] Total time: 0.500000s
"""


@pytest.mark.parametrize(
    ("options", "features", "returncode", "outcome", "bound"),
    [
        ("astar(lmcut())", (), 0, Outcome.OPTIMAL, 5),
        ("astar(lmcut())", (), 2, Outcome.SOLVED, 10),
        ("alias=lama-first", (), 0, Outcome.SOLVED, None),
        ("alias=seq-opt-bjolp", (), 0, Outcome.OPTIMAL, 5),
        ("astar(ff())", (), 0, Outcome.SOLVED, None),
        ("eager_greedy([lmcut()])", (), 0, Outcome.SOLVED, None),
        ("astar(hmax())", ("axioms",), 0, Outcome.SOLVED, None),
        ("astar(blind())", ("axioms",), 0, Outcome.OPTIMAL, 5),
        ("sym_bd()", ("axioms",), 0, Outcome.OPTIMAL, 5),
    ],
)
def test_the_driver_with_a_plan(  # noqa: PLR0917 - a table
    options: str, features: tuple[str, ...], returncode: int, outcome: Outcome, bound: float | None, tmp_path: Path
) -> None:
    (tmp_path / "plan").write_text(PLAN)
    answer = Downward("fd", options).read(ended(returncode, LOG), tmp_path, frozenset(features))
    assert (answer.outcome, answer.plan, answer.cost, answer.lower_bound) == (outcome, PLAN, 5, bound)
    assert (answer.translate_seconds, answer.search_seconds) == (0.25, 0.5)


COUNTS = """[t=0.100s, 10412 KB] Conducting best first search without reopening closed nodes, (real) bound = 2147483647
[t=0.1s, 10500 KB] f = 9, 1 evaluated, 0 expanded
[t=0.5s, 10544 KB] Actual search time: 0.300s
[t=0.5s, 10544 KB] Expanded 101 state(s).
[t=0.5s, 10544 KB] Evaluated 151 state(s).
[t=0.5s, 10544 KB] Evaluations: 302
[t=0.5s, 10544 KB] Number of registered states: 150
[t=0.5s, 10544 KB] Search time: 0.400s
[t=0.5s, 10544 KB] Total time: 0.500s
Peak memory: 10512 KB
"""


def test_what_the_search_took(tmp_path: Path) -> None:
    answer = Downward("fd", "astar(lmcut())").read(ended(11, COUNTS), tmp_path, NO_FEATURES)
    assert answer.search_seconds == 0.5
    assert answer.effort == Effort(151, 101, stored_states=150, search_bytes=102400, effort_seconds=0.4)
    cut = Downward("fd", "astar(lmcut())").read(ended(23, LOG), tmp_path, NO_FEATURES)
    assert cut.effort == Effort()


def test_an_unfinished_proof_leaves_its_bound(tmp_path: Path) -> None:
    assert Downward("fd", "astar(lmcut())").read(ended(23, LOG), tmp_path, NO_FEATURES).lower_bound == 10
    log = "[t=1s, 5 KB] BOUND: 7 < 2147483647 [0/1 plans], dir: FW"
    assert Downward("symk", "sym_bd()").read(ended(23, log), tmp_path, NO_FEATURES).lower_bound == 7


def test_the_last_complete_one_of_numbered_plans_is_taken(tmp_path: Path) -> None:
    for number in (1, 2, 10):
        (tmp_path / f"plan.{number}").write_text(f"(a{number})\n; cost = {20 - number} (unit cost)\n")
    (tmp_path / "plan.11").write_text("(a11)\n")
    answer = Downward("lama", "alias=lama").read(ended(2), tmp_path, NO_FEATURES)
    assert (answer.outcome, answer.cost) == (Outcome.SOLVED, 10)


def test_a_plan_that_was_cut_off_is_none(tmp_path: Path) -> None:
    (tmp_path / "plan").write_text("(a)\n(b)\n")
    answer = Downward("lama", "alias=lama-first").read(ended(23), tmp_path, NO_FEATURES)
    assert (answer.outcome, answer.plan) == (Outcome.TIME, None)


def test_how_the_driver_is_called() -> None:
    pytest.importorskip("up_fast_downward")
    command = Downward("fd", '--evaluator "h=ff()" --search "eager_greedy([h])"').job(LIMITS).command
    assert command[-6:] == ("domain.pddl", "problem.pddl", "--evaluator", "h=ff()", "--search", "eager_greedy([h])")
    assert "--overall-time-limit=20s" in command
    assert "--overall-memory-limit=2048M" in command
    assert Downward("fd", "alias=lama").job(LIMITS).command[-4:] == ("--alias", "lama", "domain.pddl", "problem.pddl")


def test_the_translator(tmp_path: Path) -> None:
    log = "Translator facts: 24\nTranslator operators: 34\nTranslator variables: 7\nDone! [0.1s CPU, 0.2s wall-clock]"
    answer = Translator("t").read(ended(0, log), tmp_path, NO_FEATURES)
    assert answer == Answer(Outcome.GROUNDED, translate_seconds=0.1, sizes={"facts": 24, "actions": 34, "variables": 7})
    assert Translator("t").read(ended(20), tmp_path, NO_FEATURES).outcome is Outcome.MEMORY


@pytest.mark.parametrize(
    ("search", "heuristic", "features", "outcome", "cost"),
    [
        ("bfs", "", (), Outcome.OPTIMAL, 2),
        ("astar", "lmcut", (), Outcome.OPTIMAL, 2),
        ("astar", "hff", (), Outcome.SOLVED, 2),
        ("gbf", "hmax", (), Outcome.SOLVED, 2),
        ("bfs", "", ("costs",), Outcome.SOLVED, None),
    ],
)
def test_pyperplan_counts_steps(  # noqa: PLR0917 - a table
    search: str, heuristic: str, features: tuple[str, ...], outcome: Outcome, cost: int | None, tmp_path: Path
) -> None:
    (tmp_path / "problem.pddl.soln").write_text("(move a b)\n(drop c)\n")
    run = ended(stdout="2026 INFO Search time: 1.5e-05\n")
    answer = Pyperplan("p", search, heuristic).read(run, tmp_path, frozenset(features))
    assert (answer.outcome, answer.cost, answer.search_seconds) == (outcome, cost, 1.5e-05)


@pytest.mark.parametrize(
    ("search", "run", "outcome"),
    [
        ("astar", ended(stdout="WARNING No solution could be found"), Outcome.UNSOLVABLE),
        ("ehs", ended(stdout="WARNING No solution could be found"), Outcome.UNKNOWN),
        ("gbf", ended(1, stderr='File "x/pyperplan/pddl/parser.py"\nValueError: unknown keyword'), Outcome.UNSUPPORTED),
        ("gbf", ended(1, stderr='File "x/pyperplan/task.py"\nKeyError: 3'), Outcome.ERROR),
        ("gbf", ended(-24, cpu_seconds=20.0), Outcome.TIME),
    ],
)
def test_pyperplan_without_a_plan(search: str, run: Run, outcome: Outcome, tmp_path: Path) -> None:
    assert Pyperplan("p", search).read(run, tmp_path, NO_FEATURES).outcome is outcome


def printed(status: str, stopped_by: str, **more: Any) -> str:
    values = {"cost": None, "lower_bound": 3, "plan": None, "reason": "", "statistics": {"ground_seconds": 0.5}}
    return json.dumps({"status": status, "stopped_by": stopped_by, **values, **more})


@pytest.mark.parametrize(
    ("run", "outcome"),
    [
        (ended(10, printed("UNSOLVABLE", "exhausted")), Outcome.UNSOLVABLE),
        (ended(11, printed("UNKNOWN", "memory")), Outcome.MEMORY),
        (ended(11, printed("UNKNOWN", "time")), Outcome.TIME),
        (ended(130, printed("UNKNOWN", "cancelled")), Outcome.TIME),
        (ended(11, printed("UNKNOWN", "incomplete")), Outcome.UNKNOWN),
        (ended(12, printed("UNSUPPORTED", "exhausted")), Outcome.UNSUPPORTED),
        (ended(12, stderr="unsupported: durative actions"), Outcome.UNSUPPORTED),
        (ended(11, stderr="no verdict: stopped by the memory limit"), Outcome.MEMORY),
        (ended(2, stderr="error: x.pddl:1:1: no"), Outcome.ERROR),
        (ended(1, stderr="internal error"), Outcome.ERROR),
        (ended(-24, cpu_seconds=20.0), Outcome.TIME),
    ],
)
def test_ours_without_a_plan(run: Run, outcome: Outcome, tmp_path: Path) -> None:
    assert Ours("o").read(run, tmp_path, NO_FEATURES).outcome is outcome


@pytest.mark.parametrize(("status", "outcome"), [("OPTIMAL", Outcome.OPTIMAL), ("SOLVED", Outcome.SOLVED)])
def test_ours_with_a_plan(status: str, outcome: Outcome, tmp_path: Path) -> None:
    (tmp_path / "plan").write_text(PLAN)
    run = ended(0, printed(status, "cancelled", plan={"steps": []}, cost=5))
    answer = Ours("o").read(run, tmp_path, NO_FEATURES)
    assert (answer.outcome, answer.plan, answer.cost, answer.lower_bound) == (outcome, PLAN, 5, 3)
    assert answer.translate_seconds == 0.5
    counted = printed(
        status, "exhausted", plan={"steps": []}, statistics={"evaluated": 7, "search_seconds": 2.5, "facts": 3}
    )
    answer = Ours("o").read(ended(0, counted, wall_seconds=2.0), tmp_path, NO_FEATURES)
    assert (answer.effort, answer.sizes) == (Effort(evaluations=7, effort_seconds=1.25), {"facts": 3})
    exact = counted.replace('"search_seconds": 2.5', '"search_seconds": 2.5, "search_cpu_seconds": 0.5')
    assert Ours("o").read(ended(0, exact), tmp_path, NO_FEATURES).effort.effort_seconds == 0.5


def test_how_ours_is_called() -> None:
    job = planner_of("ours-astar-lmcut").job(LIMITS)
    assert job.asks
    assert {"--mode=optimal", "--search=astar", "--heuristic=lmcut", "--memory-limit=1.800"} < set(job.command)


def test_our_grounding(tmp_path: Path) -> None:
    text = json.dumps({"outcome": "grounded", "seconds": 0.5, "sizes": {"facts": 3}, "detail": ""})
    assert planner_of("ours-ground").read(ended(0, text), tmp_path, NO_FEATURES) == Answer(
        Outcome.GROUNDED, translate_seconds=0.5, sizes={"facts": 3}
    )
    assert planner_of("ours-ground").read(ended(1, stderr="Traceback"), tmp_path, NO_FEATURES).outcome is Outcome.ERROR


ENHSP_LOG = """Problem Solved

Found Plan:
0.0: (move a b)

Plan-Length:2
Metric (Search):{cost}
Planning Time (msec): 1868
Heuristic Time (msec): 1415
Search Time (msec): 1864
Expanded Nodes:14901
States Evaluated:27379
"""


@pytest.mark.parametrize(
    ("preset", "features", "outcome"),
    [
        ("sat-hmrph", set(), Outcome.SOLVED),
        ("opt-hrmax", {"numeric effects"}, Outcome.OPTIMAL),
        ("opt-hrmax", {"numeric effects", "assignments"}, Outcome.SOLVED),
        ("opt-blind", {"numeric effects", "assignments"}, Outcome.OPTIMAL),
        ("opt-blind", {"state-dependent costs"}, Outcome.SOLVED),
        ("opt-blind", {"general metric", "assignments"}, Outcome.SOLVED),
    ],
)
def test_enhsp_with_a_plan(preset: str, features: set[str], outcome: Outcome, tmp_path: Path) -> None:
    (tmp_path / "plan").write_text("(move a b)\n(drop c)\n")
    run = ended(0, ENHSP_LOG.format(cost="28.0"))
    answer = Enhsp("e", preset).read(run, tmp_path, frozenset(features))
    cost = None if features & {"state-dependent costs", "general metric"} else 28
    assert (answer.outcome, answer.plan, answer.cost) == (outcome, "(move a b)\n(drop c)\n", cost)
    assert answer.lower_bound == (28 if outcome is Outcome.OPTIMAL else None)
    assert (answer.search_seconds, answer.effort) == (1.868, Effort(27379, 14901))


@pytest.mark.parametrize(("stated", "cost"), [("0.0", 0), ("1.6777216E7", 2**24), ("12.1", None), ("3.0E8", None)])
def test_costs_of_enhsp_are_exact_or_left_to_validators(stated: str, cost: int | None, tmp_path: Path) -> None:
    (tmp_path / "plan").write_text("")
    answer = Enhsp("e", "sat-hadd").read(ended(0, ENHSP_LOG.format(cost=stated)), tmp_path, NO_FEATURES)
    assert (answer.plan, answer.cost) == ("", cost)


PLAY = """#!/bin/sh
for word; do last=$word; done
echo "$last" >> tried
[ "$last" = "$SOLVER" ] || exit 0
echo "(go)" > plan
printf 'Problem Solved\\n\\nMetric (Search):1.0\\n'
"""


@pytest.mark.parametrize(("solver", "tried"), [("sat-hmrph", 1), ("sat-hadd", 2), ("sat-hradd", 3), ("nobody", 3)])
def test_configurations_of_enhsp_one_after_the_other(
    solver: str, tried: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(PLAY)
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{java.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SOLVER", solver)
    monkeypatch.setattr("benchmarks.planners.enhsp.find_package_folder", lambda _: tmp_path)
    planner = Enhsp("e", "sat-hmrph+sat-hadd+sat-hradd")
    job = planner.job(LIMITS)
    run = run_limited(job.command, tmp_path, LIMITS, environment=job.environment)
    answer = planner.read(run, tmp_path, NO_FEATURES)
    assert (tmp_path / "tried").read_text().split() == ["sat-hmrph", "sat-hadd", "sat-hradd"][:tried]
    assert (answer.outcome is Outcome.SOLVED) is (solver != "nobody")


FAULT = "java.lang.NullPointerException: x\n\tat com.hstairs.ppmajal.PDDLProblem.<init>(PDDLProblem.java:190)\n"


@pytest.mark.parametrize(
    ("preset", "run", "outcome"),
    [
        ("opt-blind", ended(0, "Problem unsolvable\nMetric (Search):-1.0"), Outcome.UNSOLVABLE),
        ("opt-blind", ended(0, "Unsolvable Problem"), Outcome.UNSOLVABLE),
        ("opt-blind", ended(0, "Unsolvable Problem", "SEVERE: null\n" + FAULT), Outcome.UNSUPPORTED),
        ("sat-hmrph", ended(0, "Problem unsolvable"), Outcome.UNKNOWN),
        ("opt-blind+sat-hadd", ended(0, "Problem unsolvable"), Outcome.UNKNOWN),
        ("sat-hmrph", ended(1, "", "java.lang.OutOfMemoryError: Java heap space"), Outcome.MEMORY),
        ("sat-hmrph", ended(-9, "h(I):9.0", killed="cpu"), Outcome.TIME),
        ("sat-hmrph", ended(1, "", "Error: Unable to access jarfile"), Outcome.ERROR),
    ],
)
def test_enhsp_without_a_plan(preset: str, run: Run, outcome: Outcome, tmp_path: Path) -> None:
    answer = Enhsp("e", preset).read(run, tmp_path, NO_FEATURES)
    assert (answer.outcome, answer.plan, answer.lower_bound) == (outcome, None, None)
    assert ("NullPointerException" in answer.detail) is (outcome is Outcome.UNSUPPORTED)


def test_a_planner_without_its_program_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Other(Enhsp):
        packages = ()

    other = Other("e", "sat-hmrph")
    monkeypatch.setattr("benchmarks.planners.base.which", lambda program: f"/bin/{program}")
    assert find_missing(other) is None
    monkeypatch.setattr("benchmarks.planners.base.which", lambda _: None)
    assert find_missing(other) == "java"
    assert hint_at_installation("java") == "install a Java runtime, such as Debian's package default-jre-headless"
