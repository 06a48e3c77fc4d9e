"""Lint of balances: what an action gives back in part, numbers that move together but for one action, and limits.

Where one action takes two things for a third, and another one ends the third, giving one of the two back asks for the
other. Where all actions that change `carried` change `load` by the same amount, the one that does not lets the two
drift apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.lightweight import Final
from planner.lint.findings import Finding, Level, conjoined_atoms, ended_atoms, givers_of
from planner.model.actions import Action, NumericEffect, positive_atoms
from planner.model.arithmetic import exact_value
from planner.model.domain import DomainModel, amounts_of, numeric_effects
from planner.model.formulas import (
    TRUE,
    Arithmetic,
    Atom,
    Comparison,
    Expression,
    Number,
    comparisons_in,
    conjuncts,
    unmarked,
)
from planner.model.problem import Problem

FEWEST: Final = 2
"""Other actions that have to agree before one that does not is told."""


def check_balances(domain: DomainModel) -> Iterator[Finding]:
    """Yield what actions give back in part, and the numbers that one action leaves out or adds wholes to."""
    if not any(action.outcomes for action in domain.actions.values()):
        yield from _check_returns(domain)
    if domain.functions:
        yield from _check_together(domain)
        for action in domain.actions.values():
            yield from _check_twins(action)
            yield from _check_limits(action)


@dataclass(frozen=True, slots=True)
class _Exchange:
    """The facts that an action takes, and those that it gives, without a condition."""

    action: Action
    taken: tuple[Atom, ...]
    given: tuple[Atom, ...]

    @classmethod
    def of(cls, action: Action) -> _Exchange:
        sure = [each for each in action.effects if each.requires == TRUE and not each.variables]
        given = tuple([atom for each in sure for atom in positive_atoms(each.provides)])
        ended = list(ended_atoms(action))
        required = dict.fromkeys(conjoined_atoms(action.requires))
        taken = [
            x for x in required if x not in given and any(y.predicate == x.predicate and y.matches(x) for y in ended)
        ]
        return cls(action, tuple(taken), given)


def _check_returns(domain: DomainModel) -> Iterator[Finding]:
    """Yield the action that only gives back what was taken for what it ends, and leaves a part of it out."""
    exchanges = [_Exchange.of(action) for action in domain.actions.values()]
    takers = [each for each in exchanges if len(each.taken) >= FEWEST]
    givers = Counter(name for each in exchanges for name in {fact.predicate for fact in each.given})
    ending: dict[str, list[_Exchange]] = defaultdict(list)
    for each in exchanges:
        for name in {fact.predicate for fact in each.taken}:
            ending[name].append(each)
    for taker in takers:
        alone = {fact.predicate for fact in taker.given if givers[fact.predicate] == 1}
        backs = {each.action.name: each for fact in taker.given for each in ending[fact.predicate]}
        for back in backs.values():
            if back is not taker:
                yield from _check_return(taker, back, alone, domain)


def _check_return(taker: _Exchange, back: _Exchange, alone: set[str], domain: DomainModel) -> Iterator[Finding]:
    """Yield what `back` owes; `alone` are the predicates of which `taker` alone gives facts."""
    for given in taker.given:
        undone = next((x for x in back.taken if x.predicate == given.predicate), None)
        if undone is None:
            continue
        binding = dict(zip(given.args, undone.args, strict=True))
        owed = [x.substitute(binding) for x in taker.taken if x.args and {*x.args} <= {*given.args}]
        returned = [x for x in owed if x in back.given]
        others = {x.predicate for x in (*back.given, *back.taken)}
        left = [x for x in owed if x.predicate not in others]
        restores = {x.predicate for x in back.given} <= {x.predicate for x in taker.taken}
        restores = restores and len(_numbers_of(back.action)) <= len(_numbers_of(taker.action))
        if restores and returned and left and left[0].predicate not in domain.derived:
            lacks = unmarked(left[0])
            message = (
                f"it ends {unmarked(undone)} and gives {unmarked(returned[0])} back, and not {lacks}, which action"
                f" {taker.action.name} takes for it, too"
            )
            never = left[0].predicate not in givers_of(domain)
            if not never and (given.predicate not in alone or set(conjuncts(back.action.requires)) != {undone}):
                return
            message += ": no action gives that back" if never else ""
            place = f"action {back.action.name}"
            yield Finding(Level.HINT, "partly-returned", place, message, f"provide {lacks}", "provides")
            return


def _numbers_of(action: Action) -> list[NumericEffect]:
    """Return the changes of numbers that depend on no condition."""
    return [x for each in action.effects if each.requires == TRUE and not each.variables for x in each.numbers]


def _amount_of(effect: NumericEffect) -> tuple[int, Expression] | None:
    """Return the direction and the amount of a rise or a fall."""
    if not effect.is_additive:
        return None
    return (1 if effect.operator == "+=" else -1), effect.value


def _check_together(domain: DomainModel) -> Iterator[Finding]:
    """Yield the one action that changes a number alone which all others change together with another one."""
    changes: dict[str, list[tuple[Action, NumericEffect]]] = defaultdict(list)
    for action in domain.actions.values():
        for effect in _numbers_of(action):
            changes[effect.fluent.predicate].append((action, effect))
    for name, own in changes.items():
        if len({action.name for action, _ in own}) != len(own) or len(own) <= FEWEST:
            continue
        for other, its in changes.items():
            if other != name and len(its) == len(own) - 1:
                yield from _check_pair(own, other)


def _check_pair(own: Sequence[tuple[Action, NumericEffect]], other: str) -> Iterator[Finding]:
    """Yield the action of `own` in which `other` does not move by the same amount, if all others agree."""
    alone, agreeing = [], []
    for action, effect in own:
        beside = next((x for x in _numbers_of(action) if x.fluent.predicate == other), None)
        if beside is None:
            alone.append((action, effect))
        elif _amount_of(beside) is not None and _amount_of(beside) == _amount_of(effect):
            agreeing.append((action, effect, beside))
    ways = {effect.operator for _, effect, _ in agreeing}
    if len(alone) != 1 or len(agreeing) != len(own) - 1 or len(agreeing) < FEWEST or len(ways) < FEWEST:
        return
    action, effect = alone[0]
    like, its, beside = agreeing[0]
    fluent = _rewrite(beside.fluent, its.fluent, effect.fluent)
    if fluent is not None and effect.is_additive:
        meant = f"{unmarked(fluent)} {effect.operator} {unmarked(effect.value)}"
        message = (
            f"it does {unmarked(effect)} and leaves {other}, which action {like.name} and all others change by the same"
        )
        hint = f"should it do {meant}, too?"
        yield Finding(Level.HINT, "moves-apart", f"action {action.name}", message, hint, "modifies", effect.fluent)


def _rewrite(fluent: Atom, its: Atom, mine: Atom) -> Atom | None:
    """Return `fluent` with the arguments of `its` as `mine` has them; None where it has others."""
    binding = dict(zip(its.args, mine.args, strict=True))
    return fluent.substitute(binding) if {*fluent.args} <= {*its.args} else None


def _enough(part: object) -> tuple[Atom, Expression] | None:
    """Return the fluent and the amount of it that a comparison asks for; None for others."""
    match part:
        case Comparison(Atom() as fluent, ">=" | ">", amount) | Comparison(amount, "<=" | "<", Atom() as fluent):
            return fluent, amount
    return None


def _check_twins(action: Action) -> Iterator[Finding]:
    """Yield a number that an action requires enough of and leaves, beside others of which it takes that amount."""
    needs = [x for x in map(_enough, conjuncts(action.requires)) if x is not None]
    effects = {effect.fluent: effect for effect in _numbers_of(action)}
    used = [x for x, y in needs if x in effects and effects[x].operator == "-=" and effects[x].value == y]
    for fluent, amount in needs:
        twin = next((x for x in used if x.predicate == fluent.predicate and x != fluent), None)
        positive = not isinstance(amount, Number) or exact_value(amount) > 0
        if fluent not in effects and twin is not None and positive:
            taken = unmarked(effects[twin])
            message = f"it requires {unmarked(fluent)} >= {unmarked(amount)} and leaves that, beside {taken}"
            hint = f"should it do {unmarked(fluent)} -= {unmarked(amount)}, too?"
            yield Finding(Level.HINT, "moves-apart", f"action {action.name}", message, hint, "requires", fluent)
            return


def _check_limits(action: Action) -> Iterator[Finding]:
    """Yield that an action adds to a number the limit below which it is required to be: it may pass the limit."""
    below = [x for x in map(_limit, conjuncts(action.requires)) if x is not None]
    for effect in _numbers_of(action):
        for fluent, limit in below:
            is_one = isinstance(limit, Number) and exact_value(limit) <= 1
            if effect.fluent == fluent and effect.operator == "+=" and effect.value == limit and not is_one:
                name = unmarked(fluent)
                message = (
                    f"it requires {name} to be below {unmarked(limit)}, and then adds all of that to it: what was there"
                    " leads beyond the limit"
                )
                hint = f"should it be {name} := {unmarked(limit)}?"
                pddl = f"should it be (assign {_pddl(fluent)} {_pddl(limit)})?"
                place = f"action {action.name}"
                yield Finding(Level.HINT, "adds-limit", place, message, hint, "modifies", fluent, hint_pddl=pddl)


def _limit(part: object) -> tuple[Atom, Expression] | None:
    """Return the fluent and the limit below which a comparison wants it; None for others."""
    match part:
        case Comparison(Atom() as fluent, "<" | "<=", limit) | Comparison(limit, ">" | ">=", Atom() as fluent):
            return fluent, limit
    return None


def _pddl(expression: Expression) -> str:
    return (
        f"({' '.join([expression.predicate, *expression.args])})" if isinstance(expression, Atom) else str(expression)
    )


def check_divisors(problem: Problem) -> Iterator[Finding]:
    """Yield the values 0 of static functions that something divides by: what needs the quotient never applies."""
    changing = {x.fluent.predicate for y in problem.domain.actions.values() for x in numeric_effects(y)}
    told: set[Atom] = set()
    for action in problem.domain.actions.values():
        divisors = {x.predicate for each in _expressions_of(action) for x in _divisors_in(each)} - changing
        for term, value in problem.values.items() if divisors else ():
            if term.predicate in divisors and value == 0 and term not in told:
                told.add(term)
                message = f"{term} is 0, and action {action.name} divides by it: it never applies there"
                yield Finding(Level.WARNING, "zero-divisor", "values", message, "state its real value", part=term)


def _expressions_of(action: Action) -> Iterator[Expression]:
    yield from (each for each in amounts_of(action) if isinstance(each, Atom | Arithmetic))
    yield from (each.value for each in numeric_effects(action))
    for each in comparisons_in(action.requires):
        yield from (each.left, each.right)


def _divisors_in(expression: Expression) -> Iterator[Atom]:
    """Yield the functions that make a divisor 0 where they are 0: those that stand alone or in a product."""
    if isinstance(expression, Arithmetic):
        if expression.operator == "/" and len(expression.operands) == FEWEST:
            yield from _factors_in(expression.operands[1])
        for each in expression.operands:
            yield from _divisors_in(each)


def _factors_in(expression: Expression) -> Iterator[Atom]:
    match expression:
        case Atom():
            yield expression
        case Arithmetic("*", operands):
            for each in operands:
                yield from _factors_in(each)
