"""Build the immutable `Problem` from objects, facts, goals and limits as authors write them, checked by its domain."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any, Final

from planner.errors import InputError, did_you_mean
from planner.garbage_collection import pause_collector
from planner.language.declare.arithmetic_reader import is_numeric_effect, parse_arithmetic
from planner.language.declare.atom_syntax import NotationError, abbreviate, explain_bad_name, parse_atom
from planner.language.declare.condition_reader import Conditions, Constraints, constraints_of, read_atom
from planner.language.declare.declared_names import Scope, Use, suggest_swap
from planner.language.declare.fields import Place, check_decimal, check_number, check_value, format_count, name_types
from planner.language.declare.known_numbers import require_knowledge, require_known, state_known
from planner.language.declare.marks import Condition, ObjectName, Patterns
from planner.language.declare.model_builder import open_all_arguments
from planner.language.declare.problem_timing import (
    Clock,
    Windows,
    merge_timed,
    read_capacity,
    read_deadline,
    read_due,
    read_start,
    read_timed,
    read_windows,
)
from planner.lightweight import replace
from planner.model.actions import Action, Literal, NumericEffect, has_open_argument
from planner.model.domain import (
    DomainModel,
    Function,
    Predicate,
    TypeHierarchy,
    cache_per_domain,
    measured_functions,
    resources_of,
)
from planner.model.formulas import (
    OPEN,
    Arithmetic,
    Atom,
    Expression,
    Formula,
    Not,
    Number,
    Object,
    comparisons_in,
    functions_in,
)
from planner.model.object_names import is_name, term_type
from planner.model.problem import COST, TOTAL_COST, Goal, Metric, NumericMetric, Problem, SoftGoal, seal
from planner.model.timing import TOTAL_TIME
from planner.model.unknown_facts import ROUNDING, find_hidden_variables
from planner.model.unknown_numbers import find_unread


def budgets_of(value: Any, domain: DomainModel, place: Place) -> dict[str, Number]:
    """Read budgets for the cost of a plan, and for its use of the resources that actions of `domain` use."""
    if not isinstance(value, Mapping):
        raise place.error(f"budgets are a mapping from resources to numbers, not {abbreviate(value)}")
    known = (COST, *resources_of(domain))
    found = {}
    for name, amount in value.items():
        here = place.within(name)
        if name not in known:
            near = did_you_mean(str(name), known) or f"there may be budgets of {', '.join(known)}"
            raise here.error(f"a budget of {abbreviate(name)}, which no action uses", near)
        found[name] = check_number(amount, f"the budget of {name}", here)
    return found


def _covers(pattern: Atom, other: Atom) -> bool:
    """Return whether `pattern` covers all that `other` does."""
    return pattern.matches(other) and all(
        mine == OPEN for mine, theirs in zip(pattern.args, other.args, strict=True) if theirs == OPEN
    )


def _read_probability(value: Any, fact: Atom, place: Place) -> Decimal:
    probability = check_decimal(value, f"the probability of {fact}", place)
    if not 0 < probability < 1:
        hint = "state what holds, and leave out what does not"
        raise place.error(f"the probability of {fact} is {probability}; it must be between 0 and 1", hint)
    return probability


MAKESPAN: Final = "makespan"
_TOTALS: Final = {Atom(MAKESPAN): TOTAL_TIME, Atom(COST): TOTAL_COST}
_VALUE: Final = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\Z")
_SOFT: Final = "give a tuple of SoftGoal(condition, utility); () where nothing is wished for"
GoalLike = Condition | Goal | Mapping[str, Any]
"""A condition, or `{"hard": condition, "soft": {condition: utility}}`."""
Facts = str | Atom | Iterable[str | Atom]


class ProblemBuilder:
    """Reads one problem and checks it against `domain`."""

    def __init__(self, domain: DomainModel, objects: Mapping[str, Object], place: Place) -> None:
        self._domain = domain
        self._place = place
        self._hierarchy = TypeHierarchy(domain.types)
        constants = {each.name: each for each in domain.constants}
        for name, each in objects.items():
            if name in constants:
                self._check_constant(constants[name], each)
        self._objects = {**constants, **objects}
        self._check_finished()
        self._given = tuple(objects.values())
        self._derived = domain.derived
        self._allowed: dict[str, tuple[frozenset[str], ...]] = {}
        self._members: dict[tuple[str, ...], frozenset[str]] = {}
        self._unmentioned: list[Atom] = []
        self._scope = Scope(
            "the problem",
            {},
            self._objects,
            creators=_find_created(domain),
            known_functions=domain.functions,
            places=self._find_places if any(map(term_type, self._objects)) else None,
        )
        self._conditions = Conditions(self._scope, domain.types)
        self._stated: list[tuple[Atom, Any, Place]] = []

    def _find_places(self, name: str) -> list[tuple[str, ...]]:
        """Return the types of the arguments of the predicate, function or action called `name`."""
        domain = self._domain
        declared = domain.predicates.get(name) or domain.functions.get(name) or domain.actions.get(name)
        return [] if declared is None else [each.types for each in declared.parameters]

    def _check_finished(self) -> None:
        """Raise where the domain's file leaves something to problems in PDDL, or names an object that is not there."""
        unfinished = self._domain.unfinished
        if unfinished.constraints or unfinished.preferences:
            what = "constraints" if unfinished.constraints else "preferences in preconditions"
            message = f"the file of the domain {self._domain.name!r} has {what}, which hold for problems in PDDL alone"
            raise self._place.error(message, "write the problem in PDDL")
        for name, (mention, *_) in unfinished.undeclared.items():
            if name not in self._objects:
                message = f"the domain names the object {name!r} at {mention.place}, and nothing declares it"
                raise self._place.error(message, "add it to the objects")

    def _check_constant(self, constant: Object, item: Object) -> None:
        if constant.types != item.types:
            given, known_as = name_types(item.types), name_types(constant.types)
            message = f"object {item.name!r} is {given}, but the domain has it as a constant of type {known_as}"
            raise self._place.within("objects", item.name).error(message)

    def build(
        self,
        name: str,
        initial: Facts,
        goal: GoalLike,
        *,
        values: Mapping[Any, Any],
        unknown: Patterns,
        metric: Metric | NumericMetric | str,
        resolution: Decimal | None,
        entities: Mapping[str, object],
        ran: Iterable[str] = (),
        likely: Mapping[Any, Any] | None = None,
        constraints: Constraints = (),
        budgets: Mapping[str, Any] | None = None,
        deadline: Any = None,
        timed: Any = None,
        windows: Any = None,
        due: Any = None,
        capacity: Any = None,
        starts_at: Any = None,
        objective: str | None = None,
    ) -> Problem:
        """Build the problem; raises an error for the first mistake."""
        if not is_name(name):
            raise self._place.error(*explain_bad_name(name, "a problem"))
        place = self._place
        with pause_collector():
            facts = self._read_facts(initial, place.within("initial"))
        clock = Clock(read_start(starts_at, place.within("starts_at")))
        opened = read_windows(windows, clock, self, place.within("windows")) if windows else Windows()
        facts = (*facts, *[fact for fact in opened.initial if fact not in facts])
        happening = read_timed(timed, clock, self, place.within("timed")) if timed else ()
        known = self._read_values(values, resolution, place.within("values"))
        hidden, unread = self._read_unknown(unknown, place.within("unknown"))
        found = Problem(
            name=name,
            domain=self._domain,
            objects=self._given,
            initial=facts,
            goal=self._read_goal(goal, place.within("goal")),
            values=self._merge_values(known, resolution),
            metric=self._read_objective(objective, metric, place),
            unknown=hidden,
            likely=self._read_likely(likely, hidden, frozenset(facts), place.within("likely")) if likely else {},
            constraints=constraints_of(constraints, self, place.within("constraints")) if constraints else (),
            budgets=budgets_of(budgets, self._domain, place.within("budgets")) if budgets else {},
            deadline=read_deadline(deadline, clock, place.within("deadline")),
            timed=merge_timed(happening, opened.timed) if opened.timed else happening,
            due=read_due(due, clock, self, place.within("due")) if due else (),
            capacity=read_capacity(capacity or {}, self._domain, place.within("capacity")),
            starts_at=clock.start,
            ran=self._read_ran(ran, place.within("ran")),
            entities=entities,
            unmentioned=tuple(self._unmentioned),
            past=opened.past,
        )
        if likely:
            self._check_likely(found, likely, place.within("likely"))
        found = state_known(found, unread)
        self._check_unread(found, place)
        return seal(found)

    def read_again(self, problem: Problem, fields: Collection[str]) -> Problem:
        """Read the texts in `fields` of `problem`, which no reader made, and look their names up.

        Raises `InputError` for a mistake.
        """
        found: dict[str, Any] = {}
        readers: dict[str, Callable[[Any, Place], Any]] = {
            "initial": self._read_facts,
            "goal": self._read_goal,
            "values": lambda values, place: self._read_values(values, None, place),
            "metric": self._read_metric,
            "unknown": lambda value, place: self._read_unknown(value, place)[0],
            "constraints": lambda value, place: constraints_of(value, self, place),
            "budgets": lambda value, place: budgets_of(value, self._domain, place),
            "deadline": lambda value, place: read_deadline(value, clock, place),
            "timed": lambda value, place: read_timed(value, clock, self, place),
            "due": lambda value, place: read_due(value, clock, self, place),
            "capacity": lambda value, place: read_capacity(value, self._domain, place),
            "starts_at": read_start,
            "ran": self._read_ran,
        }
        clock = Clock(read_start(problem.starts_at, self._place.within("starts_at")))
        for name in fields:
            if name in readers:
                found[name] = readers[name](getattr(problem, name), self._place.within(name))
        if "initial" in fields:
            found["unmentioned"] = (*problem.unmentioned, *self._unmentioned)
        known = replace(problem, **found)
        if "likely" in fields and problem.likely:
            place = self._place.within("likely")
            likely = self._read_likely(problem.likely, known.unknown, frozenset(known.initial), place)
            known = replace(known, likely=likely)
            self._check_likely(known, likely, place)
        return seal(known)

    def condition(self, value: Condition, place: Place) -> Formula:
        """Read a condition on the objects of the problem; raises an error at `place` for a mistake."""
        before = len(self._scope.uses)
        found = self._conditions.formula(value, place)
        self._check_uses(before)
        return require_known(found, self._domain)

    def changes(self, value: Any, place: Place) -> tuple[tuple[Literal, ...], tuple[NumericEffect, ...]]:
        """Read facts that become true or false, and numeric effects; raises an error at `place` for a mistake."""
        before = len(self._scope.uses)
        items = value if isinstance(value, list | tuple) else (value,)
        is_number = [isinstance(x, NumericEffect) or (isinstance(x, str) and is_numeric_effect(x)) for x in items]
        literals = self._conditions.literals(
            [x for x, number in zip(items, is_number, strict=True) if not number], place
        )
        _, numbers = self._conditions.changes([x for x, number in zip(items, is_number, strict=True) if number], place)
        self._check_uses(before)
        for literal in literals:
            atom = literal.part if isinstance(literal, Not) else literal
            if isinstance(atom, Atom) and atom.predicate in self._derived:
                raise place.error(f"{atom} is derived, and nothing else changes it", "change what it is derived from")
        return literals, numbers

    def pattern(self, value: Any, place: Place) -> Atom:
        """Read a fact whose arguments may be open; raises an error at `place` for a mistake."""
        facts, numbers = self._read_unknown((value,), place)
        if numbers:
            raise place.error(f"{numbers[0]} is a number, and only facts are likely")
        return facts[0]

    def instances(self, pattern: Atom) -> Iterator[Atom]:
        """Yield the facts that `pattern` covers."""
        columns = self._allowed.get(pattern.predicate) or self._find_columns(pattern.predicate)
        values = [sorted(column) if arg == OPEN else (arg,) for arg, column in zip(pattern.args, columns, strict=True)]
        return (Atom(pattern.predicate, row) for row in product(*values))

    def _read_likely(
        self, value: Any, unknown: Iterable[Atom], stated: Container[Atom], place: Place
    ) -> dict[Atom, Decimal]:
        """Read the probabilities of facts that a pattern of `unknown` covers.

        In `value`, a pattern gives the probability of all facts that it covers, except those that are `stated` or have
        a probability of their own.
        """
        if not isinstance(value, Mapping):
            raise place.error(f"'likely' is a mapping from unknown facts to probabilities, not {abbreviate(value)}")
        by_pattern: dict[Atom, Decimal] = {}
        by_name: dict[Atom, Decimal] = {}
        for key, chance in value.items():
            here = place.within(key) if isinstance(key, str) else place
            pattern = self.pattern(key, here)
            probability = _read_probability(chance, pattern, here)
            if not any(_covers(each, pattern) for each in unknown):
                cover = Atom(pattern.predicate, (OPEN,) * len(pattern.args))
                hint = f"add it, or a pattern that covers it, to unknown: '{cover}'"
                raise here.error(f"{pattern} is said to be likely, but is not declared unknown", hint)
            found = by_pattern if has_open_argument(pattern) else by_name
            for fact in self.instances(pattern):
                if fact in found:
                    raise here.error(f"{fact} has two probabilities")
                if fact not in stated:
                    found[fact] = probability
                elif found is by_name:
                    raise here.error(f"{fact} is said to be likely, but is stated to hold", "leave out one of them")
        return by_pattern | by_name

    def _check_likely(self, problem: Problem, value: Mapping[Any, Any], place: Place) -> None:
        """Raise an error where the probabilities in `value` of facts of which only one can hold sum to more than 1."""
        for variable in find_hidden_variables(problem):
            stated = [fact for fact in variable.facts if fact in problem.likely]
            total = sum([Fraction(problem.likely[fact]) for fact in stated], Fraction(0))
            if total > 1 + ROUNDING:
                keys = [key for key in value if any(self.pattern(key, place).matches(fact) for fact in stated)]
                here = place.within(keys[-1]) if isinstance(keys[-1], str) else place
                listed = ", ".join(map(str, stated))
                message = f"only one of {listed} can hold, and their probabilities sum to {float(total):g}"
                raise here.error(message, "let them sum to 1 at most")

    def step(self, pattern: Atom, place: Place) -> Atom:
        """Resolve a pattern of steps: an action with objects, or `_` for any; its name alone leaves all open."""
        action = self._domain.actions.get(pattern.predicate)
        if action is not None and not pattern.args:
            return open_all_arguments(pattern, self._domain.actions)
        return self._resolve_term(pattern, self._domain.actions, "action", place, may_open=True)

    def _read_facts(self, initial: Facts, place: Place) -> tuple[Atom, ...]:
        if isinstance(initial, str | Atom):
            initial = (initial,)
        if not isinstance(initial, Iterable):
            raise place.error(f"{abbreviate(initial)} are no facts", "give a list of atoms")
        allowed, derived = self._allowed, self._derived
        found = []
        self._unmentioned.clear()
        for index, item in enumerate(initial):
            try:
                fact = parse_atom(item) if isinstance(item, str) else item
                columns = allowed.get(fact.predicate) or self._find_columns(fact.predicate)
                args = fact.args
                fits = len(columns) == len(args) and all(map(frozenset.__contains__, columns, args))
            except (NotationError, KeyError, AttributeError, TypeError):
                fits = False
            if fits and fact.predicate not in derived:
                found.append(_make_plain(fact))
            elif self._is_value(item, place.within(index)):
                continue
            elif not self._is_unmentioned(item):
                found.append(self._read_fact(item, place.within(index)))
        return tuple(found)

    def _is_value(self, item: Any, place: Place) -> bool:
        """Return whether `item` states the value of a function, as in `fuel(r2) = 40`; keep the value then."""
        if not isinstance(item, str) or "=" not in item:
            return False
        left, _, right = item.rpartition("=")
        left, number = left.removesuffix("="), right.strip()
        if left.rstrip()[-1:] in ("<", ">", "!", ":") or not _VALUE.match(number):
            return False
        self._stated.append((read_atom(left.strip(), place, "function term", "name(object, …)"), number, place))
        return True

    def _merge_values(self, known: dict[Atom, Number], resolution: Decimal | None) -> dict[Atom, Number]:
        """Return the values in `known`, and those that initial facts state; check them against bounds."""
        for written, number, place in self._stated:
            term = self._resolve_term(written, self._domain.functions, "function", place)
            if term in known:
                raise place.error(f"{term} has two values")
            known[term] = check_value(number, f"the value of {term}", place, resolution)
            self._check_bounds(term, known[term], place)
        self._stated.clear()
        return known

    def _check_bounds(self, term: Atom, value: Number, place: Place) -> None:
        function = self._domain.functions[term.predicate]
        for relation, bound, fits in (
            ("at least", function.low, function.low is None or value >= function.low),
            ("at most", function.high, function.high is None or value <= function.high),
        ):
            if not fits:
                raise place.error(f"{term} is {value} initially, but it is {relation} {bound}")
        if value < 0:
            self._refuse_negative(term, value, place)

    def _refuse_negative(self, term: Atom, value: Number, place: Place) -> None:
        """Raise an error if `term` is what an action costs or uses."""
        for action in self._domain.actions.values():
            amounts = {"cost": action.cost, **{f"use of {name}": each for name, each in action.uses.items()}}
            for what, terms in amounts.items():
                if any(isinstance(each, Atom) and each.predicate == term.predicate for each in terms):
                    message = (
                        f"{term} is {value}, and it is the {what} of action {action.name!r}: that is never negative"
                    )
                    hint = "state 0 or more; what a step yields is a soft goal, or part of the metric"
                    raise place.error(message, hint)

    def _read_metric(self, value: Any, place: Place) -> Metric | NumericMetric:
        if isinstance(value, Metric):
            return value
        if isinstance(value, NumericMetric):
            return self._resolve_metric(value, place, bare=False)
        known: dict[str, Metric | NumericMetric] = {each.name.lower(): each for each in Metric}
        known[MAKESPAN] = NumericMetric(TOTAL_TIME)
        if isinstance(value, str) and value in known:
            return known[value]
        if isinstance(value, str) and value.split()[:1] in (["minimize"], ["maximize"]):
            try:
                expression = parse_arithmetic(value.strip()[len("minimize") :])
            except NotationError as mistake:
                raise place.error(mistake.problem, mistake.hint) from None
            named = NumericMetric(self._name_totals(expression), value.split()[0] == "maximize")
            return self._resolve_metric(named, place, bare=True)
        near = did_you_mean(str(value), (*known, "minimize", "maximize"))
        hint = near or "it is 'cost', 'length', 'makespan', or an expression: 'minimize fuel-used + 2 * total-cost'"
        raise place.error(f"unknown metric {abbreviate(value)}", hint)

    def _read_objective(self, objective: Any, metric: Any, place: Place) -> Metric | NumericMetric:
        """Read what plans are compared by: `objective`, which is to be least, or else the metric."""
        if objective is None:
            return self._read_metric(metric, place.within("metric"))
        here = place.within("objective")
        if metric not in (Metric.COST, "cost"):
            raise here.error("the problem has an objective and a metric", "say one of them")
        if not isinstance(objective, str):
            hint = "write 'makespan', or a sum such as '4 * makespan + cost'"
            raise here.error(f"{abbreviate(objective)} is no objective", hint)
        if objective.strip() in ("cost", "length"):
            return self._read_metric(objective.strip(), here)
        return self._read_metric(f"minimize {objective.strip()}", here)

    def _name_totals(self, expression: Expression) -> Expression:
        """Replace `makespan` and `cost` by the makespan and the cost of a plan, unless functions have these names."""
        if isinstance(expression, Arithmetic):
            return replace(expression, operands=tuple(map(self._name_totals, expression.operands)))
        if isinstance(expression, Atom) and expression.predicate not in self._domain.functions:
            return _TOTALS.get(expression, expression)
        return expression

    def _resolve_metric(self, metric: NumericMetric, place: Place, *, bare: bool) -> NumericMetric:
        before = len(self._scope.functions)
        expression = self._scope.expression(metric.expression, place, bare=bare)
        for use in self._scope.functions[before:]:
            if use.atom not in (TOTAL_COST, TOTAL_TIME) or use.atom.predicate in self._domain.functions:
                self._check_function(use, [each.predicate for each in _TOTALS])
        del self._scope.functions[before:]
        return replace(metric, expression=expression)

    def _is_unmentioned(self, item: Any) -> bool:
        """Return whether the domain has nothing with the name of a fact, or a similar one; keep the fact then.

        Names of actions that are only similar do not count: no fact is a misspelt action, and none would be suggested.
        """
        try:
            fact = parse_atom(item) if isinstance(item, str) else item
        except NotationError:
            return False
        known = {**self._domain.predicates, **self._domain.functions}
        if not isinstance(fact, Atom) or fact.predicate in (known.keys() | self._domain.actions.keys()):
            return False
        if did_you_mean(fact.predicate, known):
            return False
        if any(isinstance(each, str) and each.startswith("?") for each in fact.args):
            return False
        self._unmentioned.append(fact)
        return True

    def _find_columns(self, predicate: str) -> tuple[frozenset[str], ...]:
        """Return, for each parameter of `predicate`, the objects that may stand there."""
        parameters = self._domain.predicates[predicate].parameters
        columns = tuple([self._members_of(parameter.types) for parameter in parameters])
        self._allowed[predicate] = columns
        return columns

    def _members_of(self, types: tuple[str, ...]) -> frozenset[str]:
        if types not in self._members:
            is_a = self._hierarchy.is_a
            self._members[types] = frozenset(name for name, each in self._objects.items() if is_a(each.types, types))
        return self._members[types]

    def _read_fact(self, item: Any, place: Place) -> Atom:
        """Read a fact that the fast path refused: one in PDDL notation, or a mistake."""
        formula = self._conditions.formula((item,), place)
        if isinstance(formula, Not):
            message = f"{abbreviate(str(formula))} is stated as a fact"
            raise place.error(message, "leave it out: what is not stated is false")
        if not isinstance(formula, Atom):
            raise place.error(f"a fact is an atom, not {abbreviate(str(formula))}")
        self._check_use(self._scope.uses[-1])
        if formula.predicate in self._derived:
            raise place.error(f"{formula} is derived and cannot be stated", "state what it is derived from")
        return formula

    def _find_mismatch(
        self,
        atom: Atom,
        types: list[tuple[str, ...] | None],
        declared: Predicate | Function | Action,
        kind: str,
        place: Place,
    ) -> InputError | None:
        if len(atom.args) != len(declared.parameters):
            wanted = format_count(len(declared.parameters))
            message = f"{atom} gives {kind} {atom.predicate!r} {format_count(len(atom.args))}; it takes {wanted}"
            return place.error(message)
        for arg, given, parameter in zip(atom.args, types, declared.parameters, strict=True):
            if given is not None and not self._is_related(given, parameter.types, arg):
                return place.error(
                    f"{arg!r} in {atom} is {name_types(given)}, but {kind} {atom.predicate!r} "
                    f"takes {name_types(parameter.types)} there",
                    suggest_swap(
                        Use(atom, tuple(types), place),
                        [each.types for each in declared.parameters],
                        self._hierarchy.is_a,
                    ),
                )
        return None

    def _is_related(self, given: tuple[str, ...], wanted: tuple[str, ...], arg: str) -> bool:
        """Return whether an object is of a wanted type, or a quantified variable may be."""
        is_a = self._hierarchy.is_a
        if is_a(given, wanted) or not arg.startswith("?"):
            return is_a(given, wanted)
        return is_a(wanted, given) or any(is_a((each,), given) and is_a((each,), wanted) for each in self._domain.types)

    def _check_uses(self, start: int = 0) -> None:
        for use in self._scope.uses[start:]:
            self._check_use(use)
        for use in self._scope.functions:
            self._check_function(use)
        self._scope.functions.clear()

    def _check_function(self, use: Use, totals: Iterable[str] = ()) -> None:
        name, known = use.atom.predicate, self._domain.functions
        if name not in known:
            near = did_you_mean(name, (*known, *totals)) or "declare or use it there"
            raise use.place.error(f"{use.atom}: domain {self._domain.name!r} has no function {name!r}", near)
        mismatch = self._find_mismatch(use.atom, list(use.types), known[name], "function", use.place)
        if mismatch:
            raise mismatch

    def _check_use(self, use: Use) -> None:
        name = use.atom.predicate
        predicate = self._domain.predicates.get(name)
        if predicate is None:
            known = (*self._domain.predicates, *self._domain.functions)
            near = did_you_mean(name, known) or "declare or use it there"
            if name in self._domain.functions:
                near = f"it is a function: say what its value is, as in '{use.atom} == 1'"
            raise use.place.error(f"{use.atom}: domain {self._domain.name!r} has no predicate {name!r}", near)
        mismatch = self._find_mismatch(use.atom, list(use.types), predicate, "predicate", use.place)
        if mismatch:
            raise mismatch

    def _read_goal(self, value: GoalLike, place: Place) -> Goal:
        hard, wishes = _split_goal(value, place)
        hard_place = place.within("hard") if isinstance(value, Mapping) else place
        hard = self._conditions.formula(hard, hard_place)
        soft = tuple([self._read_soft_goal(each, utility, place.within("soft")) for each, utility in wishes])
        self._check_uses()
        soft = tuple([replace(each, condition=require_knowledge(each.condition, self._domain)) for each in soft])
        return Goal(require_knowledge(hard, self._domain), soft)

    def _read_soft_goal(self, condition: Any, utility: Any, place: Place) -> SoftGoal:
        here = place.within(condition) if isinstance(condition, str) else place
        if condition is None:
            raise here.error("the condition of a soft goal is None", "say what is wished for")
        gain = check_number(utility, "the utility of a soft goal", here)
        if gain == 0:
            raise here.error("the utility of a soft goal is 0; it must be above 0")
        return SoftGoal(self._conditions.formula(condition, here), gain)

    def _read_values(self, values: Mapping[Any, Any], resolution: Decimal | None, place: Place) -> dict[Atom, Number]:
        if not isinstance(values, Mapping):
            raise place.error(f"values are a mapping from function terms to numbers, not {abbreviate(values)}")
        found = {}
        for key, value in values.items():
            here = place.within(key) if isinstance(key, str) else place
            written = read_atom(key, here, "function term", "name(object, …)")
            term = self._resolve_term(written, self._domain.functions, "function", here)
            if term in found:
                raise here.error(f"{term} has two values")
            found[term] = check_value(value, f"the value of {term}", here, resolution)
            self._check_bounds(term, found[term], here)
        return found

    def _read_unknown(self, value: Patterns, place: Place) -> tuple[tuple[Atom, ...], tuple[Atom, ...]]:
        """Read what is unknown: patterns of facts, and patterns of functions."""
        before, functions = len(self._scope.uses), self._domain.functions
        found = self._conditions.patterns(value, place)
        uses = self._scope.uses[before:]
        self._scope.uses[before:] = [each for each in uses if each.atom.predicate not in functions]
        self._scope.functions.extend([each for each in uses if each.atom.predicate in functions])
        self._check_uses(before)
        for pattern in found:
            if pattern.predicate in self._derived:
                raise place.error(f"{pattern} is derived and cannot be unknown", "say what it is derived from")
            if pattern.predicate in functions and pattern.predicate not in measured_functions(self._domain):
                hint = f"add senses={[str(pattern)]} to the action that tells it"
                raise place.error(f"{pattern} is unknown, and no action senses {pattern.predicate!r}", hint)
        facts = tuple([each for each in found if each.predicate not in functions])
        return facts, tuple([each for each in found if each.predicate in functions])

    def _check_unread(self, problem: Problem, place: Place) -> None:
        """Raise an error where a constraint or the metric of `problem` reads a number that is unknown."""
        unread = find_unread(problem)
        conditions = [condition for each in problem.constraints for condition in each.conditions]
        compared = [term for each in conditions for part in comparisons_in(each) for term in part.functions]
        metric = functions_in(problem.metric.expression) if isinstance(problem.metric, NumericMetric) else ()
        for what, terms, field in (("a constraint", compared, "constraints"), ("the metric", metric, "metric")):
            names = {term.predicate for term in terms} if unread else set()
            wrong = next((each for each in unread if each.predicate in names), None)
            if wrong is not None:
                hint = "state what is known, or demand it by the goal and the actions that need it"
                raise place.within(field).error(f"{what} reads {wrong}, which is unknown", hint)

    def _read_ran(self, value: Any, place: Place) -> tuple[Atom, ...]:
        if isinstance(value, str | Atom) or not isinstance(value, Iterable):
            message = f"{abbreviate(value)} is no list of actions"
            raise place.error(message, "give those that have run: ['name(object, …)', …]")
        actions = [read_atom(each, place, "action", "'name(object, …)'") for each in value]
        return tuple([self._resolve_term(each, self._domain.actions, "action", place) for each in actions])

    def _resolve_term(
        self, term: Atom, known: Mapping[str, Any], kind: str, place: Place, *, may_open: bool = False
    ) -> Atom:
        """Resolve `term` of a function or action among those `known`, and check the types of its objects."""
        name = term.predicate
        if name not in known:
            raise place.error(f"{term}: domain {self._domain.name!r} has no {kind} {name!r}", did_you_mean(name, known))
        term = self._scope.atom(term, place, bare=False, may_open=may_open, record=False)
        mismatch = self._find_mismatch(term, [self._scope.types_of(arg) for arg in term.args], known[name], kind, place)
        if mismatch:
            raise mismatch
        return term


