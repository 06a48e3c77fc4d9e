"""A cache of plans never claims what search would not: on renamed problems, and on ones that differ a little."""

from __future__ import annotations

import random

from random_tasks import with_random_constraints, with_random_wishes

from benchmarks.random_problems import ALL, random_problem
from planner import Problem, Status, solve, validate
from planner.lightweight import replace
from planner.model import Object
from planner.model.formulas import substitute
from planner.reuse.plan_cache import PlanCache
from planner.reuse.problem_shapes import shape_of


def wishful(seed: int) -> Problem:
    rng = random.Random(seed)
    problem = random_problem(rng)
    if rng.random() < 0.6:
        problem = with_random_constraints(problem, rng, ALL, soft=0.5)
    return with_random_wishes(problem, rng, ALL) if rng.random() < 0.5 else problem


def renamed(problem: Problem, rng: random.Random) -> Problem:
    """Return `problem` with other names for its objects, in another order."""
    constants = {each.name for each in problem.domain.constants}
    names = [each.name for each in problem.objects if each.name not in constants]
    other = [f"x{number}" for number in range(len(names))]
    rng.shuffle(other)
    return with_names(problem, dict(zip(names, other, strict=True)), rng)


def swapped(problem: Problem, rng: random.Random) -> Problem:
    """Return `problem` without a fact, or with two objects exchanged in one part: it may mean something else then."""
    if problem.initial and rng.random() < 0.5:
        return replace(problem, initial=tuple(rng.sample(problem.initial, len(problem.initial) - 1)))
    constants = {each.name for each in problem.domain.constants}
    names = [each.name for each in problem.objects if each.name not in constants]
    if len(names) < 2:
        return problem
    one, other = rng.sample(names, 2)
    if next(each.types for each in problem.objects if each.name == one) != next(
        each.types for each in problem.objects if each.name == other
    ):
        return problem
    found = with_names(problem, {one: other, other: one}, rng)
    part = rng.choice(["initial", "goal", "constraints", "values"])
    return replace(problem, **{part: getattr(found, part)})


def with_names(problem: Problem, new: dict[str, str], rng: random.Random) -> Problem:
    objects = [Object(new.get(each.name, each.name), each.types) for each in problem.objects]
    initial = [atom.substitute(new) for atom in problem.initial]
    rng.shuffle(objects)
    rng.shuffle(initial)
    soft = tuple([replace(each, condition=substitute(each.condition, new)) for each in problem.goal.soft])
    return replace(
        problem,
        objects=tuple(objects),
        initial=tuple(initial),
        goal=replace(problem.goal, hard=substitute(problem.goal.hard, new), soft=soft),
        values={term.substitute(new): number for term, number in problem.values.items()},
        constraints=tuple(
            [each.mapped(lambda f: substitute(f, new), lambda a: a.substitute(new)) for each in problem.constraints]
        ),
        ran=tuple([atom.substitute(new) for atom in problem.ran]),
    )


def test_what_a_cache_answers_is_what_search_answers() -> None:
    kept = hits = differ = 0
    for seed in range(90):
        rng = random.Random(f"reuse {seed}")
        problem = wishful(seed)
        other, changed = renamed(problem, rng), swapped(problem, rng)
        kept += shape_of(problem).text == shape_of(other).text
        cache = PlanCache()
        first = cache.solve(problem, time_limit=5)
        for each in (other, changed):
            found, direct = cache.solve(each, time_limit=5), solve(each, time_limit=5)
            if Status.UNKNOWN in (found.status, direct.status):
                continue
            assert found.status is direct.status, seed
            assert found.lower_bound == direct.lower_bound, seed
            assert found.net_benefit == direct.net_benefit, seed
            if found.plan is not None and direct.plan is not None:
                assert found.plan.charge == direct.plan.charge, seed
                assert validate(each, found.plan).valid
                differ += direct.plan.charge != getattr(first.plan, "charge", None)
        hits += cache.savings.hits
    assert kept >= 80
    assert hits >= 20
    assert differ >= 2
