"""Creating actions as they are meant, and random problems with them: a creation makes an object that was not there.

No placeholder, guard or order stands here: a state has its own objects, and a step may make new ones.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from dataclasses import dataclass
from itertools import count

import interpreter
from brute_force import TooManyStates

from benchmarks.random_problems import TYPES, Features, FormulaDrawer, Readable, random_problem
from planner.lightweight import replace
from planner.model import And, Atom, Exists, Forall, Goal, Imply, Metric, Not, Object, Problem, TypeHierarchy, Variable

SMALL = Features(actions=3, objects=3)
COSTS = (0, 1, 1, 2, 3)


def optimum(problem, most, states=3000):
    """Return the cost of a cheapest plan that creates at most `most` objects of each type; None where there is none."""
    tick = count()
    queue = [(0, next(tick), (), frozenset(problem.initial), frozenset(problem.ran))]
    closed = set()
    while queue:
        cost, _, born, facts, ran = heapq.heappop(queue)
        if (born, facts, ran) in closed:
            continue
        closed.add((born, facts, ran))
        world = with_objects(problem, born)
        if interpreter.holds(world, interpreter.closure(world, facts), problem.goal.hard, {}):
            return cost
        if len(closed) > states or len(queue) > 8 * states:
            raise TooManyStates(f"more than {states} states")
        for _, price, *after in successors(problem, world, born, facts, ran):
            if max(Counter(kind for _, kind in after[0]).values(), default=0) <= most:
                heapq.heappush(queue, (cost + price, next(tick), *after))
    return None


def with_objects(problem, born):
    """Return `problem` with these objects, too; what an action creates is an argument of it, for the interpreter."""
    actions = {}
    for name, action in problem.domain.actions.items():
        created = tuple(Variable(each, (kind,)) for each, kind in action.creates.items())
        actions[name] = replace(action, parameters=(*action.parameters, *created), creates={})
    objects = (*problem.objects, *(Object(name, (kind,)) for name, kind in born))
    return replace(problem, objects=objects, domain=replace(problem.domain, actions=actions))


def successors(problem, world, born, facts, ran):
    """Yield every step from here, with its cost, and the objects, facts and past of the state after it."""
    true = interpreter.closure(world, facts)
    remembered = {pattern.predicate for action in problem.domain.actions.values() for pattern in action.after}
    for action in problem.domain.actions.values():
        fresh = [(f"fresh{len(born) + place}", kind) for place, kind in enumerate(action.creates.values())]
        for binding in interpreter.bindings(world, action.parameters):
            if not interpreter.holds(world, true, action.requires, binding):
                continue
            arguments = tuple(binding.values())
            step = interpreter.Step(action.name, (*arguments, *(name for name, _ in fresh)))
            after = interpreter.apply(world, facts, ran, step)
            if after is not None:
                price = 1 if problem.metric is Metric.LENGTH else sum(action.cost)
                past = ran | {Atom(action.name, arguments)} if action.name in remembered else ran
                yield step, price, (*born, *fresh), after, past


def random_creation(seed, features=SMALL):
    """Return a small random problem, some of whose actions create objects."""
    rng = random.Random(seed)
    problem = random_problem(rng, features)
    actions = {name: replace(action, cost=(rng.choice(COSTS),)) for name, action in problem.domain.actions.items()}
    for name in rng.sample(sorted(actions), rng.choice([1, 1, 2, len(actions)])):
        actions[name] = creating(actions[name], problem, rng)
    problem = replace(problem, domain=replace(problem.domain, actions=actions, functions={}), values={})
    goal = random_goal(problem, rng) if rng.random() < 0.8 else problem.goal.hard
    return replace(problem, goal=Goal(goal))


def creating(action, problem, rng):
    """Return `action` with something that it creates and writes facts of."""
    kinds = rng.choice([["box"], ["cart"], ["thing"], ["hybrid"], ["box", "box"], ["box", "hybrid"], ["object"]])
    created = [Variable(f"?c{place}", (kind,)) for place, kind in enumerate(kinds)]
    drawer = FormulaDrawer(rng, SMALL)
    base = [each for each in problem.domain.predicates.values() if each.name not in problem.domain.derived]
    scope = (*action.parameters, *problem.domain.constants, *created)
    provides = [
        drawer.literal(about(base, variable), scope, prefer=(variable,)) for variable in created for _ in range(2)
    ]
    return replace(
        action,
        creates={each.name: each.types[0] for each in created},
        provides=tuple(dict.fromkeys([*action.provides, *(each for each in provides if each is not None)])),
    )


def about(predicates, variable):
    """Return the predicates that can be said of `variable`, or all where there is none."""
    types = TypeHierarchy(TYPES)
    fits = [each for each in predicates if any(types.is_a(variable.types, other.types) for other in each.parameters)]
    return fits or predicates


def random_goal(problem, rng):
    """Return a condition on objects of some type, whatever they are called."""
    everything = list(problem.domain.predicates.values())
    drawer = FormulaDrawer(rng, SMALL)
    parts = []
    for _ in range(rng.choice([1, 1, 2])):
        variables = drawer.variables(1, 2)
        atoms = [drawer.atom(about(everything, each), variables, prefer=variables) for each in variables]
        facts = [atom for atom in atoms if atom is not None]
        facts = [Not(atom) if rng.random() < 0.2 else atom for atom in facts]
        if rng.random() < 0.75:
            parts.append(Exists(variables, And(tuple(facts))))
        else:
            readable = Readable(everything, everything)
            premise = drawer.formula(readable, variables, 1, prefer=variables)
            parts.append(Forall(variables, Imply(premise, And(tuple(facts)))))
    return And(tuple(parts))


@dataclass(frozen=True)
class Seen:
    """A state of a walk, with the objects that there are."""

    world: Problem
    facts: frozenset

    def holds(self, formula):
        return interpreter.holds(self.world, interpreter.closure(self.world, self.facts), formula, {})


def walk(problem, rng, longest=4):
    """Return random steps that can be taken one after the other, and the states that they go through."""
    born, facts, ran = (), frozenset(problem.initial), frozenset(problem.ran)
    steps, states = [], [Seen(with_objects(problem, born), facts)]
    for _ in range(rng.randint(0, longest)):
        following = [*successors(problem, states[-1].world, born, facts, ran)]
        if not following:
            break
        step, _, born, facts, ran = rng.choice(following)
        steps.append(step)
        states.append(Seen(with_objects(problem, born), facts))
    return steps, states
