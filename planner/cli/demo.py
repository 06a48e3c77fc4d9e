"""`forethought demo`: the main job on a shipped domain: declared, solved, proved, explained, validated, carried out.

Other packages add parts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace

from planner.cli.exit_codes import Exit
from planner.cli.output import give, is_terminal
from planner.cli.solve import summary
from planner.errors import printable
from planner.lightweight import TYPE_CHECKING, Final
from planner.limits import Limits
from planner.model import Action, Problem
from planner.model.formulas import conjuncts
from planner.plan import Plan, Status

if TYPE_CHECKING:
    from planner.cli.parser import Parser

ABOUT: Final = "Declare, solve, prove, explain, validate and carry out, in a minute, on a shipped domain."
DOMAIN: Final = "assistant"
GROUP: Final = "forethought.demo"
SECONDS: Final = 20.0
"""The limit of each search; they take a fraction of one."""
Show = Callable[[str], None]
COMMANDS: Final = """\
forethought solve assistant --json            the whole result, for programs
forethought run assistant --faults 0.2        carried out, in a simulated world
forethought run assistant --say "sum up the survey" --yes   by a language model, if one is configured
forethought compile assistant --to pddl       what other planners read
forethought check DOMAIN                      lint for a domain of yours
forethought --help                            everything else"""


def arguments(_parser: Parser) -> None:
    """Declare nothing: the command takes no arguments."""


def run(_started: float) -> Exit:
    """Show each part under a heading."""
    from planner.language.loading.load import load
    from planner.solve import solve

    problem = load(DOMAIN)
    assert isinstance(problem, Problem)
    show_declarations(problem)
    heading("2. Solved")
    result = solve(problem, time_limit=SECONDS)
    good(summary(result))
    sound = result.plan is not None and show_plan(result.plan) and show_what_is_needed(result.plan)
    for part in other_parts():
        sound = part(heading, good, give) and sound
    heading("Now you")
    give(COMMANDS.replace("forethought", command()))
    return Exit.OK if sound and result.status is Status.OPTIMAL else Exit.NO_VERDICT


def other_parts() -> list[Callable[[Show, Show, Show], bool]]:
    """Return what other packages show, by their entry points: functions of what prints headings, results and text."""
    from importlib.metadata import entry_points

    return [each.load() for each in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)]


def command() -> str:
    """Return what the user has to type for this command: its path, where it is not among the programs."""
    from shutil import which

    called = sys.argv[0]
    return called if called.endswith("/forethought") and which("forethought") is None else "forethought"


def show_declarations(problem: Problem) -> None:
    """Show what some actions declare, and the goal."""
    actions = list(problem.domain.actions.values())
    heading(f"1. Declared: '{DOMAIN}', {len(actions)} actions, such as")
    give("\n".join(map(declaration, actions[-3:])))
    give(f"Goal: {listed(conjuncts(problem.goal.hard))}")


def show_plan(plan: Plan) -> bool:
    """Show the plan, why each step is there, and that it holds; return whether the validator agrees."""
    from planner.explain.plan_explanation import explain_plan
    from planner.validation.validate import validate

    give(str(plan))
    heading("3. Explained: why each step is there")
    give(str(explain_plan(plan.problem, plan)))
    heading("4. Validated, by code that shares nothing with the search")
    verdict, broken = validate(plan.problem, plan), validate(plan.problem, plan.steps[1:])
    good(f"the plan: {verdict}")
    give(f"without its first step: {broken}")
    return verdict.valid and not broken.valid


def show_what_is_needed(plan: Plan) -> bool:
    """Take away an action that the problem cannot do without, and show why it then has no plan, if there is one."""
    from planner.explain.unsolvability import explain_unsolvable
    from planner.solve import solve

    for name in dict.fromkeys(step.action for step in plan.steps):
        less = without(name, plan.problem)
        result = solve(less, time_limit=SECONDS)
        if result.status is Status.UNSOLVABLE:
            heading(f"5. And if there were no '{name}'?")
            good(summary(result))
            give(str(explain_unsolvable(less, Limits(SECONDS))))
            return True
    return False


def without(name: str, problem: Problem) -> Problem:
    """Return `problem` in a world where nobody can do `name`."""
    domain = problem.domain
    actions = {other: action for other, action in domain.actions.items() if other != name}
    return replace(problem, domain=replace(domain, actions=actions))


def declaration(action: Action) -> str:
    """Return what an action requires, provides and modifies, as its author wrote it."""
    lines = [f"{action.signature}: {action.description}"]
    parts = {"requires": [*conjuncts(action.requires)], "provides": action.provides, "modifies": action.modifies}
    lines += [f"    {name}  {listed(found)}" for name, found in parts.items() if found]
    return "\n".join(lines)


def listed(parts: Iterable[object]) -> str:
    """Return the parts of a condition in one line, variables by their bare names."""
    return ", ".join(map(str, parts)).replace("?", "")


def heading(text: str) -> None:
    """Print the title of a part."""
    _print(f"\n{text}", "bold cyan")


def good(text: str) -> None:
    """Print a result to look at."""
    _print(text, "green")


def _print(text: str, style: str) -> None:
    if not is_terminal(sys.stdout):
        give(text)
        return
    from rich.console import Console

    Console().print(printable(text), style=style, highlight=False, markup=False)
