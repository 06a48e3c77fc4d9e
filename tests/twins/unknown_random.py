"""Random problems of which facts are unknown, and with actions that sense."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal

from benchmarks.random_problems import Features, random_problem
from planner.model import OPEN, Action, Atom, TypeHierarchy, Variable
from planner.model.formulas import atoms_in
from planner.model.unknown_facts import find_hidden_variables

SMALL = Features(objects=3, actions=4)


def random_unknown(seed, features=SMALL, most=4):
    """Return a random problem with at most `most` unknown facts; None where the draw has none."""
    rng = random.Random(seed)
    problem = random_problem(rng, features)
    domain = problem.domain
    read = [atom for action in domain.actions.values() for atom in atoms_in(action.requires)]
    names = [name for name in domain.predicates if name not in domain.derived]
    preferred = [name for name in dict.fromkeys(atom.predicate for atom in read) if name in names] or names
    for _ in range(20):
        chosen = rng.choice(preferred if rng.random() < 0.8 else names)
        drawn = [pattern(rng, problem, chosen) for _ in range(rng.randint(1, 2))]
        drawn = [each for each in drawn if each is not None]
        kept = tuple(fact for fact in problem.initial if not any(each.matches(fact) for each in drawn))
        asked = replace(problem, initial=kept, unknown=tuple(dict.fromkeys(drawn)))
        facts = [fact for variable in find_hidden_variables(asked) for fact in variable.facts]
        if 0 < len(facts) <= most:
            break
    else:
        return None
    likely = {fact: Decimal(rng.randint(1, 9)) / 10 for fact in facts if rng.random() < 0.3}
    return replace(asked, likely=likely, domain=replace(domain, actions=sensing(rng, asked)))


def pattern(rng, problem, name):
    """Return a pattern for facts of the predicate `name`: of the right types, half of its arguments open."""
    members = TypeHierarchy(problem.domain.types).objects_by_type(problem.all_objects)
    args = []
    for parameter in problem.domain.predicates[name].parameters:
        fitting = [each for kind in parameter.types for each in members.get(kind, ())]
        if not fitting:
            return None
        args.append(OPEN if rng.random() < 0.5 else rng.choice(fitting))
    return Atom(name, tuple(args))


def sensing(rng, problem):
    """Return the actions of `problem`, some of which sense, and some of which are careful."""
    actions = dict(problem.domain.actions)
    for number, name in enumerate(dict.fromkeys(each.predicate for each in problem.unknown)):
        if rng.random() < 0.7:
            kinds = problem.domain.predicates[name].parameters
            parameters = tuple(Variable(f"?x{place}", each.types) for place, each in enumerate(kinds))
            seen = tuple("_" if rng.random() < 0.3 else each.name for each in parameters)
            action = Action(f"sense{number}", parameters, senses=(Atom(name, seen),), cost=(rng.randint(0, 2),))
            actions[action.name] = action
    for name, action in actions.items():
        if rng.random() < 0.1:
            actions[name] = replace(action, tags=frozenset({"irreversible"}))
    return actions


def careful(problem, seed):
    """Return `problem` with most of the actions that do not sense tagged `irreversible` or `needs_observed`."""
    rng = random.Random(seed)
    actions = dict(problem.domain.actions)
    for name, action in actions.items():
        if not action.senses and rng.random() < 0.6:
            actions[name] = replace(action, tags=frozenset({rng.choice(["irreversible", "needs_observed"])}))
    return replace(problem, domain=replace(problem.domain, actions=actions))
