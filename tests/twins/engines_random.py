"""Small random problems of the whole ADL level, and the plain search that knows all about them."""

from __future__ import annotations

import random
from collections import deque
from heapq import heappop, heappush
from itertools import count

from planner.model.actions import Action, When
from planner.model.domain import Axiom, DomainModel, Predicate
from planner.model.formulas import OPEN, And, Atom, Equals, Exists, Forall, Imply, Not, Object, Or, Variable
from planner.model.problem import Goal, Problem
from planner.semantics.simulation import Simulation

TYPES = {"thing": (), "box": ("thing",), "cart": ("thing",), "both": ("box", "cart")}
TYPE_SETS = [("thing",), ("box",), ("cart",), ("both",), ("box", "cart"), ("object",)]
OBJECTS = (Object("b", ("box",)), Object("C d", ("cart",)), Object("both-of", ("both",)), Object("B", ("box", "cart")))
TREE = {"thing": (), "box": ("thing",), "cart": ("thing",), "crate": ("box",)}
TREE_SETS = [("thing",), ("box",), ("cart",), ("crate",), ("crate",), ("object",)]
TREE_OBJECTS = (Object("b", ("box",)), Object("C d", ("cart",)), Object("B", ("box",)))
PREDICATES = {
    "on": Predicate("on", (Variable("?x", ("box",)), Variable("?y", ("thing",)))),
    "At": Predicate("At", (Variable("?x", ("object",)),)),
    "ready": Predicate("ready"),
}


class Draw:
    """Draws a problem; `axioms` and `costs` as asked for. The types of a `tree` may have no objects."""

    def __init__(self, seed, *, axioms=False, costs=False, tree=False):
        self.random = random.Random(seed)
        self.axioms, self.costs = axioms, costs
        self.types, self.type_sets = (TREE, TREE_SETS) if tree else (TYPES, TYPE_SETS)
        self.objects = TREE_OBJECTS if tree else OBJECTS

    def problem(self):
        actions = {f"act {number}": self.action(f"act {number}") for number in range(4)}
        axioms = (Axiom("high", (Variable("?x", ("thing",)),), self.formula(["?x"], 2)),) if self.axioms else ()
        predicates = PREDICATES | ({"high": Predicate("high", (Variable("?x", ("thing",)),))} if self.axioms else {})
        domain = DomainModel("random", self.types, self.objects[:1], predicates, actions=actions, axioms=axioms)
        facts = tuple(dict.fromkeys(self.atom([], derived=False) for _ in range(3)))
        return Problem("random", domain, self.objects[1:], facts, Goal(And((*self.wishes(facts), self.formula([], 1)))))

    def wishes(self, facts):
        """Return two atoms that do not hold yet, derived ones included where there are any."""
        drawn = [self.atom([], derived=self.axioms) for _ in range(20)]
        return [atom for atom in drawn if atom not in facts][:2]

    def action(self, name):
        names = ["?x", "?y"][: self.random.randrange(3)]
        inner = [*names, "?all"]
        effects = [When(self.formula(inner, 1), (self.literal(inner),), (), (self.variable("?all"),))]
        effects.append(When(self.formula(names, 1), (self.literal(names), self.literal(names))))
        return Action(
            name,
            tuple([self.variable(each) for each in names]),
            self.formula(names, self.random.randrange(3), derived=self.axioms),
            provides=(self.literal(names), self.literal(names)),
            modifies=(Atom("At", (OPEN,)),) if self.random.random() < 0.3 else (),
            when=tuple(self.random.sample(effects, self.random.randrange(3))),
            cost=(self.random.choice([0, 1, 2, 5]),) if self.costs else (1,),
        )

    def variable(self, name):
        return Variable(name, self.random.choice(self.type_sets))

    def term(self, names):
        return self.random.choice([*names, *names, *[item.name for item in self.objects]])

    def atom(self, names, *, derived):
        name = self.random.choice(["on", "At", "At", "ready", *(["high", "high"] if derived else [])])
        count = {"on": 2, "ready": 0}.get(name, 1)
        return Atom(name, tuple([self.term(names) for _ in range(count)]))

    def literal(self, names):
        atom = self.atom(names, derived=False)
        return atom if self.random.random() < 0.6 else Not(atom)

    def formula(self, names, depth, *, derived=False):
        if depth == 0 or self.random.random() < 0.3:
            kind = self.random.randrange(6)
            if kind == 0:
                return Equals(self.term(names), self.term(names))
            atom = self.atom(names, derived=derived)
            return Not(atom) if kind == 1 else atom
        kind = self.random.choice([And, And, Or, Imply, Not, Exists, Forall])
        if kind in (Exists, Forall):
            name = self.random.choice(["?x", "?q"])
            return kind((self.variable(name),), self.formula([*names, name], depth - 1, derived=derived))
        parts = tuple(self.formula(names, depth - 1, derived=derived) for _ in range(2))
        return Not(parts[0]) if kind is Not else kind(*parts) if kind is Imply else kind(parts)


def states(problem, limit=150):
    """Return what can be done in each reachable state, `{facts: (is goal, {step: facts})}`; None past `limit`."""
    first = Simulation(problem)
    found, queue = {}, deque([first])
    while queue:
        current = queue.popleft()
        if current.facts in found:
            continue
        after = {}
        for step in current.applicable():
            twin = current.copy()
            twin.apply(step)
            after[step] = twin.facts
            queue.append(twin)
        found[current.facts] = (current.holds(problem.goal.hard), after)
        if len(found) > limit:
            return None
    return found


def cheapest(graph):
    """Return the steps and the cost of a cheapest plan in what `states` returned, or None (Dijkstra, 1959)."""
    start = next(iter(graph))
    best, queue, turn = {start: 0}, [(0, 0, start, ())], count(1)
    while queue:
        cost, _, facts, steps = heappop(queue)
        is_goal, after = graph[facts]
        if is_goal:
            return steps, cost
        for step, then in after.items() if cost == best[facts] else ():
            if cost + step.cost < best.get(then, float("inf")):
                best[then] = cost + step.cost
                heappush(queue, (best[then], next(turn), then, (*steps, step)))
    return None
