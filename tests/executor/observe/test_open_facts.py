"""What is certain of a condition, and the facts that may still decide it, against all completions of what is known."""

import random
from itertools import product

import pytest

from executor.observe.condition_facts import find_alternatives, find_open_facts, list_conjuncts
from planner import Domain
from planner.model import And, Atom, Exists, Forall, Imply, Not, Or, Variable
from planner.model.formulas import substitute
from planner.semantics.simulation import Simulation

NAMES, OBJECTS = ("p", "q", "r"), ("a", "b")
FACTS = [Atom(name, (each,)) for name in NAMES for each in OBJECTS]


def draw(random_, depth, terms=OBJECTS, derived=()):
    """Return a random condition about facts of `NAMES` and `derived` ones."""
    kinds = (And, Or, Imply, Not, Forall, Exists) if depth else ()
    kind = random_.choice((Atom, *kinds))
    if kind is Atom:
        return Atom(random_.choice((*NAMES, *derived)), (random_.choice(terms),))
    if kind in {Forall, Exists}:
        return kind((Variable(f"?x{depth}", ("thing",)),), draw(random_, depth - 1, (*terms, f"?x{depth}"), derived))
    parts = [draw(random_, depth - 1, terms, derived) for _ in range({Not: 1}.get(kind, 2))]
    return kind(tuple(parts)) if kind in {And, Or} else kind(*parts)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_certain_holds_in_all_completions(seed):
    random_ = random.Random(seed)
    domain = Domain("things", types=["thing"])
    for name in NAMES:
        domain.predicate(name, "thing")
    domain.derive("far(o)", {"o": "thing"}, "(or (p ?o) (exists (?x - thing) (and (q ?x) (r ?o))))")
    domain.derive("far(o)", {"o": "thing"}, "(exists (?x - thing) (and (far ?x) (q ?o)))")
    problem = domain.problem(objects=dict.fromkeys(OBJECTS, "thing"), goal=["p(a)"])
    formula = draw(random_, 3, derived=("far",))
    known = {fact: random_.random() < 0.5 for fact in FACTS if random_.random() < 0.5}
    universe = Simulation(problem).rules.universe
    holds, facts = find_open_facts(formula, known.get, problem.domain, universe)
    others = [fact for fact in FACTS if fact not in known]
    values = {}
    for row in product((True, False), repeat=len(others)):
        state = known | dict(zip(others, row, strict=True))
        now = Simulation(domain.problem(objects=dict.fromkeys(OBJECTS, "thing"), goal=["p(a)"], initial=_texts(state)))
        value = now.holds(formula)
        assert holds is None or value is holds
        assert all(now.holds(each) for each in list_conjuncts(formula, universe)) is value
        decisive = tuple([state[fact] for fact in others if fact in facts])
        assert values.setdefault(decisive, value) is value  # the other facts decide nothing


def _texts(state):
    return [str(fact) for fact, holds in state.items() if holds]


def list_ways(formula, universe, holds=True):
    """Return the disjunctive normal form of a condition without derived facts, or of its negation."""
    match formula:
        case Atom():
            return [{(formula, holds)}]
        case Not(part):
            return list_ways(part, universe, not holds)
        case Imply(premise, conclusion):
            return list_ways(Or((Not(premise), conclusion)), universe, holds)
        case Forall((variable,), part) | Exists((variable,), part):
            parts = [substitute(part, {variable.name: each}) for each in universe.of_types(variable.types)]
            return list_ways((And if isinstance(formula, Forall) else Or)(tuple(parts)), universe, holds)
    ways = [list_ways(each, universe, holds) for each in formula.parts]
    if isinstance(formula, And) is holds:
        return [set[tuple[Atom, bool]]().union(*row) for row in product(*ways)]
    return [each for some in ways for each in some]


@pytest.mark.parametrize("seed", range(200))
def test_facts_of_other_ways_are_those_of_the_disjunctive_normal_form(seed):
    random_ = random.Random(seed)
    domain = Domain("things", types=["thing"])
    for name in NAMES:
        domain.predicate(name, "thing")
    problem = domain.problem(objects=dict.fromkeys(OBJECTS, "thing"), goal=["p(a)"])
    formula, universe = draw(random_, 3), Simulation(problem).rules.universe
    known = {fact: random_.random() < 0.5 for fact in FACTS if random_.random() < 0.2}
    ways = [
        each for each in list_ways(formula, universe) if all(known.get(fact, holds) is holds for fact, holds in each)
    ]
    ways = [{(fact, holds) for fact, holds in each if fact not in known} for each in ways]
    own = {(fact, random_.random() < 0.8) for fact in random_.sample(FACTS, 2)}
    facts = {fact for each in ways for fact in each}
    alone = facts - own - {fact for each in ways if each & own for fact in each}
    wanted = alone if any(each & own for each in ways) else set()
    assert {*find_alternatives(formula, own, known.get, problem.domain, universe)} - own == wanted
