"""Durations that effects depend on, under tasks: an action becomes a task, and each useful duration a method of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from htn.model import Decomposition, HtnProblem, Method, Network, Node, Subtask, Task
from planner.compilations import Claim, Compiled
from planner.compilations.driver import Driver
from planner.compilations.duration_choices import NOT_ALL, find_useful_durations, fix_durations
from planner.lightweight import replace
from planner.model import Atom
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Result
from planner.problem_kinds import with_classical
from planner.scheduling.shorten_durations import shorten_durations
from planner.semantics.snap_actions import make_snap_problem
from planner.validation.timed_replay import price_plan
from planner.validation.verdict import Verdict

SHORTENING_SECONDS: Final = 1.0
"""Processor time for shorter durations of one plan."""


def plan_with_chosen_durations(
    problem: HtnProblem, options: SolveOptions, solve: Solve, check: Callable[[Plan], Verdict]
) -> Result:
    """Solve `problem`, where effects depend on ranges, by `solve` with fixed durations. Nothing is proved by them.

    The chosen durations of plans are shortened where that is possible.
    """
    choices, snap = choose_durations(problem), make_snap_problem(problem.classical)
    driver = Driver(problem, options, solve, check)

    def lift(plan: Plan) -> Plan:
        found = choices.lift(plan)
        if not driver.check_plan(found).valid:
            return found
        until = time.thread_time() + SHORTENING_SECONDS
        steps = price_plan(replace(found, problem=problem.classical, tree=None))
        short = shorten_durations(steps, snap, lambda: time.thread_time() < until)
        shorter = replace(short, problem=problem, tree=found.tree)
        return shorter if driver.check_plan(shorter).valid else found

    compiled = replace(choices, lift=lift)
    return driver.finish(driver.ask(compiled), compiled)


def choose_durations(problem: HtnProblem) -> Compiled:
    """Return `problem` with fixed durations where effects depend on a range.

    A subtask that names such an action is a compound task now, with a method for each of the actions that it becomes.
    """
    variants = find_useful_durations(problem.classical)
    classical = fix_durations(problem.classical, variants)
    tasks, methods = {**problem.domain.tasks}, {**problem.domain.methods}
    for name, actions in variants.items():
        parameters = problem.classical.domain.actions[name].parameters
        task = Atom(name, tuple([parameter.name for parameter in parameters]))
        tasks[name] = Task(name, parameters)
        for action in actions:
            network = Network((Subtask(Atom(action.name, task.args)),))
            methods[action.name] = Method(action.name, task, parameters, network=network)
    domain = replace(problem.domain, classical=classical.domain, tasks=tasks, methods=methods)
    declared = {action.name: name for name, actions in variants.items() for action in actions}

    def lift(plan: Plan) -> Plan:
        steps = [replace(step, action=declared.get(step.action, step.action)) for step in plan.steps]
        tree = None if plan.tree is None else _merge_nodes(plan.tree, set(declared))
        return replace(plan, steps=tuple(steps), problem=problem, tree=tree)

    compiled = replace(with_classical(problem, classical), domain=domain, seal=())
    return Compiled(compiled, lift, Claim(plans=False, bounds=False, unsolvable=False, doubt=NOT_ALL))


def _merge_nodes(tree: Decomposition, methods: set[str]) -> Decomposition:
    """Return `tree` with each node of one of `methods` as the step below it."""
    nodes: list[Node] = list(tree.nodes)
    merged: set[int] = set()
    for place, node in enumerate(tree.nodes):
        if node.method in methods:
            (child,) = node.children
            nodes[place] = Node(node.task, step=tree.nodes[child].step)
            merged.add(child)
    whole = replace(tree, nodes=tuple(nodes))
    return whole.keep([place for place in range(len(nodes)) if place not in merged])
