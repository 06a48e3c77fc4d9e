"""The value of the best policy of a small problem, by value iteration over all its states of knowledge.

A step whose condition misses one unknown fact may be dared: where the fact is not so, nothing changes, the step is paid
for, and the fact is known. Success comes first, then the utility of wishes, then the expected cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from pairs.enumeration import Node, follow, has_run, unknown_ways
from pairs.interpreter import Ground, State, World
from pairs.trajectories import Kept, Price, forgone, look_all, may_go_on

from planner.model import Atom, Not, Problem
from planner.model.problem import COST

SWEEPS = 400
SAME = 1e-9
SETTLED = 1e-12


@dataclass(frozen=True)
class Known:
    """What is known on the way: `open` are the facts that nobody knows yet."""

    node: Node
    open: frozenset[Atom]


Branch = tuple[float, Known]


@dataclass(frozen=True)
class Worth:
    """The probability of success, the expected utility, and the expected cost of the best policy."""

    success: float
    utility: float
    cost: float


class Policies:
    """The Markov decision process of one problem."""

    def __init__(self, problem: Problem) -> None:
        self.world, self.price = World(problem), Price(World(problem))
        self.problem = problem
        self.wishes = sum(float(each.utility) for each in problem.wishes)
        self.options: dict[Known, list[tuple[float, list[Branch]]]] = {}

    def best(self) -> Worth:
        """Return the worth of the best policy from the initial state."""
        start = self.world.start()
        kept = look_all(self.world, tuple([Kept() for _ in self.problem.constraints]), state=start)
        first = Known(Node(start, kept), frozenset(self.unknown(start)))
        self.explore(first)
        success = self.iterate({each: float(self.ending(each) is not None) for each in self.options}, None)
        best = {each: self.choose(each, success) for each in self.options}
        ends = {
            each: self.wished(each) if success[each] > 1 - SAME or self.is_end(each) else 0.0 for each in self.options
        }
        utility = self.iterate({each: ends[each] if self.is_end(each) else 0.0 for each in self.options}, best)
        final = {each: self.choose(each, utility, best[each]) for each in self.options}
        stops = {
            each: success[each] < SAME or (self.is_end(each) and self.wished(each) > utility[each] - SAME)
            for each in self.options
        }
        return Worth(success[first], utility[first], self.cheapest(final, stops)[first])

    def unknown(self, start: State) -> set[Atom]:
        return {fact for way in unknown_ways(self.problem) for fact in way if fact not in start.facts}

    def explore(self, first: Known) -> None:
        queue = [first]
        while queue:
            known = queue.pop()
            if known in self.options:
                continue
            self.options[known] = [*self.steps(known)]
            queue += [after for _, branches in self.options[known] for _, after in branches]

    def is_end(self, known: Known) -> bool:
        return self.ending(known) is not None

    def ending(self, known: Known) -> Fraction | None:
        """Return what a policy that ends here forgoes; None where it has no success."""
        if any(self.forgone(known, facts) is None for facts in self.ways(known)):
            return None
        return self.forgone(known, frozenset())

    def forgone(self, known: Known, facts: frozenset[Atom]) -> Fraction | None:
        state = replace(known.node.state, facts=known.node.state.facts | facts)
        return forgone(self.world, state, known.node.kept)

    def wished(self, known: Known) -> float:
        lost = self.ending(known)
        return 0.0 if lost is None else self.wishes - float(lost)

    def ways(self, known: Known) -> list[frozenset[Atom]]:
        """Return the ways in which the facts that nobody knows may turn out: none, each alone, all."""
        return [frozenset(), *[frozenset([each]) for each in known.open], known.open]

    def steps(self, known: Known) -> Iterator[tuple[float, list[Branch]]]:
        state = known.node.state
        for ground in self.world.ground(state):
            if not has_run(ground, state):
                continue
            holds = {facts: self.applies(ground, state, facts) for facts in self.ways(known)}
            if all(holds.values()):
                yield from self.take(known, ground)
                continue
            for fact in known.open:
                others = known.open - {fact}
                for truth in (True, False):
                    if self.decides(ground, state, fact, others) == truth:
                        yield from self.dare(known, ground, fact, truth=truth)

    def applies(self, ground: Ground, state: State, facts: frozenset[Atom]) -> bool:
        return self.world.holds(ground.action.requires, replace(state, facts=state.facts | facts), ground.binding)

    def decides(self, ground: Ground, state: State, fact: Atom, others: frozenset[Atom]) -> bool | None:
        """Return the truth of `fact` with which the condition holds, whatever `others` are; None where it is not so."""
        ways = [frozenset[Atom](), others]
        with_it = {self.applies(ground, state, way | {fact}) for way in ways}
        without = {self.applies(ground, state, way) for way in ways}
        if len(with_it) > 1 or len(without) > 1 or with_it == without:
            return None
        return with_it == {True}

    def likely(self, fact: Atom) -> float:
        return float(self.problem.likely.get(fact, 0.5))

    def tell(self, known: Known, fact: Atom, *, truth: bool) -> Known:
        state = known.node.state
        facts = state.facts | {fact} if truth else state.facts - {fact}
        return Known(replace(known.node, state=replace(state, facts=facts)), known.open - {fact})

    def dare(self, known: Known, ground: Ground, fact: Atom, *, truth: bool) -> Iterator[tuple[float, list[Branch]]]:
        chance = self.likely(fact) if truth else 1 - self.likely(fact)
        for cost, branches in self.take(self.tell(known, fact, truth=truth), ground):
            failed = self.spend(self.tell(known, fact, truth=not truth), branches[0][1].node)
            yield cost, [*[(chance * share, after) for share, after in branches], (1 - chance, failed)]

    @staticmethod
    def spend(known: Known, paid: Node) -> Known:
        """Return `known`, unchanged but for what was spent on the way to `paid`."""
        return replace(known, node=replace(known.node, cost=paid.cost, spent=paid.spent))

    def take(self, known: Known, ground: Ground) -> Iterator[tuple[float, list[Branch]]]:
        """Yield the cost and the branches of a step that can be taken."""
        risk, odds = ground.action.odds(ground.head.args)
        ways = [(float(chance), outcome) for chance, outcome in zip(odds, ground.action.outcomes, strict=True)]
        branches: list[Branch] = []
        cost = 0.0
        for chance, outcome in ways or [(1.0, None)]:
            action = ground.action
            if outcome is not None:
                action = replace(
                    action, provides=outcome.provides, modifies=outcome.modifies, numbers=outcome.numbers, outcomes=()
                )
            node = follow(self.world, known.node, Ground(action, ground.binding))
            if node is None or not may_go_on(self.world, node.kept):
                return
            cost += chance * float(self.charge(node) - self.charge(known.node))
            written = [each.part if isinstance(each, Not) else each for each in action.provides]
            settled = {each.substitute(ground.binding) for each in written} & known.open
            branches += [
                (chance * (1 - float(risk)) * share, after)
                for share, after in self.look(Known(self.drop(node), known.open - settled), ground)
            ]
        if risk:
            branches.append((float(risk), self.spend(known, branches[0][1].node)))
        if any(after != known for _, after in branches):
            yield cost, branches

    def look(self, known: Known, ground: Ground) -> Iterator[Branch]:
        seen = [each.substitute(ground.binding) for each in ground.action.senses]
        shares: list[Branch] = [(1.0, known)]
        for fact in sorted(known.open, key=str):
            if any(pattern.matches(fact) for pattern in seen):
                shares = [
                    (
                        share * (self.likely(fact) if truth else 1 - self.likely(fact)),
                        self.tell(after, fact, truth=truth),
                    )
                    for share, after in shares
                    for truth in (True, False)
                ]
        yield from shares

    def charge(self, node: Node) -> Fraction:
        return self.price.charge(node.state, node.cost, Fraction(0))

    def drop(self, node: Node) -> Node:
        """Return `node` without what was spent, where no budget counts it."""
        return node if COST in self.problem.budgets else replace(node, cost=Fraction(0))

    def value(self, branches: list[Branch], values: dict[Known, float]) -> float:
        return sum(share * values[after] for share, after in branches)

    def iterate(
        self, ends: dict[Known, float], allowed: dict[Known, list[tuple[float, list[Branch]]]] | None
    ) -> dict[Known, float]:
        """Return the greatest expected value of `ends`."""
        values = dict(ends)
        for _ in range(SWEEPS):
            before = dict(values)
            for known, options in (allowed or self.options).items():
                values[known] = max([ends[known], *[self.value(branches, values) for _, branches in options]])
            if is_settled(before, values):
                break
        return values

    def choose(
        self,
        known: Known,
        values: dict[Known, float],
        among: list[tuple[float, list[Branch]]] | None = None,
    ) -> list[tuple[float, list[Branch]]]:
        options = self.options[known] if among is None else among
        return [each for each in options if self.value(each[1], values) > values[known] - SAME]

    def cheapest(
        self, options: dict[Known, list[tuple[float, list[Branch]]]], stops: dict[Known, bool]
    ) -> dict[Known, float]:
        values = dict.fromkeys(options, 0.0)
        for _ in range(SWEEPS):
            before = dict(values)
            for known, own in options.items():
                costs = [cost + self.value(branches, values) for cost, branches in own]
                if stops[known]:
                    costs.append(0.0)
                values[known] = min(costs, default=0.0)
            if is_settled(before, values):
                break
        return values


def is_settled(before: dict[Known, float], values: dict[Known, float]) -> bool:
    return max((abs(values[each] - value) for each, value in before.items()), default=0.0) < SETTLED
