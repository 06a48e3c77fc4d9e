"""Lets Fast Downward replay a plan: the plan is compiled into the task, so that nothing else can be done.

Step i becomes an action of its own: the original one, which also requires that step i is due and that its parameters
are the step's arguments, and makes step i + 1 due. The compiled task is solvable exactly if the plan is valid, and then
its optimal cost is the plan's. Everything that the translator takes is covered, axioms included.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.pddltext import (
    Expression,
    Steps,
    find_actions,
    find_option,
    find_sections,
    names_in,
    read_file,
    read_plan_steps,
    write_expression,
)
from benchmarks.planners.base import DOMAIN_FILE, PROBLEM_FILE, Outcome, read_stated_cost
from benchmarks.planners.downward import EXIT_CODES, read_last_plan
from benchmarks.planners.environments import find_interpreter, find_package_folder
from benchmarks.validators import VALID, Verdict

NO_INVARIANTS = ("--translate-options", "--invariant-generation-max-candidates", "0")
"""Mutex groups would cost much time here and help nothing: there is one thing to do in every state."""


def check(domain_path: Path, problem_path: Path, plan: str) -> Verdict:
    """Return whether Fast Downward solves the task that only the plan can solve."""
    domain, problem, steps = read_file(domain_path), read_file(problem_path), read_plan_steps(plan)
    wrong = find_misfit(domain, problem, steps)
    return (
        Verdict(f"invalid: {wrong}") if wrong else _solve(replay_domain(domain, steps), replay_problem(problem, steps))
    )


def find_misfit(domain: list[Expression], problem: list[Expression], steps: Steps) -> str | None:
    """Return which step names no action, no object, or has the wrong number of arguments, or None."""
    lists = [*find_sections(domain, ":constants"), *find_sections(problem, ":objects")]
    objects = {name for typed in lists for name in names_in(typed[1:])}
    arities = {action[1]: len(parameters_of(action)) for action in find_actions(domain)}
    for number, (name, *arguments) in enumerate(steps, start=1):
        if name not in arities:
            return f"step {number}: there is no action {name}"
        if len(arguments) != arities[name]:
            return f"step {number}: {name} takes {arities[name]} arguments, not {len(arguments)}"
        if unknown := [argument for argument in arguments if argument not in objects]:
            return f"step {number}: there is no object {unknown[0]}"
    return None


def parameters_of(action: list[Expression]) -> list[Expression]:
    """Return the variables of an action."""
    return [*names_in(find_option(action, ":parameters"))]


def replay_domain(domain: list[Expression], steps: Steps) -> list[Expression]:
    """Return `domain` with one action for each step in place of its own."""
    schemas = {action[1]: action for action in find_sections(domain, ":action")}
    actions = [_make_step_action(schemas[step[0]], number) for number, step in enumerate(steps)]
    declared: list[Expression] = [[f"replay-due-{number}"] for number in range(len(steps) + 1)]
    declared += [
        [f"replay-args-{number}", *(f"?a{index}" for index in range(len(step) - 1))]
        for number, step in enumerate(steps)
    ]
    kept: list[Expression] = []
    for part in domain:
        match part:
            case [":predicates", *predicates]:
                kept.append([":predicates", *predicates, *declared])
            case [":action", *_]:
                continue
            case _:
                kept.append(part)
    if not any(find_sections(domain, ":predicates")):
        kept.append([":predicates", *declared])
    return [*kept, *actions]


def _make_step_action(schema: list[Expression], number: int) -> list[Expression]:
    own: Expression = [f"replay-args-{number}", *parameters_of(schema)]
    due: Expression = [f"replay-due-{number}"]
    next_due: Expression = [f"replay-due-{number + 1}"]
    conditions = [part for part in (find_option(schema, ":precondition"),) if part]
    effects = [part for part in (find_option(schema, ":effect"),) if part]
    return [
        ":action",
        f"replay-{number}",
        ":parameters",
        find_option(schema, ":parameters"),
        ":precondition",
        ["and", due, own, *conditions],
        ":effect",
        ["and", ["not", due], next_due, *effects],
    ]


def replay_problem(problem: list[Expression], steps: Steps) -> list[Expression]:
    """Return `problem` with the arguments of each step as facts, and a goal that also wants all steps done."""
    facts: list[Expression] = [["replay-due-0"]]
    facts += [[f"replay-args-{number}", *step[1:]] for number, step in enumerate(steps)]
    changed: list[Expression] = []
    for part in problem:
        match part:
            case [":init", *initial]:
                changed.append([":init", *initial, *facts])
            case [":goal", *goals]:
                done: Expression = [f"replay-due-{len(steps)}"]
                changed.append([":goal", ["and", done, *(goal for goal in goals if goal)]])
            case _:
                changed.append(part)
    return changed


def _solve(domain: list[Expression], problem: list[Expression]) -> Verdict:
    driver = find_package_folder("up_fast_downward") / "downward" / "fast-downward.py"
    with TemporaryDirectory(prefix="replay-") as name:
        folder = Path(name)
        (folder / DOMAIN_FILE).write_text(write_expression(domain), encoding="utf-8")
        (folder / PROBLEM_FILE).write_text(write_expression(problem), encoding="utf-8")
        files = ("--plan-file", "plan", DOMAIN_FILE, PROBLEM_FILE)
        command = (
            find_interpreter("up-fast-downward"),
            str(driver),
            *files,
            "--search",
            "astar(blind())",
            *NO_INVARIANTS,
        )
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        found = read_last_plan(folder)
        if run.returncode == 0 and found is not None:
            return Verdict(VALID, read_stated_cost(found))
        outcome = EXIT_CODES.get(run.returncode, Outcome.ERROR)
        if outcome is Outcome.UNSOLVABLE:
            return Verdict("invalid: the task in which only this plan can be carried out is unsolvable")
        return Verdict(f"{outcome}: exit code {run.returncode} {run.stderr.strip()[-200:]}")
