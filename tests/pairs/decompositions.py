"""All ways to decompose the tasks of a small problem, as steps in a partial order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from pairs.interpreter import Ground, State, World

from htn.model import HtnProblem, Method
from htn.model import Network as Tasks
from planner.model import Atom


@dataclass(frozen=True)
class Network:
    """Steps that a plan has, each once, and of each those that it comes after; without `steps`, any will do.

    `serial` says that no two steps overlap.
    """

    steps: tuple[Atom, ...] | None = None
    before: tuple[frozenset[int], ...] = field(default=())
    serial: bool = False

    def is_done(self, done: frozenset[int]) -> bool:
        return self.steps is None or len(done) == len(self.steps)

    def choices(self, world: World, state: State, done: frozenset[int]) -> Iterator[tuple[Ground, int | None]]:
        """Yield the steps that may come next, with their places."""
        for ground in world.ground(state):
            if self.steps is None:
                yield ground, None
                continue
            for place, step in enumerate(self.steps):
                size = len(ground.action.parameters)
                same = step.predicate == ground.action.name and step.args[:size] == ground.head.args
                if same and place not in done and self.before[place] <= done:
                    yield ground, place


ANY = Network()


def decompose(problem: HtnProblem, world: World, start: State) -> list[Network]:
    """Return all decompositions; derived methods let any steps come, one after another."""
    if any(name.startswith("achieve") for name in problem.domain.tasks):
        return [Network(serial=True)]
    found = []
    for steps, pairs in _networks(problem, problem.network, {}, world, start):
        before = [{first for first, second in pairs if second == place} for place in range(len(steps))]
        for _ in steps:
            before = [mine | {far for each in mine for far in before[each]} for mine in before]
        found.append(Network(tuple(steps), tuple(map(frozenset, before))))
    return found


def _networks(
    problem: HtnProblem, network: Tasks, binding: dict[str, str], world: World, start: State
) -> Iterator[tuple[list[Atom], set[tuple[int, int]]]]:
    ways = [list(_ways(problem, each.task.substitute(binding), world, start)) for each in network.subtasks]
    for chosen in product(*ways):
        places, steps, pairs = [], [], set()
        for inner, order in chosen:
            places.append(range(len(steps), len(steps) + len(inner)))
            pairs |= {(len(steps) + a, len(steps) + b) for a, b in order}
            steps += inner
        order = _transitive(network)
        yield steps, pairs | {(a, b) for first, second in order for a in places[first] for b in places[second]}


def _transitive(network: Tasks) -> set[tuple[int, int]]:
    order = set(network.ordering)
    while True:
        more = {(a, d) for a, b in order for c, d in order if b == c}
        if more <= order:
            return order
        order |= more


def _ways(
    problem: HtnProblem, task: Atom, world: World, start: State
) -> Iterator[tuple[list[Atom], set[tuple[int, int]]]]:
    """Yield the decompositions of one task. Preconditions of methods are about what never changes."""
    if task.predicate in problem.domain.actions:
        yield [task], set()
        return
    for method in problem.domain.methods.values():
        if method.task.predicate != task.predicate:
            continue
        given = dict(zip(method.task.args, task.args, strict=True))
        for binding in _bindings(method, given, world, start):
            if world.holds(method.precondition, start, binding):
                yield from _networks(problem, method.network, binding, world, start)


def _bindings(method: Method, given: dict[str, str], world: World, start: State) -> Iterator[dict[str, str]]:
    free = [each for each in method.parameters if each.name not in given]
    names = [world.of_types(each.types, start) or ["new"] for each in free]
    for found in product(*names):
        yield {**given, **dict(zip([each.name for each in free], found, strict=True))}
