"""`forethought demo`: carry out, declare, solve, explain and validate a plan, on a shipped domain.

Other packages add parts by entry points: of the group `forethought.demo_opening` before the planner's part, of
`forethought.demo` after it.
"""

from __future__ import annotations

import itertools
import re
import shutil
import sys
import tempfile
import textwrap
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from planner.cli.output import Exit, give, is_terminal
from planner.cli.parser import Parser
from planner.cli.solve import summarise
from planner.errors import printable
from planner.lightweight import Final
from planner.limits import Limits
from planner.model import Action, Problem
from planner.model.formulas import conjuncts
from planner.plan import Plan, Status

ABOUT: Final = (
    "Show in a minute a run that survives a lie and a kill, and how its plan is declared, solved and explained."
)
DOMAIN: Final = "assistant"
OPENING: Final = "forethought.demo_opening"
CLOSING: Final = "forethought.demo"
SECONDS: Final = 20.0
"""Time limit of each search, in seconds; a search takes a fraction of a second."""
_COLUMN: Final = re.compile(r" *\S.*?\S {2,}(?=\S)")
"""What stands before the second column of a line."""
Show = Callable[[str], None]
Part = Callable[[Show, Show, Show, Path], bool]
"""Shows something by functions for headings, results and text, and shares a folder; returns whether all went well."""
COMMANDS: Final = """\
forethought solve assistant --json            the whole result, for programs
forethought run assistant --faults 0.2        carried out, in a simulated world
forethought run assistant --say "sum up the survey" --yes   by a language model, if one is configured
forethought view assistant --open             the plan on a page: graph, states, what each step is for
forethought compile assistant --to pddl       what other planners read
forethought check DOMAIN                      lint for a domain of yours
forethought --help                            everything else"""


def add_arguments(_parser: Parser) -> None:
    """Declare nothing: the command takes no arguments."""


def run(_started: float, _given: Namespace) -> Exit:
    """Show each part under a heading."""
    folder = Path(tempfile.mkdtemp(prefix="forethought-demo-"))
    heading = make_numbered_heading()
    parts = [*load_parts(OPENING), show_planning, *load_parts(CLOSING)]
    verdicts = [part(heading, print_highlighted, print_folded, folder) for part in parts]
    print_heading("Now you")
    print_folded(COMMANDS.replace("forethought", find_command()))
    return Exit.OK if all(verdicts) else Exit.NO_VERDICT


def show_planning(heading: Show, good: Show, say: Show, _folder: Path) -> bool:
    """Declare, solve, explain and validate; return whether the plan was proved optimal, and all else went well."""
    from planner.language.loading.load import load
    from planner.solve import solve

    problem = load(DOMAIN)
    assert isinstance(problem, Problem)
    show_declarations(problem, heading, say)
    heading("Solved")
    result = solve(problem, time_limit=SECONDS)
    good(summarise(result))
    sound = result.plan is not None and show_plan(result.plan, heading, good, say)
    return sound and show_a_needed_action(result.expect_plan(), heading, good, say) and result.status is Status.OPTIMAL


def load_parts(group: str) -> list[Part]:
    """Return the parts of other packages in a group of entry points, by name."""
    from importlib.metadata import entry_points

    return [each.load() for each in sorted(entry_points(group=group), key=lambda entry: entry.name)]


def make_numbered_heading() -> Show:
    """Return a function that prints headings with numbers from 1."""
    numbers = itertools.count(1)
    return lambda text: print_heading(f"{next(numbers)}. {text}")


def find_command() -> str:
    """Return the command for the user to type: its path if it is not on the search path."""
    from shutil import which

    called = sys.argv[0]
    return called if called.endswith("/forethought") and which("forethought") is None else "forethought"


def show_declarations(problem: Problem, heading: Show, say: Show) -> None:
    """Show the declarations of some actions, and the goal."""
    actions = list(problem.domain.actions.values())
    heading(f"Declared: '{DOMAIN}', {len(actions)} actions, such as")
    say("\n".join(map(format_action, actions[-3:])))
    say(f"Goal: {join_parts(conjuncts(problem.goal.hard))}")


def show_plan(plan: Plan, heading: Show, good: Show, say: Show) -> bool:
    """Show the plan, why each step is there, and the verdict; return whether the validator accepts the plan."""
    from planner.explain.plan_explanation import explain_plan
    from planner.validation.validate import validate

    say(str(plan))
    heading("Explained: why each step is there")
    say(str(explain_plan(plan.problem, plan)))
    heading("Validated, by code that shares nothing with the search")
    verdict, broken = validate(plan.problem, plan), validate(plan.problem, plan.steps[1:])
    good(f"the plan: {verdict}")
    say(f"without its first step: {broken}")
    return verdict.valid and not broken.valid


def show_a_needed_action(plan: Plan, heading: Show, good: Show, say: Show) -> bool:
    """Find an action without which the problem is unsolvable, and explain why; return whether there is one."""
    from planner.explain.unsolvability import explain_unsolvable
    from planner.solve import solve

    for name in dict.fromkeys(step.action for step in plan.steps):
        less = remove_action(name, plan.problem)
        result = solve(less, time_limit=SECONDS)
        if result.status is Status.UNSOLVABLE:
            heading(f"And if there were no '{name}'?")
            good(summarise(result))
            say(str(explain_unsolvable(less, Limits(SECONDS))))
            return True
    return False


def remove_action(name: str, problem: Problem) -> Problem:
    """Remove the action `name` from `problem`."""
    domain = problem.domain
    actions = {other: action for other, action in domain.actions.items() if other != name}
    return replace(problem, domain=replace(domain, actions=actions))


def format_action(action: Action) -> str:
    """Write the declaration of `action`: what it requires, provides and modifies."""
    lines = [f"{action.signature}: {action.description}"]
    parts = {"requires": [*conjuncts(action.requires)], "provides": action.provides, "modifies": action.modifies}
    lines += [f"    {name}  {join_parts(found)}" for name, found in parts.items() if found]
    return "\n".join(lines)


def join_parts(parts: Iterable[object]) -> str:
    """Join the parts of a condition in one line, with variables without question marks."""
    return ", ".join(map(str, parts)).replace("?", "")


def print_heading(text: str) -> None:
    """Print the title of a part in bold."""
    _print(f"\n{text}", "bold cyan")


def print_highlighted(text: str) -> None:
    """Print a result in green."""
    _print(text, "green")


def print_folded(text: str) -> None:
    """Print text; on a terminal, lines that are too long go on below their second column, or their beginning."""
    give(fold(text, shutil.get_terminal_size().columns) if is_terminal(sys.stdout) else text)


def fold(text: str, width: int) -> str:
    """Return `text` in lines of `width`, broken between words; words that are longer stay whole."""
    return "\n".join([folded for line in text.splitlines() for folded in _fold_line(line, width)])


def _fold_line(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    column = _COLUMN.match(line)
    indent = len(line) - len(line.lstrip())
    if column is not None:
        indent = column.end() if column.end() <= width // 2 else indent + 4
    after = " " * indent
    return textwrap.wrap(line, width, subsequent_indent=after, break_long_words=False, break_on_hyphens=False)


def _print(text: str, style: str) -> None:
    if not is_terminal(sys.stdout):
        give(text)
        return
    from rich.console import Console

    console = Console()
    folded = fold(printable(text), console.width)
    console.print(folded, style=style, highlight=False, markup=False, soft_wrap=True)
