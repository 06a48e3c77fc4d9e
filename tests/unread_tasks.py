"""Random tasks with unknown numbers and without traps: what an action does, another one undoes."""

from __future__ import annotations

import random
from collections.abc import Mapping

from planner import Domain, When
from planner.lightweight import replace
from planner.model import Atom, Problem
from planner.model.problem import seal
from planner.model.unknown_numbers import known_fact

ITEMS = ("a", "b")
VALUES = (1, 4, 9)
RELATIONS = ("<", "<=", ">", ">=", "=")


def compare(random_: random.Random, left: str) -> str:
    relation, bound = random_.choice(RELATIONS), random_.choice((0, 1, 3, 4, 8, 13))
    condition = f"({relation} {left} {bound})"
    return f"(not {condition})" if random_.random() < 0.3 else condition


def condition(random_: random.Random, item: str) -> str:
    amounts = [f"(amount {item})", "(+ (amount a) (amount b))", "(total)", f"(- (amount {item}) (total))"]
    first = compare(random_, random_.choice(amounts))
    match random_.randrange(5):
        case 0:
            return f"(or {first} {compare(random_, random_.choice(amounts))})"
        case 1:
            return f"(and {first} {compare(random_, random_.choice(amounts))})"
        case 2:
            return f"(forall (?y - item) {compare(random_, '(amount ?y)')})"
        case 3:
            return f"(exists (?y - item) {compare(random_, '(amount ?y)')})"
    return first


def make_task(seed: int) -> Problem:
    """Return the task of `seed`."""
    random_ = random.Random(seed)
    domain = Domain("random", types=["item"])
    for name in ITEMS:
        domain.constant(name, "item")
    domain.function("amount", ["item"], low=random_.choice((None, 0)), high=random_.choice((None, 9)))
    domain.function("total", low=0, high=20)
    reads = random_.choice(["each", "all", "both"])
    if reads in ("each", "both"):
        wanted = random_.choice([[], ["open"]])
        domain.action("read", {"x": "item"}, requires=wanted, senses=["amount(x)"], tags=["read_only"])
    if reads in ("all", "both"):
        domain.action("read_all", senses=["amount(_)"], cost=random_.choice((1, 5)))
    domain.action("unlock", provides=["open"], cost=random_.choice((1, 2)))
    domain.action("clear", modifies=["total := 0"])
    domain.action("take", {"x": "item"}, modifies=[random_.choice(["total := amount(x)", "total += amount(x)"])])
    for number in range(2):
        when = [When(condition(random_, "a"), [f"extra{number}"])] if random_.random() < 0.3 else []
        domain.action(
            f"do{number}",
            requires=[condition(random_, "?x")] if random_.random() < 0.8 else [],
            provides=[f"done{number}"],
            parameters={"x": "item"},
            when=when,
            cost=random_.choice((1, 3)),
        )
    domain.action("other", requires=[condition(random_, "b")], provides=["done0"], cost=4)
    goal = ["done0", *(["done1"] if random_.random() < 0.5 else [])]
    goal += [condition(random_, "a")] if random_.random() < 0.4 else []
    extra = [f"extra{number}" for number in range(2) if domain.model.actions[f"do{number}"].when]
    goal += extra if random_.random() < 0.5 else []
    unknown = random_.choice([["amount(_)"], ["amount(a)"]])
    supposed = {f"amount({x})": random_.choice(VALUES) for x in ITEMS if random_.random() < 0.5}
    if unknown == ["amount(a)"]:
        supposed["amount(b)"] = random_.choice(VALUES)
    return domain.problem(values={"total": 0, **supposed}, unknown=unknown, goal=goal)


def know(problem: Problem, values: Mapping[Atom, int]) -> Problem:
    """Return `problem` with these values known."""
    facts = tuple(dict.fromkeys([*problem.initial, *map(known_fact, values)]))
    return seal(replace(problem, initial=facts, values={**problem.values, **values}))
