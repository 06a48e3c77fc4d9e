"""Facts for comparisons: a classical problem that says which actions may make which comparison hold.

A fact `@holds:k(…)` says that comparison k holds. An action whose effect moves a fluent in the right direction provides
it, if the ranges of values allow it at all: those instances are static facts `@reach:k(…)`. What is unreachable in this
problem is unreachable with numbers (as in qualitative numeric planning: Srivastava, Zilberstein, Immerman and Geffner,
2011).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import product

from planner.compilations.number_abstraction import (
    HOLDS,
    REACH,
    Change,
    NumberAbstraction,
    Requirement,
    abstract_numbers,
)
from planner.errors import UnsupportedError
from planner.explain.near_misses import Words, atom_of
from planner.grounding.value_ranges import ValueRanges
from planner.language.pddl.number_bounds import require_bounds
from planner.model.actions import Action, Literal, NumericEffect, When
from planner.model.arithmetic import show_number
from planner.model.domain import Predicate, TypeHierarchy, numeric_effects, numeric_fluents
from planner.model.formulas import (
    RELATIONS,
    TRUE,
    Arithmetic,
    Atom,
    Comparison,
    Equals,
    Expression,
    Formula,
    Not,
    Term,
    Variable,
    children,
    conjunction,
    conjuncts,
    functions_in,
    is_variable,
    with_children,
    with_conjuncts,
)
from planner.model.object_names import protect_quoted
from planner.model.problem import Problem
from planner.semantics.numeric_state import Values


class ComparisonFacts(Words):
    """The classical `problem` of `source`, and what its facts `@holds:k(…)` and `@reach:k(…)` mean."""

    def __init__(self, source: Problem, requirements: Mapping[str, Requirement]) -> None:
        super().__init__(source.domain)
        self.source = source
        self.problem = source
        self.requirements = requirements
        self.ranges = ValueRanges(source)
        self.values = Values.of(source)

    def comparison_of(self, atom: Atom) -> Comparison | None:
        """Return the comparison that an atom stands for; None where it stands for none."""
        wanted = self.requirements.get(atom.predicate.replace(REACH, HOLDS, 1))
        if wanted is None:
            return None
        return wanted.comparison.substitute(dict(zip(wanted.parameters, atom.args, strict=True)))

    def sign(self, expression: Expression) -> int:
        """Return 1 or -1 where no value of `expression` is below or above 0, and 0 where that is not known."""
        interval = self.ranges.evaluate(expression)
        if interval is None:
            return 0
        return 1 if interval.low >= 0 else -1 if interval.high <= 0 else 0

    def slopes_of(self, comparison: Comparison) -> Iterator[tuple[Atom, int]]:
        """Yield the functions of a comparison, with 1 if greater values help, -1 if lesser ones do, 0 if either may."""
        up = 0 if comparison.relation == "=" else 1 if comparison.relation in (">", ">=") else -1
        for side, factor in ((comparison.left, up), (comparison.right, -up)):
            yield from ((term, slope * factor) for term, slope in self._slopes(side))

    def _slopes(self, expression: Expression) -> Iterator[tuple[Atom, int]]:
        match expression:
            case Atom():
                yield expression, 1
            case Arithmetic(operator, operands):
                for place, operand in enumerate(operands):
                    if operator in "+-":
                        sign = -1 if operator == "-" and (place or len(operands) == 1) else 1
                    elif operator == "/" and place:
                        sign = 0
                    else:
                        sign = 1
                        for other in [*operands[:place], *operands[place + 1 :]]:
                            sign *= self.sign(other)
                    yield from ((term, slope * sign) for term, slope in self._slopes(operand))

    def literal(self, literal: Literal) -> str:
        """Return `literal` as text: a comparison with the values that it has at the start, or with their ranges."""
        atom = atom_of(literal)
        comparison = self.comparison_of(atom)
        if comparison is None:
            return super().literal(literal)
        terms = list(dict.fromkeys(comparison.functions))
        if atom.predicate.startswith(REACH):
            ranges = [(term, self.ranges.evaluate(term)) for term in terms]
            stays = [f"{term} " + (f"stays {each}" if each is not None else "has no value") for term, each in ranges]
            return f"{comparison} within the bounds ({' and '.join(stays)})"
        known = [f"{term} is {show_number(self.values.get((term.predicate, term.args)))}" for term in terms]
        has = f" ({' and '.join(known)})" if known else ""
        return f"{'not ' if isinstance(literal, Not) else ''}{comparison}{has}"

    def formula(self, formula: Formula) -> str:
        """Return a part of the goal as it was declared."""
        return str(self._restore(formula))

    def _restore(self, formula: Formula) -> Formula:
        if isinstance(formula, Atom):
            return self.comparison_of(formula) or formula
        parts = children(formula)
        return with_children(formula, tuple(map(self._restore, parts))) if parts else formula

    def effects(self, action: Action, label: str, literal: Literal) -> tuple[str, ...]:
        """Return the effects of a step on the functions in the comparison of `literal`."""
        comparison = self.comparison_of(atom_of(literal))
        if comparison is None:
            return ()
        plain, terms = protect_quoted(label)
        arguments = [terms.get(each, each) for each in plain[len(action.name) + 1 : -1].split(", ")]
        binding = dict(zip([each.name for each in action.parameters], arguments, strict=False))
        effects = [effect.substitute(binding) for effect in numeric_effects(self.source.domain.actions[action.name])]
        return tuple(dict.fromkeys(self._write(each) for each in effects if each.fluent in comparison.functions))

    def _write(self, effect: NumericEffect) -> str:
        """Return an effect as text, with its amount where that is static."""
        changing = numeric_fluents(self.source.domain)
        is_static = not any(each.predicate in changing for each in functions_in(effect.value))
        amount = self.values.evaluate(effect.value) if is_static else None
        return str(effect) if amount is None else f"{effect.fluent} {effect.operator} {show_number(amount)}"


def compile_comparisons(problem: Problem) -> ComparisonFacts:
    """Return the classical problem in which comparisons are facts."""
    abstraction = abstract_numbers(_require_bounds(problem), positive=True)
    found = ComparisonFacts(problem, abstraction.requirements)
    writer = _Writer(abstraction, found)
    initial: list[Atom] = []
    predicates = dict(abstraction.problem.domain.predicates)
    for name, wanted in abstraction.requirements.items():
        predicates[_reach(name)] = replace(predicates[name], name=_reach(name))
        holding, possible = writer.instances(name, wanted)
        initial += [*holding, *possible]
    actions = {name: writer.action(each) for name, each in abstraction.problem.domain.actions.items()}
    domain = replace(
        abstraction.problem.domain,
        actions=actions,
        predicates={name: each for name, each in predicates.items() if name not in abstraction.changes},
    )
    classical = abstraction.problem
    found.problem = replace(classical, domain=domain, initial=(*classical.initial, *initial), seal=())
    return found


def _require_bounds(problem: Problem) -> Problem:
    """Make the bounds conditions of the actions, without those that no condition says, and each condition once."""
    domain, actions = problem.domain, dict(problem.domain.actions)
    for name, action in actions.items():
        alone = replace(problem, domain=replace(domain, actions={name: action}))
        with suppress(UnsupportedError):
            actions[name] = require_bounds(alone).domain.actions[name]
        parts = dict.fromkeys(map(_move_right, conjuncts(actions[name].requires)))
        actions[name] = replace(actions[name], requires=conjunction(parts))
    return replace(problem, domain=replace(domain, actions=actions))


def _move_right(part: Formula) -> Formula:
    """Write `f - x >= 0` as `f >= x`."""
    match part:
        case Comparison(Arithmetic("-", (fluent, amount)), ">=", 0):
            return Comparison(fluent, ">=", amount)
    return part


def _reach(name: str) -> str:
    return name.replace(HOLDS, REACH, 1)


class _Writer:
    """Lets actions provide the comparisons that their numeric effects may make hold."""

    def __init__(self, abstraction: NumberAbstraction, found: ComparisonFacts) -> None:
        self._changes: Mapping[str, Change] = abstraction.changes
        self._found = found
        self._predicates: Mapping[str, Predicate] = abstraction.problem.domain.predicates
        self._types = TypeHierarchy(found.source.domain.types).objects_by_type(found.source.all_objects)
        self._directions: dict[NumericEffect, int] = {}

    def instances(self, name: str, wanted: Requirement) -> tuple[list[Atom], list[Atom]]:
        """Return the facts of comparisons that hold initially, and those that changes of values may make hold."""
        holding, possible = [], []
        fluents = {change.effect.fluent.predicate for change in self._changes.values()}
        changes = any(term.predicate in fluents for term in wanted.comparison.functions)
        tested = wanted.comparison
        if wanted.negated:
            tested = replace(tested, relation=RELATIONS[tested.relation])
        for binding in self._bindings(name, wanted):
            args = tuple([binding[each] for each in wanted.parameters])
            if self._found.values.compare(tested, binding) is not wanted.negated:
                holding.append(Atom(name, args))
            if changes and self._found.ranges.may(wanted.comparison, binding):
                possible.append(Atom(_reach(name), args))
        return holding, possible

    def _bindings(self, name: str, wanted: Requirement) -> Iterator[Mapping[Term, Term]]:
        if not wanted.negated:
            yield from self._found.ranges.bindings(wanted.comparison.functions)
            return
        kinds = self._predicates[name].parameters
        members = [[each for kind in variable.types for each in self._types.get(kind, ())] for variable in kinds]
        for args in product(*members):
            yield dict(zip(wanted.parameters, args, strict=True))

    def action(self, action: Action) -> Action:
        """Return `action` with the comparisons that it may make hold."""
        provides, extra = self._split(action.provides, TRUE, ())
        when: list[When] = []
        for each in action.when:
            kept, more = self._split(each.provides, each.requires, each.variables)
            when += [replace(each, provides=kept), *more]
        return replace(action, provides=provides, when=(*when, *extra))

    def _split(
        self,
        provides: tuple[Literal, ...],
        requires: Formula,
        variables: tuple[Variable, ...],
    ) -> tuple[tuple[Literal, ...], list[When]]:
        kept: list[Literal] = []
        extra: list[When] = []
        for literal in provides:
            change = self._changes.get(literal.predicate) if isinstance(literal, Atom) else None
            if change is None:
                kept.append(literal)
                continue
            for name, wanted in self._found.requirements.items():
                for term, slope in self._found.slopes_of(wanted.comparison):
                    if term.predicate == change.effect.fluent.predicate and self._helps(change.effect, slope):
                        made = self._provide(name, term, change.effect.fluent, When(requires, variables=variables))
                        extra += [made] if made is not None and made not in extra else []
        return tuple(kept), extra

    def _provide(self, name: str, term: Atom, fluent: Atom, when: When) -> When | None:
        """Return the effect that a change of `fluent`, as by `when`, makes comparisons hold in which it is `term`."""
        wanted = self._found.requirements[name]
        parameters = {each.name: each for each in self._predicates[name].parameters}
        binding: dict[Term, Term] = {}
        equal: list[Equals] = []
        for mine, other in zip(term.args, fluent.args, strict=True):
            expected = binding.setdefault(mine, other) if is_variable(mine) else mine
            if expected != other:
                if not is_variable(expected) and not is_variable(other):
                    return None
                equal.append(Equals(expected, other))
        free = [each for each in wanted.parameters if each not in binding]
        renamed = {each: f"{each}@free" for each in free}
        args = tuple([binding.get(each) or renamed[each] for each in wanted.parameters])
        new = tuple([Variable(renamed[each], parameters[each].types) for each in free])
        condition = with_conjuncts(when.requires, *equal, Atom(_reach(name), args))
        return When(condition, (Atom(name, args),), variables=(*when.variables, *new))

    def _helps(self, effect: NumericEffect, slope: int) -> bool:
        """Return whether `effect` may raise its fluent, or lower it where `slope` is negative; 0 is either."""
        if effect not in self._directions:
            self._directions[effect] = self._direction(effect)
        direction = self._directions[effect]
        return not slope or not direction or slope == direction

    def _direction(self, effect: NumericEffect) -> int:
        if not effect.is_additive:
            return 0
        sign = self._found.sign(effect.value)
        return sign if effect.operator == "+=" else -sign
