"""Conditions for values: a static fact says that a function has a value, and actions that need the value require it.

Other planners read no undefined values: they refuse a task whose costs lack one, or take them for 0.
"""

from __future__ import annotations

from planner.compilations import reserve_name
from planner.lightweight import replace
from planner.model.domain import Predicate
from planner.model.formulas import Atom, Variable, functions_in, with_conjuncts
from planner.model.problem import Problem
from planner.semantics.undefined_values import ValueTests


def require_values(problem: Problem, naming: str = "has-{}") -> Problem:
    """Return `problem` where each action requires that its amounts have values; itself where none can lack one.

    The predicates of these conditions are called by the names of their functions, put into `naming`.
    """
    tests = ValueTests(problem)
    needed = {name: tests.find_open(action) for name, action in problem.domain.actions.items()}
    if not any(needed.values()):
        return problem
    domain, names = problem.domain, dict[str, str]()
    predicates, actions = dict(domain.predicates), dict(domain.actions)
    for name, amounts in needed.items():
        facts = []
        for term in dict.fromkeys(each for amount in amounts for each in functions_in(amount)):
            if term.predicate not in names:
                names[term.predicate] = reserve_name(naming.format(term.predicate), {*predicates, *domain.functions})
                predicates[names[term.predicate]] = _make_predicate(names[term.predicate], term, problem)
            facts.append(Atom(names[term.predicate], term.args))
        if facts:
            requires = with_conjuncts(actions[name].requires, *facts)
            actions[name] = replace(actions[name], requires=requires)
    known = [Atom(names[each.predicate], each.args) for each in problem.values if each.predicate in names]
    changed = replace(domain, actions=actions, predicates=predicates)
    return replace(problem, domain=changed, initial=(*problem.initial, *known), seal=())


def _make_predicate(name: str, term: Atom, problem: Problem) -> Predicate:
    declared = problem.domain.functions.get(term.predicate)
    unknown = tuple([Variable(f"?x{place}") for place in range(len(term.args))])
    return Predicate(name, unknown if declared is None else declared.parameters)
