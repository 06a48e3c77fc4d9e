"""What a condition rests on, against trying all that uncertain facts may be."""

import random
from itertools import chain, combinations

import pytest

from executor.events.events import Note, Provenance
from executor.observe.beliefs import Beliefs
from planner import Domain
from planner.model import And, Atom, Exists, Forall, Imply, Not, Or, Variable

FACTS = [Atom(name, (thing,)) for name in "pq" for thing in "xy"]


def random_formula(dice, depth, variables=()):
    if depth == 0:
        fact = Atom(dice.choice("pqd"), (dice.choice(["x", "y", *variables]),))
        return dice.choice([fact, Not(fact)])
    kind = dice.choice(["and", "or", "imply", "not", "forall", "exists"])
    if kind in {"forall", "exists"}:
        name = f"?v{depth}"
        part = random_formula(dice, depth - 1, (*variables, name))
        return (Forall if kind == "forall" else Exists)((Variable(name, ("thing",)),), part)
    parts = tuple(random_formula(dice, depth - 1, variables) for _ in range(2))
    match kind:
        case "and":
            return And(parts)
        case "or":
            return Or(parts)
        case "imply":
            return Imply(*parts)
    return Not(parts[0])


def problem():
    """Return a domain in which `d` follows from `p` and `q` together."""
    domain = Domain("resting", types=["thing"])
    for name in "pq":
        domain.predicate(name, "thing")
    domain.derive("d(t)", {"t": "thing"}, ["p(t)", "q(t)"])
    return domain, dict.fromkeys("xy", "thing")


def worlds(beliefs, unsure):
    """Yield beliefs for each choice of what the uncertain facts may be."""
    for held in chain.from_iterable(combinations(unsure, count) for count in range(len(unsure) + 1)):
        yield beliefs.after(Note(fact, fact in held, Provenance.OBSERVED) for fact in unsure)


@pytest.mark.parametrize("block", range(10))
def test_where_a_condition_rests_on_nothing_uncertain_it_is_so_in_all_worlds(block):
    domain, objects = problem()
    counts = {True: 0, False: 0}
    for seed in range(60 * block, 60 * block + 60):
        dice = random.Random(seed)
        initial = [str(fact) for fact in dice.sample(FACTS, dice.randint(0, 4))]
        beliefs = Beliefs(domain.problem(objects=objects, initial=initial, goal=[]))
        unsure = dice.sample(FACTS, dice.randint(1, 4))
        depth = dice.randint(0, 3)
        formula = random_formula(dice, depth)
        found = beliefs.find_decisive(formula, unsure.__contains__)
        verdicts = {twin.is_true(formula) for twin in worlds(beliefs, unsure)}
        counts[bool(found)] += 1
        if not found:
            assert len(verdicts) == 1, (seed, str(formula))
        assert set(found) <= set(unsure)
        if isinstance(formula, Atom | Not) and "d(" not in str(formula) and depth == 0:
            assert bool(found) is (len(verdicts) == 2)
    assert min(counts.values()) > 5


@pytest.mark.parametrize(
    ("condition", "rests"),
    [
        ("(p x)", ["p(x)"]),
        ("(and (p x) (p y))", ["p(x)", "p(y)"]),
        ("(or (p x) (p y))", ["p(x)", "p(y)"]),
        ("(or (p x) (p y) (q y))", ["p(x)", "p(y)", "q(y)"]),
        ("(or (p x) (q x))", []),
        ("(and (q x) (not (p x)))", ["p(x)"]),
        ("(and (not (q x)) (p x))", []),
        ("(and (q y) (p x))", ["q(y)"]),
    ],
)
def test_what_a_condition_rests_on(condition, rests):
    domain, objects = problem()
    stated = domain.problem(objects=objects, initial=["p(x)", "p(y)", "q(x)"], goal=[condition])
    unsure = {Atom("p", ("x",)), Atom("p", ("y",)), Atom("q", ("y",))}
    assert sorted(map(str, Beliefs(stated).find_decisive(stated.goal.hard, unsure.__contains__))) == rests
