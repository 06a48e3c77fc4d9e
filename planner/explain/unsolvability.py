"""Explain why a problem has no plan, and what would give it one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from planner.compilations.creation_rounds import LARGEST_RULE, add_enough_placeholders
from planner.compilations.normal_form import normalise
from planner.compilations.object_creation import compile_object_creation
from planner.compilations.soft_goals import budget_spending
from planner.explain.conflicts import Conflict, conflicts
from planner.explain.near_misses import Relaxed
from planner.explain.smallest_change import Change, Finding, smallest_change
from planner.explain.unreachable_goals import Missing, Unreachable, unreachable_goals
from planner.limits import LimitReached, Limits
from planner.model import COST, Problem
from planner.model.domain import creates_objects
from planner.options import ANY_PLAN
from planner.plan import Plan, Status, StoppedBy
from planner.problem_kinds import resolve_classical


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is known about a problem without a plan.

    `solvable` is False where it is proved that there is no plan, True where there is one after all (`plan`), and None
    where neither was shown. `unreachable` are the parts of the goal that nothing reaches, each on its own; where there
    are none and the problem is unsolvable, what one part needs is used up or undone by another. `change` is the
    smallest change found that gives a plan; None where no change of facts was found. `stopped_by` says which limit
    ended the search for it, if one did. `conflicts` are demands (parts of the goal, constraints, budgets, the deadline)
    that cannot be met together, where something is demanded besides the goal.
    """

    problem: str
    solvable: bool | None
    unreachable: tuple[Unreachable, ...] = ()
    change: Change | None = None
    plan: Plan | None = None
    stopped_by: StoppedBy | None = None
    conflicts: tuple[Conflict, ...] = ()

    def knowing_unsolvable(self) -> Diagnosis:
        """Return the same where it is proved that there is no plan: at least one change is needed then."""
        change = self.change
        if change is not None and not change.at_least:
            change = replace(change, at_least=1)
        return replace(self, solvable=False, change=change)

    @property
    def missing(self) -> tuple[Missing, ...]:
        """The missing capabilities of all parts of the goal, each fact once."""
        found = {missing.fact: missing for part in reversed(self.unreachable) for missing in reversed(part.missing)}
        return tuple(reversed(found.values()))

    def describe(self) -> str:
        """Return the diagnosis in lines for people."""
        return "\n".join(self._lines())

    def __str__(self) -> str:
        return self.describe()

    def _lines(self) -> Iterator[str]:
        if self.plan is not None:
            yield f"{self.problem} has a plan of {_counted(len(self.plan), 'step')}, cost {self.plan.cost}:"
            yield from _indented(str(self.plan))
            return
        yield f"{self.problem} has no plan." if self.solvable is False else f"{self.problem}: no plan is known."
        if self.solvable is None and self.stopped_by is not None:
            yield f"Whether there is one was not found out: {self.stopped_by.value} ended the search."
        for part in self.unreachable:
            yield from part.lines()
        yield from (f"{'They' if len(conflict.demands) > 1 else 'This'} {conflict}." for conflict in self.conflicts)
        if self.solvable is False and not self.unreachable and not self.conflicts:
            yield "Each part of the goal can be reached, but not all of it by one plan: some step undoes or uses up"
            yield "what another needs."
        yield from self._change_lines()

    def _change_lines(self) -> Iterator[str]:
        limit = f" ({self.stopped_by.value} ended the search)" if self.stopped_by is not None else ""
        if self.change is None:
            if self.solvable is False:
                what = "No change was found" if limit else "No change of the facts that were considered helps"
                yield f"{what}{limit}."
            return
        yield "It would have a plan if, from the start:"
        yield from (f"  {assumption}" for assumption in self.change.assumptions)
        yield from (f"  ({value} is not known, and counts as 0)" for value in self.change.unpriced)
        yield f"{_how_small(self.change)}{'' if self.change.proved_smallest else limit}."
        yield (
            f"The plan would then be, at cost {self.change.plan.cost}:"
            if self.change.plan.steps
            else ("The goal would then hold at once.")
        )
        yield from _indented(str(self.change.plan))

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON-ready data."""
        return {
            "problem": self.problem,
            "solvable": self.solvable,
            "unreachable": [part.to_dict() for part in self.unreachable],
            "missing": [missing.to_dict() for missing in self.missing],
            "conflicts": [each.to_dict() for each in self.conflicts],
            "change": self.change.to_dict() if self.change is not None else None,
            "plan": self.plan.to_dict() if self.plan is not None else None,
            "stopped_by": self.stopped_by.name.lower() if self.stopped_by is not None else None,
        }


def explain_unsolvable(problem: Problem, limits: Limits) -> Diagnosis:
    """Return why `problem` has no plan, and the smallest change of its facts that would give one.

    Limits end the work early and are reported, not raised. Raises `InputError` for a problem that means nothing and
    `UnsupportedError` for one that search does not take.
    """
    problem = resolve_classical(
        problem, "explain_unsolvable", "htn.problem_kind.explain_unsolvable(problem, limits) explains it"
    )
    if not creates_objects(problem.domain):
        return _diagnosis(problem, problem, limits)
    enough = add_enough_placeholders(problem)
    found = _diagnosis(enough or compile_object_creation(problem, LARGEST_RULE).problem, problem, limits)
    proved = enough is not None and bool(found.unreachable)
    return _whatever_is_created(found, problem, proved=proved or _is_unsolvable(problem, limits))


def unreachable_parts(problem: Problem, limits: Limits) -> tuple[Unreachable, ...]:
    """Return the parts of the goal that not even a relaxed plan reaches, each with the capabilities that are missing.

    None where a limit ends the work. Raises `InputError` for a problem that means nothing.
    """
    source = problem
    if creates_objects(problem.domain):
        source = add_enough_placeholders(problem) or compile_object_creation(problem, LARGEST_RULE).problem
    try:
        return unreachable_goals(problem, Relaxed(normalise(source), limits))[0]
    except LimitReached:
        return ()


def _diagnosis(problem: Problem, source: Problem, limits: Limits) -> Diagnosis:
    """Return why `problem` has no plan; what may be assumed, `source` declares."""
    counted = budget_spending(problem) if COST in problem.budgets else problem  # assumptions have a price of their own
    try:
        relaxed = Relaxed(normalise(counted), limits)
        unreachable, shortfall = unreachable_goals(problem, relaxed)
    except LimitReached as limit:
        return Diagnosis(problem.name, None, stopped_by=limit.stopped_by)
    found = () if unreachable else clashes(problem, limits)
    finding = smallest_change(problem, source, shortfall, limits, reachable=not unreachable)
    solvable = False if found else _solvable(finding)
    return Diagnosis(problem.name, solvable, unreachable, finding.change, finding.plan, finding.stopped_by, found)


def clashes(problem: Problem, limits: Limits) -> tuple[Conflict, ...]:
    """Return which demands cannot be met together, found in half of the time; none where only the goal is demanded."""
    hard = any(each.utility is None for each in problem.constraints)
    if not (hard or problem.budgets or problem.deadline is not None):
        return ()
    return conflicts(problem, limits.share(1 / 2))


def _is_unsolvable(problem: Problem, limits: Limits) -> bool:
    from planner.solve import answer

    return answer(problem, ANY_PLAN.within(limits)).status is Status.UNSOLVABLE


def _whatever_is_created(found: Diagnosis, problem: Problem, *, proved: bool) -> Diagnosis:
    """Return what holds of `found`, a diagnosis with some placeholders, with any number of them.

    That there is no plan does only where it is `proved`.
    """
    change = found.change and replace(found.change, at_least=min(found.change.at_least, int(proved)))
    plan = found.plan and replace(found.plan, problem=problem)
    return replace(found, solvable=found.solvable if found.solvable or proved else None, change=change, plan=plan)


def _solvable(finding: Finding) -> bool | None:
    if finding.plan is not None:
        return True
    return False if finding.at_least else None


def _how_small(change: Change) -> str:
    """Return in words what is known about the size of `change`."""
    size = len(change.assumptions)
    apart = " apart from the goal itself" if not change.uses_goal else ""
    if change.proved_smallest:
        return f"No smaller change does{apart}" if size > 1 else f"One fact is enough{apart}"
    if not change.at_least:
        return f"Whether fewer would do{apart}, or none at all, is not known"
    return f"At least {change.at_least} would be needed{apart}; {size} is the best found"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _indented(text: str) -> Iterator[str]:
    yield from (f"  {line}" for line in text.splitlines())
