"""Explain why a problem has no plan, and what would give it one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from planner.compilations.budgets import budget_spending
from planner.compilations.creation_rounds import LARGEST_RULE, add_enough_placeholders
from planner.compilations.normal_form import normalise
from planner.compilations.object_creation import compile_object_creation
from planner.compilations.required_values import require_values
from planner.compilations.unlisted_objects import may_find_more, suppose_found
from planner.explain.comparison_facts import compile_comparisons
from planner.explain.conflicts import Conflict, find_conflicts
from planner.explain.excuses import NumberAssumption
from planner.explain.near_misses import Relaxed
from planner.explain.smallest_change import Change, Finding, find_smallest_change
from planner.explain.unreachable_goals import Missing, Unreachable, explain_unreachable_goals
from planner.limits import LimitReached, Limits
from planner.model import Problem
from planner.model.constructs import Construct, has
from planner.model.domain import creates_objects, lists_patterns, may_find_out
from planner.model.problem import is_numeric
from planner.options import ANY_PLAN
from planner.plan import Plan, Status, StoppedBy
from planner.problem_kinds import resolve_classical

if TYPE_CHECKING:
    from planner.explain.model_changes import ModelChange


FACTS_SHARE: Final = 0.7
"""The part of the time for changes of facts, where changes of actions are looked for as well."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """An explanation of why a problem has no plan.

    `solvable` is False if there is proved to be no plan, True if there is one after all (`plan`), and None if that is
    unknown. `unreachable` are the parts of the goal that are relaxed unreachable; if there are none and the problem is
    unsolvable, the parts of the goal interfere with each other. `change` is the smallest change found that gives a
    plan, or None. `stopped_by` is the limit that ended the search for it, if one did. `conflicts` are demands that no
    plan meets together, where there are demands besides the goal. Where `change` is one of facts, `also` is a change of
    one number that gives a plan, too. `model_changes` are changes of actions that would give one.
    """

    problem: str
    solvable: bool | None
    unreachable: tuple[Unreachable, ...] = ()
    change: Change | None = None
    plan: Plan | None = None
    stopped_by: StoppedBy | None = None
    conflicts: tuple[Conflict, ...] = ()
    also: Change | None = None
    model_changes: tuple[ModelChange, ...] = ()

    def as_unsolvable(self) -> Diagnosis:
        """Return the diagnosis for a problem that is proved unsolvable, so that at least one change is needed."""
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
            yield f"{self.problem} has a plan of {_count(len(self.plan), 'step')}, cost {self.plan.cost}:"
            yield from _indent(str(self.plan))
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
        yield from self.change_lines()

    def change_lines(self) -> Iterator[str]:
        """Yield what is said of the smallest changes, in lines for people."""
        yield from self._fact_lines()
        for number, change in enumerate(self.model_changes):
            yield "It would also have a plan if" if number or self.change else "It would have a plan if"
            yield from (f"  {line}" for line in change.lines())

    def _fact_lines(self) -> Iterator[str]:
        limit = f" ({self.stopped_by.value} ended the search)" if self.stopped_by is not None else ""
        if self.change is None:
            if self.solvable is False:
                what = "No change was found" if limit else "No change that was considered helps"
                yield f"{what}{limit}."
            return
        yield "It would have a plan if, from the start:"
        yield from (f"  {assumption}" for assumption in self.change.assumptions)
        yield from (f"  ({value} is not known, and counts as 0)" for value in self.change.unpriced)
        yield f"{_describe_size(self.change)}{'' if self.change.proved_smallest else limit}."
        yield (
            f"The plan would then be, at cost {self.change.plan.cost}:"
            if self.change.plan.steps
            else ("The goal would then hold at once.")
        )
        yield from _indent(str(self.change.plan))
        if self.also is not None:
            yield f"It would also have a plan with {self.also.assumptions[0]}."

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON-ready data."""
        return {
            "problem": self.problem,
            "solvable": self.solvable,
            "unreachable": [part.to_dict() for part in self.unreachable],
            "missing": [missing.to_dict() for missing in self.missing],
            "conflicts": [each.to_dict() for each in self.conflicts],
            "change": self.change.to_dict() if self.change is not None else None,
            **({"also": self.also.to_dict()} if self.also is not None else {}),
            **({"model_changes": [each.to_dict() for each in self.model_changes]} if self.model_changes else {}),
            "plan": self.plan.to_dict() if self.plan is not None else None,
            "stopped_by": self.stopped_by.name.lower() if self.stopped_by is not None else None,
        }


def explain_unsolvable(problem: Problem, limits: Limits, *, model_changes: bool = False) -> Diagnosis:
    """Return why `problem` has no plan, and the smallest change of its facts or numbers that would give one.

    With `model_changes`, return also changes of its actions that would, as far as a part of the time suffices. A limit
    that ends the work is reported, not raised. Raises `InputError` for mistakes in the problem, and `UnsupportedError`
    for constructs that no search supports.
    """
    problem = resolve_classical(
        problem, "explain_unsolvable", "htn.problem_kind.explain_unsolvable(problem, limits) explains it"
    )
    problem = require_values(problem, "value-of-{}")
    if model_changes:
        found = explain_unsolvable(problem, limits.share(FACTS_SHARE))
        return _add_model_changes(found, problem, limits)
    if is_numeric(problem):
        return _diagnose_numbers(problem, limits)
    if not creates_objects(problem.domain):
        return _diagnose(problem, problem, limits)
    enough = add_enough_placeholders(problem)
    found = _diagnose(enough or compile_object_creation(problem, LARGEST_RULE).problem, problem, limits)
    proved = enough is not None and bool(found.unreachable)
    return _generalise(found, problem, proved=proved or _is_unsolvable(problem, limits))


