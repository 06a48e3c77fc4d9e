"""Starts, ends and changes at known times as steps of a problem without time: what a plan in time costs at least.

A step costs at its start what it costs in all, and its end needs the start. When all this happens, capacities, and what
must hold throughout others are left out. So the happenings of a plan in time, one after another, are a plan of the
compiled problem at the same cost; an optimum of that bounds the costs of plans in time, and without a plan there is
none in time.
"""

from __future__ import annotations

from itertools import product
from math import prod

from planner.compilations.sequential_steps import costs_of_steps
from planner.grounding.ground_temporal import add_running, hard_deadlines, running
from planner.lightweight import Final, replace
from planner.model.actions import Action, NumericEffect, negated_atoms
from planner.model.domain import Function, TypeHierarchy
from planner.model.formulas import Atom, Comparison, Not, with_conjuncts
from planner.model.problem import Metric, Problem
from planner.semantics.snap_actions import make_snap_problem


def price_happenings(problem: Problem) -> Problem:
    """Return the problem whose plans cost no more than what plans in time of `problem` pay for their steps.

    Raises `UnsupportedError` as `make_snap_problem` does.
    """
    domain, costs = problem.domain, costs_of_steps(problem)
    free = {name: replace(action, holds={}) for name, action in domain.actions.items()}
    snap = make_snap_problem(replace(problem, domain=replace(domain, actions=free), capacity={}))
    found = add_running(snap, hard_deadlines(problem))
    actions = dict(found.domain.actions)
    for name, moments in snap.actions.items():
        actions[moments.start] = replace(actions[moments.start], cost=costs[name])
        if moments.end:
            actions[moments.end] = _keep_running(actions[moments.end], running(name))
        actions.pop(moments.lasting, None)
    return replace(found, domain=replace(found.domain, actions=actions), metric=Metric.COST)


MOST_INSTANCES: Final = 2_000
"""Instances of actions whose running steps are counted at most."""


def value_happenings(problem: Problem) -> Problem | None:
    """Return the problem whose plans cost no more than plans in time of `problem`, whose metric is about numbers alone.

    Each step ends once: a number says how many steps of an action run. Return None where these would be many. Raises
    `UnsupportedError` as `make_snap_problem` does.
    """
    found, snap = price_happenings(problem), make_snap_problem(problem)
    objects = TypeHierarchy(problem.domain.types).objects_by_type(problem.all_objects)
    actions, functions, values = dict(found.domain.actions), dict(found.domain.functions), dict(found.values)
    for name, moments in snap.actions.items():
        if not moments.end:
            continue
        parameters = problem.domain.actions[name].parameters
        choices = [dict.fromkeys(each for kind in one.types for each in objects.get(kind, ())) for one in parameters]
        if prod(map(len, choices)) + len(values) > MOST_INSTANCES + len(problem.values):
            return None
        runs = Atom(f"{name} runs", tuple([each.name for each in parameters]))
        functions[runs.predicate] = Function(runs.predicate, parameters)
        values |= {Atom(runs.predicate, arguments): 0 for arguments in product(*choices)}
        start, end = actions[moments.start], actions[moments.end]
        actions[moments.start] = replace(start, numbers=(*start.numbers, NumericEffect(runs, "+=", 1)))
        actions[moments.end] = replace(
            end,
            requires=with_conjuncts(end.requires, Comparison(runs, ">=", 1)),
            numbers=(*end.numbers, NumericEffect(runs, "-=", 1)),
        )
    domain = replace(found.domain, actions=actions, functions=functions)
    return replace(found, domain=domain, values=values, metric=problem.metric)


def _keep_running(end: Action, predicate: str) -> Action:
    """Return `end` without ending the fact of `predicate` that its step runs: steps may overlap themselves."""
    ended = {Not(fact) for fact in negated_atoms(end.provides) if fact.predicate == predicate}
    return replace(end, provides=tuple([each for each in end.provides if each not in ended]))
