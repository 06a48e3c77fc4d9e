"""Plans for tasks on suppositions, against all decompositions in all cases, one by one."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations, product

import pytest
from effort import share
from unknown_combined import OBJECTS, Draw, counts_costs, draw_problem, value_of

from htn.compilations.methods_from_actions import as_htn
from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task, sequence
from planner import Status, solve, validate
from planner.language.declare.atom_syntax import parse_atom
from planner.model.formulas import TRUE, Atom, Not, substitute
from planner.model.problem import Goal
from planner.plan import Step
from planner.problem_kinds import resolve_problem
from planner.semantics.simulation import Simulation
from planner.testing import enumerate_worlds


def draw_tasks(seed, **kind):
    """Return two tasks, in order or not, over a tiny random problem with unknown facts."""
    rng = random.Random(seed)
    flat = resolve_problem(draw_problem(seed, **kind))
    flat = replace(flat, goal=Goal(flat.goal.hard if rng.random() < 0.3 else TRUE))
    draw, methods, tasks = Draw(rng), {}, {}
    for number in range(2):
        tasks[f"t{number}"] = Task(f"t{number}")
        for choice in range(rng.randint(1, 3)):
            steps = [
                Atom(action.name, tuple(rng.choice(OBJECTS) for _ in action.parameters))
                for action in rng.choices(list(flat.domain.actions.values()), k=rng.randint(1, 2))
            ]
            name, needs = f"m{number}{choice}", draw.literal(rng.choice(OBJECTS)) if rng.random() < 0.6 else ""
            formula = TRUE if not needs else _literal(needs)
            methods[name] = Method(name, Atom(f"t{number}"), (), formula, sequence(*steps))
    ordering = ((0, 1),) if rng.random() < 0.5 else ()
    network = Network(tuple(Subtask(Atom(name)) for name in tasks), ordering)
    return HtnProblem(HtnDomain(flat.domain, tasks, methods), flat, network)


def _literal(text):
    atom = parse_atom(text.removeprefix("not "))
    return Not(atom) if text.startswith("not ") else atom


def find_costs(problem, world):
    """Yield the cost of each plan for the two tasks of `problem` in `world`, by all choices and all orders."""
    choices = [problem.domain.methods_for(each.task.predicate) for each in problem.network.subtasks]
    for first, second in product(*choices):
        rows = [[each.task for each in method.network.subtasks] for method in (first, second)]
        size = len(rows[0]) + len(rows[1])
        places = [tuple(range(len(rows[0])))] if problem.network.ordering else combinations(range(size), len(rows[0]))
        for mine in places:
            cost = _run(world, (first, second), rows, mine, is_ordered=bool(problem.network.ordering))
            if cost is not None:
                yield cost


def _run(world, methods, rows, mine, *, is_ordered):
    """Return the cost of the steps where the first task has the places `mine`; None where they do not work."""
    state, spent, met, taken = Simulation(world), 0, [False, False], [0, 0]
    start = value_of(world, state)
    for place in range(len(rows[0]) + len(rows[1])):
        for number, method in enumerate(methods):
            is_late = is_ordered and number == 1 and taken[0] < len(rows[0])
            met[number] |= not taken[number] and not is_late and state.holds(substitute(method.precondition, {}))
        number = 0 if place in mine else 1
        atom = rows[number][taken[number]]
        step = Step(atom.predicate, atom.args)
        if not met[number] or state.find_objection(step) is not None:
            return None
        spent += sum(world.domain.actions[step.action].cost)
        state.apply(step)
        taken[number] += 1
    if not state.holds(world.goal.hard):
        return None
    return value_of(world, state) - start + (spent if counts_costs(world) else 0)


@pytest.mark.drawn
@pytest.mark.parametrize("part", share(range(20), 2))
def test_plans_for_tasks_work_wherever_what_they_suppose_holds(part) -> None:
    for seed in range(3 * part, 3 * part + 3):
        for kind in ({"numbers": False}, {}, {"careful": True}):
            problem = draw_tasks(seed, **kind)
            check_tasks(problem, solve(problem, time_limit=20), is_careful="careful" in kind)


def check_tasks(problem, result, *, is_careful=False) -> bool:
    """Check all that `result` claims, and return whether its plan supposes anything."""
    worlds = [world for _, world in enumerate_worlds(problem.classical)]
    cases = [(world, min(find_costs(problem, world), default=None)) for world in worlds]
    costs = [cost for _, cost in cases if cost is not None]
    if result.plan is None:
        assert result.status is (Status.UNKNOWN if costs else Status.UNSOLVABLE) or is_careful
        assert is_careful or not costs
        assert not (result.status is Status.UNSOLVABLE and costs)
        return False
    assert result.lower_bound is None or result.lower_bound <= min(costs)
    supposed = result.plan.suppositions
    fitting = [world for world in worlds if all((each.fact in world.initial) is each.holds for each in supposed)]
    assert fitting
    for world in fitting:
        known = replace(problem, classical=world)
        assert validate(known, replace(result.plan, problem=known)).valid
    assert result.status is Status.SOLVED or (not supposed and result.cost == min(costs))
    verdict = validate(problem, result.plan)
    assert (verdict.valid, verdict.suppositions) == (True, supposed)
    return bool(supposed)


@pytest.mark.drawn
@pytest.mark.parametrize("part", share(range(12), 1))
def test_derived_tasks_suppose_as_actions_do(part) -> None:
    for seed in range(2 * part, 2 * part + 2):
        for kind in ({"numbers": False}, {}):
            flat = resolve_problem(draw_problem(seed, **kind))
            result, other = solve(as_htn(flat), time_limit=20), solve(flat, time_limit=20)
            assert (result.plan is None) is (other.plan is None)
            assert result.status is other.status or Status.SOLVED in (result.status, other.status)
            if result.plan is not None:
                supposed = {each.fact: each.holds for each in result.plan.suppositions}
                for _, world in enumerate_worlds(flat):
                    if all((fact in world.initial) is holds for fact, holds in supposed.items()):
                        assert validate(world, result.plan.steps).valid