def _add_model_changes(found: Diagnosis, problem: Problem, limits: Limits) -> Diagnosis:
    """Return `found` with the changes of actions that give a plan, if there is none."""
    from planner.explain.model_changes import find_model_changes

    if found.solvable is not False:
        return found
    missing = {each.fact.partition("(")[0] for each in found.missing}
    return replace(found, model_changes=find_model_changes(problem, limits, missing, found.change))


def explain_compiled(problem: Problem, source: Problem, limits: Limits) -> Diagnosis:
    """Return why `problem`, compiled from `source`, has no plan; only facts that `source` declares are assumed.

    Neither creates objects nor asks for a plan in time. A limit that ends the work is reported, not raised.
    """
    diagnosis = (
        _diagnose_numbers(problem, limits, source) if is_numeric(problem) else _diagnose(problem, source, limits)
    )
    return diagnosis.as_unsolvable()


def find_unreachable_parts(problem: Problem, limits: Limits) -> tuple[Unreachable, ...]:
    """Return the relaxed unreachable parts of the goal with the missing capabilities; none if a limit ends the work.

    With numbers beside unknown facts or new objects, nothing is found. Raises `InputError` for mistakes in the problem.
    """
    if is_numeric(problem):
        return _find_unreachable_with_numbers(problem, limits)
    if lists_patterns(problem.domain):
        supposed = suppose_found(problem)
        if supposed is None:
            return ()
        problem = supposed
    source = problem
    if creates_objects(problem.domain):
        source = add_enough_placeholders(problem) or compile_object_creation(problem, LARGEST_RULE).problem
    try:
        return explain_unreachable_goals(problem, Relaxed(normalise(source), limits))[0]
    except LimitReached:
        return ()


def _find_unreachable_with_numbers(problem: Problem, limits: Limits) -> tuple[Unreachable, ...]:
    if has(problem, Construct.UNKNOWN, Construct.CREATION) or may_find_out(problem.domain):
        return ()
    facts = compile_comparisons(problem)
    try:
        return explain_unreachable_goals(facts.problem, Relaxed(normalise(facts.problem), limits), facts)[0]
    except LimitReached:
        return ()


def _diagnose(problem: Problem, source: Problem, limits: Limits) -> Diagnosis:
    """Return why `problem` has no plan; assumptions are facts that `source` declares."""
    counted = budget_spending(problem)  # assumptions have a price of their own
    try:
        relaxed = Relaxed(normalise(counted), limits)
        unreachable, shortfall = explain_unreachable_goals(problem, relaxed)
    except LimitReached as limit:
        return Diagnosis(problem.name, None, stopped_by=limit.stopped_by)
    found = () if unreachable else find_conflicts_besides_goal(problem, limits)
    finding = find_smallest_change(problem, source, shortfall, limits, reachable=not unreachable)
    solvable = False if found else _is_solvable(finding)
    if solvable is False and may_find_more(problem):
        solvable = None
    return Diagnosis(problem.name, solvable, unreachable, finding.change, finding.plan, finding.stopped_by, found)


def _diagnose_numbers(problem: Problem, limits: Limits, source: Problem | None = None) -> Diagnosis:
    """Return why `problem`, which has numbers, has no plan; assumptions are facts that `source` declares."""
    facts = compile_comparisons(problem)
    try:
        relaxed = Relaxed(normalise(facts.problem), limits)
        unreachable, shortfall = explain_unreachable_goals(facts.problem, relaxed, facts)
    except LimitReached as limit:
        return Diagnosis(problem.name, None, stopped_by=limit.stopped_by)
    reachable = not unreachable
    finding = find_smallest_change(problem, source or problem, shortfall, limits, reachable=reachable, numbers=facts)
    solvable = _is_solvable(finding)
    if solvable is False and may_find_more(problem):
        solvable = None
    return replace(
        Diagnosis(problem.name, solvable, unreachable, finding.change, finding.plan, finding.stopped_by),
        also=finding.also,
    )


def find_conflicts_besides_goal(problem: Problem, limits: Limits) -> tuple[Conflict, ...]:
    """Return the conflicts that are found in half of the time, where there are demands besides the goal."""
    if not (has(problem, Construct.CONSTRAINTS) or problem.is_limited):
        return ()
    return find_conflicts(problem, limits.share(1 / 2))


def _is_unsolvable(problem: Problem, limits: Limits) -> bool:
    from planner.solve import answer

    return answer(problem, ANY_PLAN.within(limits)).status is Status.UNSOLVABLE


def _generalise(found: Diagnosis, problem: Problem, *, proved: bool) -> Diagnosis:
    """Generalise `found`, a diagnosis with some placeholders, to any number of them.

    Unsolvability holds in general only if it is `proved`.
    """
    change = found.change and replace(found.change, at_least=min(found.change.at_least, int(proved)))
    plan = found.plan and replace(found.plan, problem=problem)
    return replace(found, solvable=found.solvable if found.solvable or proved else None, change=change, plan=plan)


def _is_solvable(finding: Finding) -> bool | None:
    if finding.plan is not None:
        return True
    return False if finding.at_least else None


def _describe_size(change: Change) -> str:
    """Describe the bounds on the size of `change`."""
    size = len(change.assumptions)
    apart = " apart from the goal itself" if not change.uses_goal else ""
    if change.proved_smallest:
        one = "number" if isinstance(change.assumptions[0], NumberAssumption) else "fact"
        return f"No smaller change does{apart}" if size > 1 else f"One {one} is enough{apart}"
    if not change.at_least:
        return f"Whether fewer would do{apart}, or none at all, is not known"
    return f"At least {change.at_least} would be needed{apart}; {size} is the best found"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _indent(text: str) -> Iterator[str]:
    yield from (f"  {line}" for line in text.splitlines())