@cache_per_domain
def _find_created(domain: DomainModel) -> dict[str, str]:
    """Return the names that actions give to objects that they create, with the types."""
    return {name.removeprefix("?"): kind for action in domain.actions.values() for name, kind in action.creates.items()}


def _split_goal(value: GoalLike, place: Place) -> tuple[Any, list[tuple[Any, Any]]]:
    """Return the hard goal and the soft ones, as (condition, utility)."""
    if value is None:
        raise place.error("None is no goal", "write a condition; one that always holds is ()")
    if isinstance(value, Goal):
        if value.hard is None:
            raise place.error("the condition of the goal is None", "write a condition; one that always holds is TRUE")
        return value.hard, [(each.condition, each.utility) for each in _check_soft_goals(value.soft, place)]
    if not isinstance(value, Mapping):
        return value, []
    for key in value:
        if key not in ("hard", "soft"):
            raise place.error(f"a goal has no part {abbreviate(key)}", did_you_mean(str(key), ("hard", "soft")))
    soft = value.get("soft") or {}
    pairs = list(soft.items()) if isinstance(soft, Mapping) else soft
    if not isinstance(pairs, list) or not all(isinstance(each, tuple) and len(each) == 2 for each in pairs):
        raise place.error(f"soft goals are a mapping from conditions to utilities, not {abbreviate(soft)}")
    return value.get("hard"), pairs


def _check_soft_goals(given: Any, place: Place) -> tuple[SoftGoal, ...]:
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise place.error(f"{abbreviate(given)} is no tuple of soft goals", _SOFT)
    found = tuple(given)
    for each in found:
        if not isinstance(each, SoftGoal):
            raise place.error(f"{abbreviate(each)} is no soft goal", _SOFT)
    return found


def _make_plain(fact: Atom) -> Atom:
    """Return `fact` with arguments that are plain strings."""
    if all(type(arg) is str for arg in fact.args):
        return fact
    return Atom(fact.predicate, tuple([str(arg) if isinstance(arg, ObjectName) else arg for arg in fact.args]))
