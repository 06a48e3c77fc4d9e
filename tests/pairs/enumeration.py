"""The optimum of a small problem, by looking at everything: states of sequences, decompositions, and times.

`optimum(problem)` is the least charge of a plan (what the metric counts, and the utilities of forgone wishes), or None
where there is no plan. Unknown facts turn out as well as may be: no plan costs less. Of uncertain actions, the intended
outcome counts, and unknown numbers have the values that the problem states.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count, product
from typing import Any

from pairs.decompositions import ANY, Network, decompose
from pairs.happenings import best_in_time
from pairs.interpreter import MOST_CREATED, Ground, State, World, apply, atoms_of, conjuncts_of
from pairs.trajectories import TOTAL_COST, TOTAL_TIME, Kept, Price, add_run, forgone, look_all, may_go_on, within

from htn.model import HtnProblem
from planner.model import TRUE, Atom, Problem
from planner.model.actions import Action, DurationRange, Moment
from planner.model.problem import COST, NumericMetric

MOST_STEPS = 10
"""Steps of the longest sequence that is looked at: where costs are functions, there are states without end."""


@dataclass(frozen=True)
class Optimum:
    """The least charge, and a plan of it as atoms; in time with the start and the duration of each step."""

    charge: Fraction
    steps: tuple[Atom, ...]
    times: tuple[tuple[Fraction, Fraction], ...] = ()


def optimum(problem: Problem | HtnProblem) -> Optimum | None:
    """Return the optimum of `problem`; None where it has no plan."""
    classical = problem.classical if isinstance(problem, HtnProblem) else problem
    found = [best for facts in unknown_ways(classical) if (best := optimum_in(problem, facts)) is not None]
    return min(found, key=lambda each: each.charge, default=None)


def optimum_in(problem: Problem | HtnProblem, unknown: frozenset[Atom]) -> Optimum | None:
    """Return the optimum where of the unknown facts those in `unknown` hold."""
    classical = problem.classical if isinstance(problem, HtnProblem) else problem
    world, networks = World(classical), [ANY]
    start = world.start(unknown)
    if isinstance(problem, HtnProblem):
        networks = decompose(problem, world, start)
    if asks_for_time(classical):
        found = [best_in_time(world, start, network) for network in networks]
        return min((Optimum(*each) for each in found if each is not None), key=lambda each: each.charge, default=None)
    sequences = [best_sequence(world, start, network) for network in networks]
    return min((each for each in sequences if each is not None), key=lambda each: each.charge, default=None)


def asks_for_time(problem: Problem) -> bool:
    """Return whether plans have times; a deadline counts here, as it is about when steps end."""
    if problem.timed or problem.due or problem.capacity or problem.deadline is not None:
        return True
    metric = problem.metric
    if isinstance(metric, NumericMetric) and TOTAL_TIME in Price(World(problem)).weights:
        return True
    return any(map(has_moments, problem.domain.actions.values()))


def has_moments(action: Action) -> bool:
    """Return whether `action` says of time what a sequence cannot show."""
    if isinstance(action.duration, DurationRange) or list(conjuncts_of(action.throughout)):
        return True
    return action.at_start != Moment() or action.at_end != Moment()


def unknown_ways(problem: Problem) -> Iterator[frozenset[Atom]]:
    """Yield all ways in which the unknown facts that matter may turn out."""
    world = World(problem)
    start = world.start()
    facts = {
        atom
        for ground in world.ground(start)
        for part in (ground.action.requires, ground.action.throughout)
        for atom in atoms_of(part, ground.binding)
        if any(pattern.matches(atom) for pattern in problem.unknown)
    }
    for chosen in product((False, True), repeat=len(facts)):
        yield frozenset(fact for fact, holds in zip(sorted(facts, key=str), chosen, strict=True) if holds)


@dataclass(frozen=True)
class Node:
    state: State
    kept: tuple[Kept, ...]
    done: frozenset[int] = frozenset()
    spent: frozenset[tuple[str, Fraction]] = frozenset()
    cost: Fraction = Fraction(0)


def best_sequence(world: World, start: State, network: Network) -> Optimum | None:
    """Return the cheapest sequence of steps; all states are looked at."""
    price, fresh = Price(world), count()
    first = Node(start, look_all(world, tuple([Kept() for _ in world.problem.constraints]), state=start))
    queue: list[tuple[Fraction, int, Node, tuple[Atom, ...]]] = [(Fraction(0), next(fresh), first, ())]
    least: dict[Any, Fraction] = {}
    best: Optimum | None = None
    counts_both = COST in world.problem.budgets and set(price.weights) != {TOTAL_COST}
    while queue:
        _, _, node, steps = heapq.heappop(queue)
        lost = forgone(world, node.state, node.kept) if network.is_done(node.done) else None
        charge = price.charge(node.state, node.cost, Fraction(0))
        if lost is not None and (best is None or charge + lost < best.charge):
            best = Optimum(charge + lost, steps)
        if len(steps) == MOST_STEPS or (best is not None and charge - price.most_gain(node.state) >= best.charge):
            continue
        for ground, place in network.choices(world, node.state, node.done):
            after = follow(world, node, ground)
            if after is None or not may_go_on(world, after.kept):
                continue
            after = replace(after, done=node.done | ({place} if place is not None else set()))
            worth = price.charge(after.state, after.cost, Fraction(0))
            key = after if counts_both else replace(after, cost=Fraction(0))
            if key not in least or worth < least[key]:
                least[key] = worth
                heapq.heappush(queue, (worth, next(fresh), after, (*steps, ground.step)))
    return best


def follow(world: World, node: Node, ground: Ground) -> Node | None:
    """Return what the step `ground` makes of `node`; None where it cannot be taken."""
    action, state, binding = ground.action, node.state, ground.binding
    if not world.holds(action.requires, state, binding) or not has_run(ground, state):
        return None
    if len(state.created) + len(action.creates) > MOST_CREATED:
        return None
    cost = world.cost(ground, state)
    uses = {name: world.amounts(terms, state, binding) for name, terms in action.uses.items()}
    state = replace(state, created=(*state.created, *ground.made))
    effects = [((), action.provides, action.modifies, action.numbers, ())]
    effects += [(each.requires, each.provides, each.modifies, each.numbers, each.variables) for each in action.when]
    change = world.change([(TRUE if each[0] == () else each[0], *each[1:]) for each in effects], state, binding)
    if change is None or cost is None or any(each is None for each in uses.values()):
        return None
    after = add_run(world, apply(change, state), ground.head)
    spent = {**dict(node.spent)}
    for name, used in uses.items():
        spent[name] = spent.get(name, Fraction(0)) + used
    total = node.cost + cost
    if not within(world.problem.budgets, {**spent, "cost": total}):
        return None
    kept = look_all(world, look_all(world, node.kept, step=ground.head), state=after)
    return Node(after, kept, node.done, frozenset(spent.items()), total)


def has_run(ground: Ground, state: State) -> bool:
    """Return whether all actions ran that the step must come after."""
    needed = [pattern.substitute(ground.binding) for pattern in ground.action.after]
    return all(any(pattern.matches(each) for each in state.ran) for pattern in needed)
