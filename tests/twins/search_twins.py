"""Random ground tasks, and the slow, obvious twins of what search does with them: states are sets."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, replace

from planner.model import Atom
from planner.plan import Step
from planner.search.search_run import Ending
from planner.task.ground_task import INFINITY, AxiomLayer, ConditionalEffect, GroundAction, Rule, Task

Facts = frozenset[int]


def fact_names(count: int) -> tuple[Atom, ...]:
    return tuple([Atom(f"f{number}") for number in range(count)])


def action(number: int, *, precondition=(), adds=(), deletes=(), conditional=(), cost=1) -> GroundAction:
    return GroundAction(
        Step(f"a{number}", (), cost),
        tuple(sorted(precondition)),
        tuple(sorted(adds)),
        tuple(sorted(set(deletes) - set(adds))),
        tuple(conditional),
        cost,
    )


@dataclass
class Maker:
    """Makes one random task: at most one fact of each variable holds; some facts may be derived."""

    draw: random.Random
    conditional: bool = True
    axioms: bool = True
    max_cost: int = 3

    def task(self) -> Task:
        sizes = [self.draw.choice([1, 2, 3, 4]) for _ in range(self.draw.randint(3, 5))]
        self.variables, fact = [], 0
        for size in sizes:
            self.variables.append(tuple(range(fact, fact + size)))
            fact += size
        self.base = fact
        layers = self.layers() if self.axioms and self.draw.random() < 0.5 else ()
        self.readable = list(range(fact)) + [f for layer in layers for f in self.heads_of(layer)]
        count = fact + len({f for layer in layers for f in self.heads_of(layer)})
        initial = [self.draw.choice(v) for v in self.variables if len(v) > 1 or self.draw.random() < 0.5]
        actions = [self.action(number) for number in range(self.draw.randint(4, 12))]
        goal = sorted(self.draw.sample(self.readable, self.draw.randint(1, min(3, len(self.readable)))))
        return Task(
            fact_names(count),
            tuple(self.variables),
            tuple(sorted(initial)),
            tuple(goal),
            tuple(actions),
            layers,
            derived=frozenset(range(fact, count)),
        )

    def heads_of(self, layer: AxiomLayer) -> set[int]:
        return {rule.head for rule in layer.rules} | {negated for negated, _ in layer.negated}

    def layers(self) -> tuple[AxiomLayer, ...]:
        first, below, made = self.base, list(range(self.base)), []
        for _ in range(self.draw.randint(1, 2)):
            heads = list(range(first, first + self.draw.randint(1, 2)))
            rules = [
                Rule(tuple(sorted(set(self.draw.sample(below + heads, self.draw.randint(1, 2))) - {head})), head)
                for head in heads
                for _ in range(self.draw.randint(1, 2))
            ]
            negated = tuple([(heads[-1] + 1 + place, head) for place, head in enumerate(heads)])
            made.append(AxiomLayer(tuple(rules), negated))
            first = heads[-1] + 1 + len(negated)
            below = below + list(range(heads[0], first))
        return tuple(made)

    def condition(self, most: int) -> list[int]:
        chosen = self.draw.sample(self.readable, self.draw.randint(0, min(most, len(self.readable))))
        variable = {fact: place for place, facts in enumerate(self.variables) for fact in facts}
        return list({variable.get(fact, -1 - fact): fact for fact in chosen}.values())

    def change(self, variable: tuple[int, ...]) -> tuple[list[int], list[int]]:
        fact = self.draw.choice(variable)
        if len(variable) == 1:
            return ([fact], []) if self.draw.random() < 0.5 else ([], [fact])
        return [fact], [other for other in variable if other != fact]

    def action(self, number: int) -> GroundAction:
        adds, deletes, conditional = [], [], []
        for variable in self.variables:
            roll = self.draw.random()
            if roll < 0.3:
                added, deleted = self.change(variable)
                adds, deletes = adds + added, deletes + deleted
            if (roll > 0.7 or len(variable) == 1) and self.conditional and self.draw.random() < 0.5:
                added, deleted = self.change(variable)
                conditional.append(ConditionalEffect(tuple(sorted(self.condition(2))), tuple(added), tuple(deleted)))
        cost = self.draw.randint(0, self.max_cost)
        return action(
            number,
            precondition=self.condition(2),
            adds=adds,
            deletes=deletes,
            conditional=conditional,
            cost=cost,
        )


def random_task(seed: int, **options) -> Task:
    return Maker(random.Random(seed), **options).task()


def unit_costs(task: Task) -> Task:
    return replace(task, actions=tuple([replace(a, cost=1, step=replace(a.step, cost=1)) for a in task.actions]))


def closed(task: Task, state: Facts) -> Facts:
    """The state with its derived facts: rules are tried until nothing changes, layer by layer."""
    facts = set(state)
    for layer in task.axioms:
        while True:
            more = {rule.head for rule in layer.rules if facts.issuperset(rule.body)} - facts
            if not more:
                break
            facts |= more
        facts |= {fact for fact, derived in layer.negated if derived not in facts}
    return frozenset(facts)


def applied(task: Task, state: Facts, number: int) -> Facts | None:
    """The state after the action, or None where it cannot be applied."""
    full, chosen = closed(task, state), task.actions[number]
    if not full.issuperset(chosen.precondition):
        return None
    effects = [(chosen.adds, chosen.deletes)]
    effects += [(e.adds, e.deletes) for e in chosen.conditional if full.issuperset(e.condition)]
    deleted = {fact for _, deletes in effects for fact in deletes}
    added = {fact for adds, _ in effects for fact in adds}
    return frozenset((state - deleted) | added)


def successors(task: Task, state: Facts) -> list[tuple[int, Facts]]:
    after = [(number, applied(task, state, number)) for number in range(len(task.actions))]
    return [(number, child) for number, child in after if child is not None]


def is_goal(task: Task, state: Facts) -> bool:
    return closed(task, state).issuperset(task.goal)


def reachable(task: Task) -> dict[Facts, list[tuple[int, Facts]]]:
    """Every reachable state with its successors."""
    found: dict[Facts, list[tuple[int, Facts]]] = {}
    waiting = [frozenset(task.initial)]
    while waiting:
        state = waiting.pop()
        if state not in found:
            found[state] = successors(task, state)
            waiting += [child for _, child in found[state]]
    return found


def perfect(task: Task) -> dict[Facts, int]:
    """What the cheapest plan costs from each reachable state (`INFINITY` without a plan)."""
    edges = reachable(task)
    back: dict[Facts, list[tuple[Facts, int]]] = {state: [] for state in edges}
    for state, below in edges.items():
        for number, child in below:
            back[child].append((state, task.actions[number].cost))
    value = dict.fromkeys(edges, INFINITY)
    heap = [(0, place, state) for place, state in enumerate(edges) if is_goal(task, state)]
    value.update({state: 0 for _, _, state in heap})
    while heap:
        cost, place, state = heapq.heappop(heap)
        for before, step in back[state] if cost == value[state] else ():
            if cost + step < value[before]:
                value[before] = cost + step
                heapq.heappush(heap, (cost + step, place, before))
    return value


def replayed(task: Task, plan: list[int]) -> int:
    """The cost of a plan, after asserting that it works."""
    state = frozenset(task.initial)
    for number in plan:
        after = applied(task, state, number)
        assert after is not None, f"a{number} cannot be applied"
        state = after
    assert is_goal(task, state)
    return sum(task.actions[number].cost for number in plan)


def finished(steps, most: int = 200_000) -> Ending:
    """How a search ends."""
    for _ in range(most):
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value
    raise AssertionError("the search does not end")
