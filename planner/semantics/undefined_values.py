"""Values that costs, uses, capacities and durations need: a step is inapplicable where one of them is undefined.

A function that some action changes is judged in the state of the step, as PDDL 2.1 says of its effects. All others have
one value in all states, so that grounding leaves the ground action out, and validation names the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod

from planner.errors import PlanError
from planner.lightweight import dataclass
from planner.model.actions import DURATION, Action
from planner.model.arithmetic import evaluate, exact_value
from planner.model.domain import ROOT_TYPE, TypeHierarchy, numeric_fluents, written_predicates
from planner.model.formulas import Arithmetic, Atom, Term, conjuncts, functions_in, is_variable, substitute_expression
from planner.model.problem import Problem
from planner.model.timing import TOTAL_TIME

Row = tuple[str, ...]
Amount = Atom | Arithmetic
"""An expression over functions."""


class UndefinedValue(PlanError):
    """An amount of a step has no value: a function in it is undefined, or it divides by 0."""


def list_amounts(action: Action) -> list[Amount]:
    """Return the amounts of `action` that functions give."""
    return [term for _, term in action.name_amounts()]


def substitute_amount(amount: Amount, binding: Mapping[Term, Term]) -> Amount:
    """Return `amount` with the terms of its functions replaced where `binding` has them."""
    found = substitute_expression(amount, binding)
    assert isinstance(found, Atom | Arithmetic)
    return found


def name_needed(action: Action, problem: Problem) -> dict[Amount, str]:
    """Return the amounts of `action` that need values which nothing in `problem` changes, with what each is."""
    terms = {term: what for what, term in action.name_amounts()}
    if not terms:
        return {}
    changing = {*numeric_fluents(problem.domain), DURATION.predicate, TOTAL_TIME.predicate}
    changing |= {change.fluent.predicate for each in problem.timed for change in each.numbers}
    names = {each.name for each in action.parameters}
    return {
        term: what
        for term, what in terms.items()
        if all(
            each.predicate not in changing and all(arg in names for arg in each.args if is_variable(arg))
            for each in functions_in(term)
        )
    }


def describe_undefined(problem: Problem, action: Action, binding: Mapping[str, str]) -> str:
    """Name the value that a step of `action` lacks, whatever the state; "" where it lacks none."""
    for term, what in name_needed(action, problem).items():
        found = describe_missing(term, f"its {what}", problem, binding)
        if found:
            return found
    return ""


def describe_missing(term: Amount, what: str, problem: Problem, binding: Mapping[str, str]) -> str:
    """Say which value `term`, by name `what`, lacks with its variables bound; "" where it has a value."""
    missing = next((each for each in _functions_of(term, binding) if each not in problem.values), None)
    if missing is not None:
        if isinstance(term, Atom):
            return f"{what} {missing} has no value in problem '{problem.name}'"
        return f"{what} {term} needs {missing}, which has no value in problem '{problem.name}'"
    values = {(each.predicate, each.args): problem.values[each] for each in _functions_of(term, binding)}
    if evaluate(term, lambda key: exact_value(values[key]), binding) is None:
        return f"{what} {term} divides by 0 in problem '{problem.name}'"
    return ""


def _functions_of(term: Amount, binding: Mapping[str, str]) -> Iterator[Atom]:
    return (each.substitute(binding) for each in functions_in(term))


@dataclass(frozen=True, slots=True, eq=False)
class ValueTest:
    """Tells the rows of objects, in place of the variables `terms`, for which an amount is `undefined`."""

    terms: tuple[Term, ...]
    undefined: Callable[[Row], bool]


def keep_needed(action: Action, problem: Problem) -> tuple[Amount, ...]:
    """Return the `needs_values` of an action that stands for `action` of `problem`, without its amounts."""
    return tuple(name_needed(action, problem))


def name_lacking(problem: Problem) -> str:
    """Say, after a reason why there is no plan, that steps without values do not apply; "" where none lacks one."""
    tests = ValueTests(problem)
    lacking = {
        term.predicate: None
        for action in problem.domain.actions.values()
        for amount in tests.find_open(action)
        for term in functions_in(amount)
    }
    return f"; no step applies that lacks a value of {' or '.join(lacking)}" if lacking else ""


class ValueTests:
    """The tests that the values of `problem` need: none for amounts that have a value for all objects in question."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._defined: dict[str, set[Row]] = {}
        self._members: Mapping[str, Sequence[str]] | None = None
        self._facts: dict[str, list[Atom]] = {}

    def find(self, action: Action) -> list[ValueTest]:
        """Return the tests for the steps of `action`."""
        return [self._test(term) for term in self.find_open(action)]

    def find_open(self, action: Action) -> list[Amount]:
        """Return the amounts of `action` that may lack a value for objects of its types."""
        return [term for term in name_needed(action, self._problem) if not self._is_defined(term, action)]

    def _rows(self, function: str) -> set[Row]:
        if not self._defined:
            for atom in self._problem.values:
                self._defined.setdefault(atom.predicate, set()).add(atom.args)
        return self._defined.get(function, set())

    def _is_defined(self, term: Amount, action: Action) -> bool:
        if not any(is_variable(arg) for each in functions_in(term) for arg in each.args):
            return not describe_missing(term, "", self._problem, {})
        if isinstance(term, Arithmetic) and "/" in str(term):
            return False
        return all(self._has_all_values(each, action) for each in functions_in(term))

    def _has_all_values(self, function: Atom, action: Action) -> bool:
        """Return whether the types of `action`, or what it requires, leave only objects with a value."""
        rows = self._rows(function.predicate)
        variables = list(dict.fromkeys(filter(is_variable, function.args)))
        types = {each.name: each.types for each in action.parameters}
        if len(variables) == len(function.args) and all(each in types for each in variables):
            pools = [self._objects(types[each]) for each in variables]
            size = prod(map(len, pools))
            if len(rows) >= size:
                allowed = [set(pool) for pool in pools]
                kept = sum(all(map(set.__contains__, allowed, row)) for row in rows)
                return kept == size
        written = written_predicates(self._problem.domain)
        open_predicates = {each.predicate for each in self._problem.unknown}
        for part in conjuncts(action.requires):
            if not isinstance(part, Atom) or part.predicate in written or part.predicate in open_predicates:
                continue
            if set(variables) <= set(part.args) and all(
                _project(function, part, fact) in rows for fact in self._facts_of(part.predicate)
            ):
                return True
        return False

    def _facts_of(self, predicate: str) -> Sequence[Atom]:
        if not self._facts:
            for fact in self._problem.initial:
                self._facts.setdefault(fact.predicate, []).append(fact)
        return self._facts.get(predicate, [])

    def _objects(self, types: Iterable[str]) -> list[str]:
        if self._members is None:
            self._members = TypeHierarchy(self._problem.domain.types).objects_by_type(self._problem.all_objects)
        kinds = list(types)
        if ROOT_TYPE in kinds:
            return [each.name for each in self._problem.all_objects]
        return list(dict.fromkeys(name for kind in kinds for name in self._members.get(kind, ())))

    def _test(self, term: Amount) -> ValueTest:
        if isinstance(term, Atom) and term.args and all(map(is_variable, term.args)):
            rows = self._rows(term.predicate)
            return ValueTest(term.args, lambda row: row not in rows)
        names = tuple(dict.fromkeys(arg for each in functions_in(term) for arg in each.args if is_variable(arg)))
        return ValueTest(
            names, lambda row: bool(describe_missing(term, "", self._problem, dict(zip(names, row, strict=True))))
        )


def _project(function: Atom, part: Atom, fact: Atom) -> Row:
    binding = dict(zip(part.args, fact.args, strict=True))
    return tuple([binding.get(arg, arg) for arg in function.args])
