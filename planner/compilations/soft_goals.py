"""Soft goals and soft constraints, compiled to costs (Keyder and Geffner, 2009): a plan pays for forgone wishes.

stage 0 ── steps ─→ stage 0 ── the goal ─→ stage 1 ── wish 0 is granted, or forgone ─→ stage 2 ── … ─→ stage n

A cheapest plan of the compiled problem has the greatest net benefit: the utilities of the fulfilled wishes, less the
cost of the steps. The last steps of a compiled plan are special actions that move a pointer from stage to stage;
mapping back removes them. The arguments of stages are not objects, so that no quantifier ranges over them. Grounding
proves that exactly one stage holds at a time, so that the pointer is one finite-domain variable.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from planner.compilations import Compiled
from planner.compilations.adl import keep_items_busy
from planner.compilations.budgets import budget_spending
from planner.compilations.driver import Driver
from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.passes import compile_away
from planner.compilations.trajectory_constraints import MARK
from planner.lightweight import TYPE_CHECKING, Final, replace
from planner.model.actions import Action, Literal, NumericEffect, positive_atoms
from planner.model.constructs import CONSTRAINED, Construct
from planner.model.domain import Function, Predicate
from planner.model.formulas import (
    TRUE,
    Arithmetic,
    Atom,
    Formula,
    Not,
    Number,
    Variable,
    conjunction,
    conjuncts,
    with_conjuncts,
)
from planner.model.problem import Goal, Metric, NumericMetric, Problem
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Result

if TYPE_CHECKING:
    pass

STAGE: Final = "@stage"
"""The predicate of stages; declared names do not begin with `@`."""


def stage_fact(number: int) -> Atom:
    """Return the fact that the pointer is at stage `number`."""
    return Atom(STAGE, (str(number),))


def as_pointer_move(action: Action, name: str, origin: int, target: int, cost: Number) -> Action:
    """Return `action`, which has no parameters, as the special action `name` that also moves the pointer."""
    move: list[Literal] = [] if origin == target else [stage_fact(target), Not(stage_fact(origin))]
    requires = with_conjuncts(action.requires, stage_fact(origin))
    return replace(action, name=name, requires=requires, provides=(*action.provides, *move), cost=(cost,))


def add_stages(
    plain: Problem,
    special: Iterable[Action],
    goal: Formula,
    last: int,
    *,
    first_only: bool,
    without: Collection[str] = (),
) -> Problem:
    """Add `special` actions to the plain ADL problem; its goal becomes `goal` with the pointer at stage `last`.

    The problem's own actions stay, except those in `without`. With `first_only`, they require the pointer at stage 0.
    """
    domain = plain.domain
    own = [action for action in domain.actions.values() if action.name not in without]
    actions = {action.name: _restrict(action, plain, first_only=first_only) for action in own}
    actions |= {action.name: action for action in special}
    predicates = {**domain.predicates, STAGE: Predicate(STAGE, (Variable("?number"),))}
    return replace(
        plain,
        domain=replace(domain, actions=actions, predicates=predicates),
        initial=(*plain.initial, stage_fact(0)),
        goal=Goal(with_conjuncts(goal, stage_fact(last))),
        metric=Metric.COST,
    )


def _restrict(action: Action, plain: Problem, *, first_only: bool) -> Action:
    if plain.metric is Metric.LENGTH:
        action = replace(action, cost=(1,))
    if first_only:
        action = replace(action, requires=with_conjuncts(action.requires, stage_fact(0)))
    return action


def name_stages(problem: Problem) -> Problem:
    """Give each stage a predicate of its own, for planners whose arguments must be objects."""
    domain = problem.domain
    actions = {
        name: replace(
            action, requires=_name_in_condition(action.requires), provides=tuple(map(_name_in_literal, action.provides))
        )
        for name, action in domain.actions.items()
    }
    initial = tuple(map(_name_in_atom, problem.initial))
    written = [*initial, *(atom for action in actions.values() for atom in positive_atoms(action.provides))]
    predicates = {atom.predicate: Predicate(atom.predicate) for atom in written if atom.predicate.startswith(STAGE)}
    kept = {name: each for name, each in domain.predicates.items() if name != STAGE}
    return replace(
        problem,
        domain=replace(domain, predicates={**kept, **predicates}, actions=actions),
        initial=initial,
        goal=Goal(_name_in_condition(problem.goal.hard)),
    )


def _name_in_condition(condition: Formula) -> Formula:
    return conjunction([_name_in_atom(part) if isinstance(part, Atom) else part for part in conjuncts(condition)])


def _name_in_literal(literal: Literal) -> Literal:
    if isinstance(literal, Not) and isinstance(literal.part, Atom):
        return Not(_name_in_atom(literal.part))
    return _name_in_atom(literal) if isinstance(literal, Atom) else literal


def _name_in_atom(atom: Atom) -> Atom:
    return Atom(f"{STAGE}-{atom.args[0]}") if atom.predicate == STAGE else atom


END: Final = "@end"
_GRANT: Final = "@grant-"
_FORGO: Final = "@forgo-"


def compile_wishes(problem: Problem, *, whole: bool = False) -> Compiled:
    """Compile the relevant part of `problem`, or the `whole`, to plain ADL without soft goals and constraints.

    Special actions, whose names begin with `@`, follow the steps of a plan, and mapping back removes them. In a
    cheapest plan, their cost is the utility of the wishes that the plan forgoes.
    """
    relevant = problem if whole else remove_irrelevant_actions(problem)
    plain = compile_away(relevant, Construct.CHANGES, *CONSTRAINED)
    hard, soft = plain.goal.hard, plain.goal.soft
    plain = budget_spending(plain)
    end = as_pointer_move(Action(END, requires=hard), END, 0, 1, 0)
    special = [end, *make_wish_actions([wish.condition for wish in soft], [wish.utility for wish in soft], 1)]
    found = add_stages(plain, special, hard, 1 + len(soft), first_only=True)
    found = add_to_metric(found, special, plain.metric) if isinstance(plain.metric, NumericMetric) else found
    compiled = found if problem.deadline is None else keep_items_busy(found, problem)
    return Compiled(
        compiled,
        lambda plan: _remove_special_steps(plan, problem),
        words=lambda reason: say_of_wishes(reason, problem),
    )


FORGONE: Final = Atom("@forgone")
"""The sum of the utilities of forgone wishes, which is added to a metric of numbers."""


def add_to_metric(problem: Problem, special: Iterable[Action], metric: NumericMetric) -> Problem:
    """Return `problem` with `metric`, to which the costs of `special` actions are added."""
    domain = problem.domain
    charged = {
        each.name: replace(each, cost=(), numbers=(NumericEffect(FORGONE, "+=", price),))
        for each in special
        for price in each.cost
        if price and isinstance(price, Number)
    }
    functions = {**domain.functions, FORGONE.predicate: Function(FORGONE.predicate)}
    value = Arithmetic("-", (metric.expression,)) if metric.maximize else metric.expression
    return replace(
        problem,
        domain=replace(domain, actions={**domain.actions, **charged}, functions=functions),
        values={**problem.values, FORGONE: 0},
        metric=NumericMetric(Arithmetic("+", (value, FORGONE))),
    )


def _remove_special_steps(plan: Plan, problem: Problem) -> Plan:
    """Return `plan` as a plan of `problem`, without the steps that grant and forgo wishes."""
    own = problem.domain.actions
    return replace(plan, steps=tuple([step for step in plan.steps if step.action in own]), problem=problem)


def make_wish_actions(wishes: Sequence[Formula], costs: Iterable[Number], first: int) -> list[Action]:
    """Return, from stage `first` on, special actions that require each wish, or forgo it at its cost."""
    return [
        as_pointer_move(Action(name, requires=condition), name, first + place, first + place + 1, price)
        for place, (wish, cost) in enumerate(zip(wishes, costs, strict=True))
        for name, condition, price in ((grant_name(place), wish, 0), (forgo_name(place), TRUE, cost))
    ]


def grant_name(place: int) -> str:
    """Return the name of the special action that requires the wish at this place."""
    return f"{_GRANT}{place}"


def forgo_name(place: int) -> str:
    """Return the name of the special action that forgoes the wish at this place."""
    return f"{_FORGO}{place}"


def granted_places(names: Iterable[str]) -> frozenset[int]:
    """Return the places of the wishes that the special actions `names` require."""
    return frozenset([int(name.removeprefix(_GRANT)) for name in names if name.startswith(_GRANT)])


_MONITOR: Final = re.compile(rf"nothing makes this part of the goal true: .*?{MARK}(\d+).*", re.DOTALL)


def solve_with_wishes(problem: Problem, options: SolveOptions, solve: Solve) -> Result:
    """Solve `problem`, which has wishes; `solve` is called for the compiled problem without wishes."""
    compiled = compile_wishes(problem)
    if options.engine is not None:
        compiled = replace(compiled, problem=name_stages(compiled.problem))
    driver = Driver(problem, options, solve)
    return driver.finish(driver.ask(compiled), compiled)


def say_of_wishes(reason: str, problem: Problem) -> str:
    """Return `reason`, about a problem without wishes and constraints, in terms of its source `problem`."""
    monitor = _MONITOR.fullmatch(reason)
    if monitor is not None:
        return f"nothing can keep this constraint: {problem.constraints[int(monitor[1])]}"
    if STAGE in reason:  # wishes can be forgone: only the hard goal keeps the pointer from moving
        return f"nothing makes this part of the goal true: {problem.goal.hard}"
    return reason
