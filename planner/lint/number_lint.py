"""Lint numbers: comparisons that never or always hold, effects that break bounds, functions that nobody uses or moves.

Of a domain alone, only the declared bounds are known. Of a problem, the ranges that no sum of effects leaves are known.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from planner.grounding.value_ranges import ANY, UNBOUNDED, Interval, ValueRanges, combine
from planner.lint.findings import Finding, Level
from planner.lint.guard_lint import check_guards, check_ranges, sign_of
from planner.model.actions import Action, NumericEffect
from planner.model.arithmetic import exact_value, show_number
from planner.model.domain import DomainModel, Function, amounts_of, numeric_effects, numeric_fluents
from planner.model.formulas import (
    Arithmetic,
    Atom,
    Comparison,
    Expression,
    Formula,
    Not,
    children,
    comparisons_in,
    conjuncts,
    functions_in,
    unmarked,
)
from planner.model.problem import TOTAL_COST, NumericMetric, Problem


def check_numbers(domain: DomainModel, problem: Problem | None) -> Iterator[Finding]:
    """Yield the findings about the numbers of `domain`; what its `problem` reads counts, if given."""
    for place, condition in _conditions(domain):
        yield from _check_constant(place, condition, domain)
    for action in domain.actions.values():
        yield from _check_bounds(action, domain)
    guarded = list(check_guards(domain))
    yield from guarded
    yield from check_ranges(domain, problem)
    yield from _check_functions(domain, problem, {str(each.part).partition("(")[0] for each in guarded})
    if problem is not None:
        yield from _check_amounts(problem)


def _check_amounts(problem: Problem) -> Iterator[Finding]:
    """Yield the values below 0 of a static function that an effect subtracts, or adds, where others are above it."""
    changing = numeric_fluents(problem.domain)
    sizes = Counter(term.predicate for term in problem.values)
    below: dict[str, list[Atom]] = defaultdict(list)
    for term, value in problem.values.items():
        if value < 0:
            below[term.predicate].append(term)
    for action in problem.domain.actions.values():
        for effect in numeric_effects(action):
            for name in {term.predicate for term in functions_in(effect.value)} - changing if sign_of(effect) else ():
                if 2 * len(below[name]) > sizes[name]:
                    continue
                way = "raises" if effect.operator == "-=" else "lowers"
                for term in below.pop(name):
                    written = unmarked(effect)
                    message = f"{term} is {problem.values[term]}, so that '{written}' of action {action.name} {way} it"
                    hint = "other values of the function are above 0: is the sign meant?"
                    yield Finding(Level.HINT, "wrong-sign", "values", message, hint, part=term)


def _conditions(domain: DomainModel) -> Iterator[tuple[str, Formula]]:
    for action in domain.actions.values():
        yield f"action {action.name}", action.requires
        yield from ((f"action {action.name}", when.requires) for when in action.when)
    for axiom in domain.axioms:
        yield f"derived predicate {axiom.predicate}", axiom.condition


def _check_constant(place: str, condition: Formula, domain: DomainModel) -> Iterator[Finding]:
    """Yield the comparisons that hold always or never, as far as the bounds of functions tell."""
    for comparison in dict.fromkeys(comparisons_in(condition)):
        left, right = (_declared_range(side, domain) for side in (comparison.left, comparison.right))
        written = unmarked(comparison)
        same = comparison.left == comparison.right
        bounds = "" if same else _describe_bounds(comparison, domain)
        if left.must(comparison.relation, right) or (same and "=" in comparison.relation):
            message = f"{written} always holds{bounds}"
            hint, part = "leave it out, or look at the numbers", _first_function(comparison)
            yield Finding(Level.HINT, "constant-comparison", place, message, hint, "requires", part)
        elif not left.may(comparison.relation, right) or same:
            message, part = f"{written} never holds{bounds}", _first_function(comparison)
            yield Finding(Level.WARNING, "constant-comparison", place, message, field="requires", part=part)


def _first_function(comparison: Comparison) -> str:
    """Return the name of the first function in `comparison`, "" where it has none."""
    return next((term.predicate for term in comparison.functions), "")


def _declared_range(expression: Expression, domain: DomainModel) -> Interval:
    """Return the interval of `expression` by the declared bounds of functions."""
    match expression:
        case Atom(name):
            return _bounds_of(domain.functions.get(name))
        case Arithmetic(operator, operands):
            return combine(operator, [_declared_range(each, domain) for each in operands])
        case _:
            value = exact_value(expression)
            return Interval(value, value)


def _bounds_of(function: Function | None) -> Interval:
    if function is None:
        return ANY
    low = -UNBOUNDED if function.low is None else exact_value(function.low)
    return Interval(low, UNBOUNDED if function.high is None else exact_value(function.high))


def _describe_bounds(comparison: Comparison, domain: DomainModel) -> str:
    names = dict.fromkeys(term.predicate for term in comparison.functions)
    known = [f"{name} is {_bounds_of(domain.functions.get(name))}" for name in names]
    return f", as {' and '.join(known)}" if known else ""


def _check_bounds(action: Action, domain: DomainModel) -> Iterator[Finding]:
    """Yield the effects that lead out of the bounds of their fluent from every value within them."""
    effects = list(dict.fromkeys(numeric_effects(action)))
    for effect in effects:
        bounds = _bounds_of(domain.functions.get(effect.fluent.predicate))
        alone = sum(other.fluent.predicate == effect.fluent.predicate for other in effects) == 1
        after = _declared_range(effect.value, domain)
        if effect.operator != ":=":
            after = combine(effect.operator[0], [bounds, after])
        if alone and bounds != ANY and not bounds.may("=", after):
            message = f"'{unmarked(effect)}' always leaves the bounds of {effect.fluent.predicate}, {bounds}"
            hint = "an action does not apply where its effects would leave them"
            yield Finding(Level.WARNING, "broken-bounds", f"action {action.name}", message, hint)


@dataclass(slots=True)
class _Uses:
    """The functions that are read, and for those that are changed, the actions that raise, lower or assign them."""

    read: set[str] = field(default_factory=set)
    raised: dict[str, str] = field(default_factory=dict)
    lowered: dict[str, str] = field(default_factory=dict)
    assigned: dict[str, str] = field(default_factory=dict)

    def changes(self, name: str) -> bool:
        return name in self.raised or name in self.lowered or name in self.assigned

    def only(self, name: str) -> str:
        """Return "falls" or "rises" where all changes of a fluent go one way, else ""."""
        if name in self.assigned or (name in self.raised) is (name in self.lowered):
            return ""
        return "rises" if name in self.raised else "falls"


def _collect_uses(domain: DomainModel, problem: Problem | None) -> _Uses:
    found = _Uses()
    expressions: list[Expression] = []
    conditions = [condition for _, condition in _conditions(domain)]
    for action in domain.actions.values():
        amounts = list(amounts_of(action))
        expressions += [term for term in amounts if isinstance(term, Atom | Arithmetic)]
        for effect in numeric_effects(action):
            expressions.append(effect.value)
            _record_change(found, effect, action, domain)
    if problem is not None:
        conditions += [problem.goal.hard, *[wish.condition for wish in problem.goal.soft]]
        conditions += [condition for each in problem.constraints for condition in each.conditions]
        expressions += [problem.metric.expression] if isinstance(problem.metric, NumericMetric) else []
    found.read |= {term.predicate for each in expressions for term in functions_in(each)}
    found.read |= {term.predicate for each in conditions for part in comparisons_in(each) for term in part.functions}
    return found


def _record_change(found: _Uses, effect: NumericEffect, action: Action, domain: DomainModel) -> None:
    name, amount = effect.fluent.predicate, _declared_range(effect.value, domain)
    sign = sign_of(effect)
    if sign == 0 and (not effect.is_additive or amount.low < 0 < amount.high):
        found.assigned.setdefault(name, action.name)
    else:
        up = sign > 0 or (sign == 0 and (effect.operator == "+=") is not (amount.high <= 0))
        (found.raised if up else found.lowered).setdefault(name, action.name)


def _check_functions(domain: DomainModel, problem: Problem | None, told: Collection[str]) -> Iterator[Finding]:
    """Yield functions that nobody uses or reads, or that only move away from what is asked; those `told` are known."""
    uses = _collect_uses(domain, problem)
    changes: dict[str, list[tuple[Action, NumericEffect]]] = defaultdict(list)
    for action in domain.actions.values():
        for effect in numeric_effects(action):
            changes[effect.fluent.predicate].append((action, effect))
    wanted = _collect_slopes(domain)
    for name in domain.functions:
        place = f"function {name}"
        if name == TOTAL_COST.predicate:
            continue
        if name not in uses.read and not uses.changes(name):
            yield Finding(Level.WARNING, "unused-function", place, "it is used nowhere in the domain")
        elif name not in uses.read and _bounds_of(domain.functions[name]) == ANY:
            hint = "it may be for the metric or the goal of some problem"
            yield Finding(Level.HINT, "never-read", place, "actions change it, and nothing reads it", hint)
        elif name not in told and (way := uses.only(name)):
            own = {f"action {action.name}" for action, _ in changes[name]}
            yield from _check_one_way(name, way, own, wanted[name, 1 if way == "falls" else -1])


def _collect_slopes(domain: DomainModel) -> dict[tuple[str, int], list[tuple[str, Comparison]]]:
    """Return the comparisons that conditions require, with their places, by functions and directions that help."""
    found: dict[tuple[str, int], list[tuple[str, Comparison]]] = defaultdict(list)
    for place, condition in _conditions(domain):
        for comparison in _required_comparisons(condition):
            for each in dict.fromkeys(slopes_of(comparison)):
                found[each].append((place, comparison))
    return found


def _check_one_way(
    name: str, way: str, own: Collection[str], wanted: Iterable[tuple[str, Comparison]]
) -> Iterator[Finding]:
    """Yield the first condition of those `wanted` that a fluent which only falls, or only rises, moves away from.

    Conditions of the actions that change the fluent, its `own`, are left out: these keep it from going too far.
    """
    for place, comparison in wanted:
        if place not in own:
            what = "raises it" if way == "falls" else "lowers it"
            message = f"it only {way}, and {place} requires {unmarked(comparison)}: nothing {what}"
            yield Finding(Level.HINT, "one-way-number", f"function {name}", message)
            return


def _required_comparisons(condition: Formula) -> Iterator[Comparison]:
    """Yield the comparisons that are not negated."""
    if isinstance(condition, Comparison):
        yield condition
    elif not isinstance(condition, Not):
        for part in children(condition):
            yield from _required_comparisons(part)


def slopes_of(comparison: Comparison) -> Iterator[tuple[str, int]]:
    """Yield the functions that stand alone on a side, or in a sum, with the direction in which they help."""
    if comparison.relation == "=":
        return
    up = 1 if comparison.relation in (">", ">=") else -1
    for side, sign in ((comparison.left, up), (comparison.right, -up)):
        parts = side.operands if isinstance(side, Arithmetic) and side.operator in "+-" else (side,)
        for place, part in enumerate(parts):
            if isinstance(part, Atom):
                minus = isinstance(side, Arithmetic) and side.operator == "-" and (place > 0 or len(parts) == 1)
                yield part.predicate, -sign if minus else sign


def check_number_reach(problem: Problem, actions: Collection[str]) -> Iterator[Finding]:
    """Yield the comparisons that no values make true to which the effects of the reachable `actions` may add up."""
    ranges = ValueRanges(problem, actions)
    uses = _collect_uses(problem.domain, problem)
    for part in conjuncts(problem.goal.hard):
        if isinstance(part, Comparison) and not ranges.may(part):
            message = f"no sum of effects leads to {part}: {_describe_ranges(part, ranges)}"
            yield Finding(
                Level.ERROR, "unreachable-number", "goal", message, _hint(part, uses), part=_first_function(part)
            )
    for action in problem.domain.actions.values():
        if action.name in actions:
            yield from _check_requirements(action, ranges, uses)


def _check_requirements(action: Action, ranges: ValueRanges, uses: _Uses) -> Iterator[Finding]:
    """Yield the first comparison in the condition of `action` that no objects and values satisfy."""
    for part in conjuncts(action.requires):
        if isinstance(part, Comparison) and not any(ranges.may(part, each) for each in ranges.bindings(part.functions)):
            message = f"it can never apply: no values satisfy {unmarked(part)}: {_describe_ranges(part, ranges)}"
            place, name = f"action {action.name}", _first_function(part)
            yield Finding(Level.HINT, "unreachable-number", place, message, _hint(part, uses), "requires", name)
            return


def _describe_ranges(comparison: Comparison, ranges: ValueRanges) -> str:
    known = []
    for term in dict.fromkeys(comparison.functions):
        interval, step = ranges.evaluate(term), ranges.step((term.predicate, term.args))
        stays = "never has a value" if interval is None else f"stays {interval}"
        in_steps = step and interval is not None and comparison.relation == "="
        known.append(f"{unmarked(term)} {stays}" + (f", in steps of {show_number(step)}" if in_steps else ""))
    return " and ".join(known) or "it compares constants"


def _hint(comparison: Comparison, uses: _Uses) -> str:
    """Return what is missing where a fluent only moves away from what is wanted."""
    for name, sign in slopes_of(comparison):
        way = uses.only(name)
        if way and way != ("rises" if sign > 0 else "falls"):
            return f"no action {'raises' if sign > 0 else 'lowers'} {name}"
    return ""
