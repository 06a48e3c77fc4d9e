"""How much of a number would give a plan: candidates for assumptions about numbers, and their least amounts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Final

from planner.explain.comparison_facts import ComparisonFacts
from planner.explain.excuses import AnyAssumption, NumberAssumption, apply_assumptions
from planner.grounding.value_ranges import unify
from planner.limits import Limits
from planner.model.arithmetic import as_fraction, as_number, exact_value
from planner.model.domain import numeric_effects, numeric_fluents
from planner.model.formulas import Arithmetic, Atom, Expression, Formula, Number, atoms_in, comparisons_in
from planner.model.problem import Problem
from planner.options import ANY_PLAN
from planner.plan import Status, Step
from planner.validation.validate import check_steps

AMPLE: Final = 1000
"""A number without a bound is assumed to be so many times as large as the largest of the problem."""
MOST: Final = 80
"""Most candidates."""
SHARE: Final = 0.3
"""Share of the remaining time for one search for a plan with a smaller amount."""


def find_candidates(facts: ComparisonFacts, *, uses_goal: bool) -> list[NumberAssumption]:
    """Return the fluents that may help some comparison by having more or less at the start, with ample values.

    Unless `uses_goal`, those that the goal itself compares are left out.
    """
    problem, changing = facts.source, numeric_fluents(facts.source.domain)
    functions = {
        (term.predicate, sign)
        for wanted in facts.requirements.values()
        for term, sign in facts.slopes_of(wanted.comparison)
    }
    aims = [] if uses_goal else list(_aims(facts))
    found = []
    for term, number in problem.values.items():
        for sign in (1, -1):
            helps = not {(term.predicate, sign), (term.predicate, 0)}.isdisjoint(functions)
            if not helps or term.predicate not in changing or _is_aim(term, sign, aims):
                continue
            value = _ample(term, sign, problem)
            if value != number:
                found.append(NumberAssumption(term, value, number))
    return found[:MOST]


def _aims(facts: ComparisonFacts) -> Iterator[tuple[Atom, int]]:
    """Yield the functions in comparisons of the goal that fail at the start, with the direction in which that helps."""
    for atom in atoms_in(facts.problem.goal.hard):
        comparison = facts.comparison_of(atom)
        if comparison is not None and not facts.values.compare(comparison):
            yield from facts.slopes_of(comparison)


def _is_aim(term: Atom, sign: int, aims: Iterable[tuple[Atom, int]]) -> bool:
    return any(
        aim.predicate == term.predicate and slope in (0, sign) and unify(aim.args, term.args, {}) is not None
        for aim, slope in aims
    )


def _ample(term: Atom, sign: int, problem: Problem) -> Number:
    function = problem.domain.functions.get(term.predicate)
    bound = None if function is None else function.high if sign > 0 else function.low
    return bound if bound is not None else sign * AMPLE * _largest(problem)


def _largest(problem: Problem) -> int:
    return max([1, *[ceil(abs(as_fraction(each))) for each in numbers_in(problem)]])


def numbers_in(problem: Problem) -> Iterator[Number]:
    """Yield the values of functions and the constants in effects and comparisons."""
    yield from problem.values.values()
    for action in problem.domain.actions.values():
        for effect in numeric_effects(action):
            yield from _constants(effect.value)
        yield from _compared(action.requires)
    yield from _compared(problem.goal.hard)


def _compared(formula: Formula) -> Iterator[Number]:
    for comparison in comparisons_in(formula):
        yield from _constants(comparison.left)
        yield from _constants(comparison.right)


def _constants(expression: Expression) -> Iterator[Number]:
    match expression:
        case Atom():
            return
        case Arithmetic(_, operands):
            for operand in operands:
                yield from _constants(operand)
        case _:
            yield expression


def bound_candidates(problem: Problem, changing: Iterable[str]) -> Iterator[NumberAssumption]:
    """Yield the bounds of the functions `changing`, moved out so far that they hardly matter."""
    most = AMPLE * _largest(problem)
    for name in changing:
        function = problem.domain.functions.get(name)
        for bound, far in (("low", -most), ("high", most)):
            present = None if function is None else getattr(function, bound)
            if present is not None:
                yield NumberAssumption(Atom(name), far, present, bound)


def sharpen(
    problem: Problem, made: Sequence[AnyAssumption], steps: Sequence[Step], limits: Limits
) -> tuple[list[AnyAssumption], list[Step]]:
    """Return `made` with the least amounts that are found, and the steps of a plan with them.

    Amounts are multiples of the last decimal place of the numbers in `problem`. A single amount is made smaller by
    search, until search proves that there is no plan with less, or a limit ends it.
    """
    unit = Fraction(1, 10 ** max([_places(each) for each in numbers_in(problem)], default=0))
    kept, left = list(made), list(steps)
    numbers = [each for each in kept if isinstance(each, NumberAssumption)]
    for assumption in numbers:
        ladder = _Ladder(problem, kept, assumption, unit)
        good, bad = ladder.least(left, 0, ladder.rung(assumption.value)), 0
        if len(numbers) == 1:
            good, bad, left = ladder.descend(good, left, limits)
        refuted = ladder.at(bad).value if bad else None
        kept[kept.index(assumption)] = replace(ladder.at(good), refuted=refuted)
    return kept, left


def _places(number: Number) -> int:
    exponent = 0 if isinstance(number, int) else int(number.normalize().as_tuple().exponent)
    return max(0, -exponent)


class _Ladder:
    """The values of one assumption beside the others `made`: rung 0 is the present value, and a rung is one `unit`."""

    def __init__(
        self, problem: Problem, made: Sequence[AnyAssumption], assumption: NumberAssumption, unit: Fraction
    ) -> None:
        self._problem = problem
        self._others = [each for each in made if each is not assumption]
        self._assumption = assumption
        self._start = as_fraction(assumption.instead_of)
        self._unit = unit if as_fraction(assumption.value) > self._start else -unit

    def rung(self, value: Number) -> int:
        """Return the rung of `value`, or the next one."""
        return ceil((as_fraction(value) - self._start) / self._unit)

    def at(self, rung: int) -> NumberAssumption:
        """Return the assumption with the value of a rung."""
        value = as_number(exact_value(self._start + rung * self._unit))
        assert value is not None
        return self._assumption.with_value(value)

    def _changed(self, rung: int) -> Problem:
        return apply_assumptions(self._problem, [*self._others, *([self.at(rung)] if rung else [])])

    def least(self, steps: Sequence[Step], bad: int, good: int) -> int:
        """Return the lowest rung above `bad` with which `steps` are a plan, as they are with `good`."""
        while good - bad > 1:
            middle = (good + bad) // 2
            if check_steps(self._changed(middle), steps).valid:
                good = middle
            else:
                bad = middle
        return good

    def descend(self, good: int, steps: list[Step], limits: Limits) -> tuple[int, int, list[Step]]:
        """Search for plans below rung `good`; return the lowest rung found, the highest one refuted, and the plan."""
        from planner.solve import answer

        bad, rung = 0, good - 1
        while good - bad > 1:
            result = answer(self._changed(rung), ANY_PLAN.within(limits, SHARE))
            if result.plan is not None:
                steps = list(result.plan.steps)
                good = self.least(steps, bad, rung)
            elif result.status is Status.UNSOLVABLE:
                bad = rung
            else:
                break
            rung = (good + bad) // 2
        return good, bad, steps
