"""Proofs by Fast Downward that share no code with ours: a claim becomes the solvability of an edited task.

A fact is reachable exactly if it can be the goal; a step, if its precondition can; a fact is a landmark exactly if the
task without the actions that add it is unsolvable. Tasks are edited as text, and Fast Downward (Helmert, 2006) searches
them with A* and no estimate, so that the end of its search is a proof.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.pddltext import Expression, find_option, find_sections, lists_in, names_in, write_expression
from benchmarks.planners.base import DOMAIN_FILE, PROBLEM_FILE, Outcome, read_stated_cost
from benchmarks.planners.downward import EXIT_CODES, read_last_plan
from benchmarks.planners.environments import find_interpreter, find_package_folder

List = list[Expression]
SEARCH: Final = "astar(blind())"
SECONDS: Final = 120
"""Time limit of one proof."""
DONE: Final = "probe-done"


@dataclass(frozen=True, slots=True)
class Solvability:
    """Whether a task is `solvable`, None if that was not found out; the cost of its cheapest plan; a `summary`."""

    solvable: bool | None
    cost: object
    summary: str


def decide_solvability(domain: List, problem: List) -> Solvability:
    """Let Fast Downward solve the task, or prove that it has no plan."""
    driver = find_package_folder("up_fast_downward") / "downward" / "fast-downward.py"
    with TemporaryDirectory(prefix="solvability-") as name:
        folder = Path(name)
        (folder / DOMAIN_FILE).write_text(write_expression(domain), encoding="utf-8")
        (folder / PROBLEM_FILE).write_text(write_expression(problem), encoding="utf-8")
        command = [find_interpreter("up-fast-downward"), str(driver), "--plan-file", "plan"]
        command += [f"--overall-time-limit={SECONDS}s", DOMAIN_FILE, PROBLEM_FILE, "--search", SEARCH]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        plan = read_last_plan(folder)
    if run.returncode == 0 and plan is not None:
        cost = read_stated_cost(plan)
        return Solvability(solvable=True, cost=cost, summary=f"a plan of cost {cost}")
    if EXIT_CODES.get(run.returncode) is Outcome.UNSOLVABLE:
        return Solvability(solvable=False, cost=None, summary=_find_reason(run.stdout))
    detail = (run.stdout + run.stderr).strip().splitlines()[-1:] or [""]
    return Solvability(solvable=None, cost=None, summary=f"no verdict: exit code {run.returncode}, {detail[0]}")


def _find_reason(log: str) -> str:
    """Return how Fast Downward proved that there is no plan."""
    if "No relaxed solution" in log:
        return "no relaxed solution"
    if "violates a mutex" in log:
        return "the goal violates an invariant"
    return "all reachable states expanded" if "Completely explored state space" in log else "provably unsolvable"


def with_goal(problem: List, goal: Expression) -> List:
    """Return `problem` with another goal."""
    return [[":goal", goal] if isinstance(part, list) and part[:1] == [":goal"] else part for part in problem]


def with_facts(problem: List, facts: Iterable[Expression]) -> List:
    """Return `problem` with more facts in its initial state."""
    return [[*part, *facts] if isinstance(part, list) and part[:1] == [":init"] else part for part in problem]


def any_of(facts: Iterable[Sequence[str]]) -> Expression:
    """Return the disjunction of `facts` as a goal."""
    alternatives: List = [[*fact] for fact in facts]
    return ["or", *alternatives]


def probe_steps(domain: List, problem: List, steps: Iterable[Sequence[str]]) -> tuple[List, List]:
    """Return a task that is solvable exactly if any of `steps` is applicable in some reachable state."""
    by_action: dict[str, list[Sequence[str]]] = {}
    for step in steps:
        by_action.setdefault(step[0], []).append(step[1:])
    declared: List = [[DONE]]
    facts: List = []
    probes: List = []
    for action in find_sections(domain, ":action"):
        name = str(action[1])
        rows = by_action.get(name, [])
        if not rows:
            continue
        parameters = [*names_in(find_option(action, ":parameters"))]
        declared.append([f"probe-{name}", *parameters])
        facts += [[f"probe-{name}", *row] for row in rows]
        condition = [part for part in (find_option(action, ":precondition"),) if part]
        mark: Expression = ["and", [f"probe-{name}", *parameters], *condition]
        probe: Expression = [":action", f"probe-{name}", ":parameters", find_option(action, ":parameters")]
        probes.append([*probe, ":precondition", mark, ":effect", [DONE]])
    edited = [[*part, *declared] if isinstance(part, list) and part[:1] == [":predicates"] else part for part in domain]
    return [*edited, *probes], with_goal(with_facts(problem, facts), [DONE])


def without_adding(domain: List, problem: List, fact: Sequence[str]) -> tuple[List, List]:
    """Return the task with no step that adds `fact`; effects may be conjunctions of literals only."""
    barred = f"barred-{fact[0]}"
    declared: Expression = [barred, *[f"?x{place}" for place in range(len(fact) - 1)]]
    edited: List = []
    for part in domain:
        match part:
            case [":predicates", *predicates]:
                edited.append([":predicates", *predicates, declared])
            case [":action", *_]:
                edited.append(_bar_adding(part, fact, barred))
            case _:
                edited.append(part)
    return edited, with_facts(problem, [[barred, *fact[1:]]])


def _bar_adding(action: List, fact: Sequence[str], barred: str) -> List:
    condition, effect = find_option(action, ":precondition"), find_option(action, ":effect")
    negated = [id(inner[1]) for inner in lists_in(effect) if inner[:1] == ["not"]]
    added = [each for each in lists_in(effect) if each[:1] == [fact[0]] and id(each) not in negated]
    if not added:
        return action
    bars: List = [["not", [barred, *atom[1:]]] for atom in added]
    edited = list(action)
    edited[edited.index(":precondition") + 1] = ["and", *([condition] if condition else []), *bars]
    return edited
