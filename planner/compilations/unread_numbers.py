"""Plan where numbers are unknown: what reading them may bring, and what that means for answers.

Search takes the values that the problem states for unknown numbers, and none for the others. So its plan rests on
suppositions, and where it finds no plan, another value may lead to one. The relaxation here holds for all values: a
comparison that an unknown number decides counts as true.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.compilations import reserve_name
from planner.lightweight import Final, replace
from planner.limits import LimitReached, Limits
from planner.model import Atom, Comparison, Formula, Goal, Not, Or, Problem
from planner.model.actions import Action, Moment, NumericEffect, When
from planner.model.domain import Predicate, numeric_effects
from planner.model.formulas import (
    TRUE,
    Imply,
    children,
    comparisons_in,
    functions_in,
    with_children,
)
from planner.model.problem import Metric, NumericMetric, seal
from planner.model.unknown_numbers import find_unread, known_fact
from planner.options import ANY_PLAN
from planner.plan import Result, Status, StoppedBy
from planner.validation.supposed_numbers import find_supposed_numbers, measured_by

SECONDS: Final = 5.0
"""Time limit of the search with unknown numbers that suit, in seconds."""


def search_with_any_numbers(problem: Problem) -> Result | None:
    """Search for a plan that suits some values of the unknown numbers; None without a relaxation, or without time."""
    relaxed = relax_unread(problem)
    if relaxed is None:
        return None
    from planner.solve import answer

    try:
        return answer(relaxed, ANY_PLAN.within(Limits(SECONDS)))
    except LimitReached:
        return None


def may_read_more(problem: Problem) -> bool:
    """Return whether a number that is read might lead to the goal of `problem`, as far as is known."""
    if not find_unread(problem):
        return False
    found = search_with_any_numbers(problem)
    return found is None or found.status is not Status.UNSOLVABLE


def find_readable(problem: Problem) -> list[list[Atom]]:
    """Return facts that say that a number is known, and that do not hold: those that a plan needs, and then all.

    Return an empty list if no number can help.
    """
    unread = find_unread(problem)
    found = search_with_any_numbers(problem) if unread else None
    if not unread or (found is not None and found.status is Status.UNSOLVABLE):
        return []
    steps = () if found is None or found.plan is None else found.plan.steps
    read = [pattern for step in steps for pattern in measured_by(problem, step)]
    wanted = [term for term in unread if any(pattern.matches(term) for pattern in read)]
    return [[known_fact(term) for term in terms] for terms in (wanted, unread) if terms]


def relax_unread(problem: Problem) -> Problem | None:
    """Return a relaxation of `problem` that has a plan if `problem` has one for some values of the unknown numbers.

    Return None where a conditional effect depends on an unknown number: either case may be the better one.
    """
    unread = find_unread(problem)
    vague = _find_vague(problem, {term.predicate for term in unread})
    relaxing = _Relaxing(problem, unread, vague)
    actions = problem.domain.actions.values()
    effects = [effect for action in actions for effect in action.effects]
    if any(relaxing.reads(each) for effect in effects for each in comparisons_in(effect.requires)):
        return None
    domain = replace(
        problem.domain,
        predicates={**problem.domain.predicates, **relaxing.predicates},
        actions={action.name: relaxing.action(action) for action in actions},
    )
    is_vague = isinstance(problem.metric, NumericMetric) and any(
        term.predicate in vague for term in functions_in(problem.metric.expression)
    )
    facts = [Atom(relaxing.names[term.predicate], term.args) for term in unread if term.predicate in relaxing.names]
    return seal(
        replace(
            problem,
            domain=domain,
            initial=(*problem.initial, *facts),
            goal=Goal(relaxing.formula(problem.goal.hard)),
            constraints=(),
            due=(),
            metric=Metric.COST if is_vague else problem.metric,
        )
    )


def _find_vague(problem: Problem, unread: Iterable[str]) -> frozenset[str]:
    """Return the functions that actions change by amounts that rest on functions with `unread` values."""
    read, vague = set(unread), set[str]()
    effects = [each for action in problem.domain.actions.values() for each in numeric_effects(action)]
    grown = -1
    while grown != len(vague):
        grown = len(vague)
        uncertain = read | vague
        changed = [each for each in effects if any(t.predicate in uncertain for t in functions_in(each.value))]
        changed += [each for each in effects if each.fluent.predicate in read]
        vague |= {each.fluent.predicate for each in changed}
    return frozenset(vague)


class _Relaxing:
    """Relaxes conditions: a comparison holds if it reads one of the `unread` numbers, or a `vague` function."""

    def __init__(self, problem: Problem, unread: Sequence[Atom], vague: frozenset[str]) -> None:
        domain, taken = problem.domain, {*problem.domain.predicates}
        functions = dict.fromkeys([term.predicate for term in unread if term.predicate not in vague])
        self._vague = vague
        self.names = {name: reserve_name(f"unread-{name}", taken) for name in functions}
        self.predicates = {new: Predicate(new, domain.functions[name].parameters) for name, new in self.names.items()}

    def reads(self, comparison: Comparison) -> bool:
        """Return whether `comparison` may read an unknown number."""
        return any(each.predicate in self.names or each.predicate in self._vague for each in comparison.functions)

    def formula(self, formula: Formula, *, positive: bool = True) -> Formula:
        """Return the relaxation of `formula`; unless `positive`, that of its negation, negated."""
        match formula:
            case Comparison() if any(each.predicate in self._vague for each in formula.functions):
                return TRUE if positive else Or(())
            case Comparison() if self.reads(formula):
                named = [each for each in formula.functions if each.predicate in self.names]
                unread = [Atom(self.names[each.predicate], each.args) for each in named]
                return Or((*unread, formula)) if positive else self._all_read(unread, formula)
            case Not(part):
                return Not(self.formula(part, positive=not positive))
            case Imply(premise, conclusion):
                first = self.formula(premise, positive=not positive)
                return Imply(first, self.formula(conclusion, positive=positive))
        parts = [self.formula(each, positive=positive) for each in children(formula)]
        return with_children(formula, tuple(parts)) if parts else formula

    @staticmethod
    def _all_read(unread: Sequence[Atom], formula: Formula) -> Formula:
        return Not(Or((*unread, Not(formula))))

    def action(self, action: Action) -> Action:
        """Return `action` with relaxed conditions, and without changes of vague functions."""
        return replace(
            action,
            requires=self.formula(action.requires),
            throughout=self.formula(action.throughout),
            numbers=self._exact(action.numbers),
            when=self._effects(action.when),
            outcomes=tuple([replace(each, numbers=self._exact(each.numbers)) for each in action.outcomes]),
            at_start=self._moment(action.at_start),
            at_end=self._moment(action.at_end),
        )

    def _moment(self, moment: Moment) -> Moment:
        when, numbers = self._effects(moment.when), self._exact(moment.numbers)
        return replace(moment, requires=self.formula(moment.requires), when=when, numbers=numbers)

    def _effects(self, effects: Iterable[When]) -> tuple[When, ...]:
        return tuple([replace(each, numbers=self._exact(each.numbers)) for each in effects])

    def _exact(self, numbers: Iterable[NumericEffect]) -> tuple[NumericEffect, ...]:
        return tuple([each for each in numbers if each.fluent.predicate not in self._vague])


def qualify_by_values(problem: Problem, result: Result) -> Result:
    """Say in `result`, which has a plan or no proof, which values of unknown numbers its plan supposes.

    Other values might allow a cheaper plan, so that it is neither optimal nor bounded.
    """
    if not find_unread(problem):
        return result
    plan, status, reason = result.plan, result.status, result.reason
    if plan is not None:
        facts = tuple([each for each in plan.suppositions if each.value is None])
        supposed = find_supposed_numbers(problem, plan.steps)
        is_said = facts + supposed == plan.suppositions and bool(facts)
        plan = replace(plan, suppositions=facts + supposed)
        said = f"it supposes {'; '.join(map(str, supposed))}" if supposed and not is_said else ""
        reason = "; ".join(filter(None, [reason, said]))
        status = Status.SOLVED if status is Status.OPTIMAL else status
    stopped_by = StoppedBy.INCOMPLETE if result.stopped_by is StoppedBy.EXHAUSTED else result.stopped_by
    milestones = tuple([replace(each, lower_bound=None) for each in result.history.milestones])
    history = replace(result.history, milestones=milestones)
    return replace(
        result, plan=plan, status=status, reason=reason, stopped_by=stopped_by, lower_bound=None, history=history
    )
