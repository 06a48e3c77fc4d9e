"""What is certain of a condition, and the facts that may still decide it, against all completions of what is known."""

import random
from itertools import product

import pytest

from executor.observe.condition_facts import find_open_facts, list_conjuncts
from planner import Domain
from planner.model import And, Atom, Exists, Forall, Imply, Not, Or, Variable
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
