"""Durations that effects depend on, under tasks: an action becomes a task, and each useful duration a method of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from htn.model import Decomposition, HtnProblem, Method, Network, Node, Subtask, Task
from planner.compilations import Compiled
from planner.compilations.driver import Driver
from planner.compilations.duration_choices import (
    SOME_DURATIONS,
    find_useful_durations,
    fix_durations,
    number_variants,
    restore_actions,
)
from planner.lightweight import replace
from planner.model import Action, Atom
from planner.model.timing import fix_duration
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Result
from planner.problem_kinds import with_classical
from planner.scheduling.shorten_durations import shorten_durations
from planner.semantics.durations import effects_depend_on_choice
from planner.semantics.snap_actions import make_snap_problem
from planner.validation.timed_replay import price_plan
from planner.validation.verdict import Verdict

SHORTENING_SECONDS: Final = 1.0
"""Processor time for shorter durations of one plan."""


def plan_with_chosen_durations(
    problem: HtnProblem, options: SolveOptions, solve: Solve, check: Callable[[Plan], Verdict]
) -> Result:
    """Solve `problem`, where effects depend on ranges, by `solve` with fixed durations. Nothing is proved by them.

    The chosen durations of plans are shortened where that is possible, and there is time for it.
    """
    choices, snap = choose_durations(problem), make_snap_problem(problem.classical)
    driver = Driver(problem, options, solve, check)

    def lift(plan: Plan) -> Plan:
        found = choices.lift(plan)
        left = driver.limits.remaining
        if left is not None and left < SHORTENING_SECONDS:
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
    methods = {action.name for actions in variants.values() for action in actions}

    def lift(plan: Plan) -> Plan:
        tree = None if plan.tree is None else _merge_nodes(plan.tree, methods)
        return replace(restore_actions(plan, variants), problem=problem, tree=tree)

    return Compiled(_put_variants(problem, variants), lift, SOME_DURATIONS)


def _put_variants(problem: HtnProblem, variants: Mapping[str, list[Action]]) -> HtnProblem:
    """Return `problem` with a compound task for each action of `variants`, which is done by one of its variants."""
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
    found: HtnProblem = replace(with_classical(problem, classical), domain=domain, seal=())
    return found


def fix_durations_of(problem: HtnProblem, plan: Plan) -> tuple[HtnProblem, Plan]:
    """Return `problem` with the durations that the steps of `plan` have where effects depend on them, and its plan.

    The plan has times.
    """
    actions, tree = problem.classical.domain.actions, plan.tree
    known = {name for name, action in actions.items() if effects_depend_on_choice(action)}
    if not known.intersection(step.action for step in plan.steps):
        return problem, plan
    pairs = [*zip(plan.steps, plan.times, strict=True)]
    lengths = {
        name: list(dict.fromkeys([when.duration for step, when in pairs if step.action == name])) for name in known
    }
    variants = {
        name: number_variants(name, [fix_duration(replace(actions[name], duration=each)) for each in own])
        for name, own in lengths.items()
    }
    names = [
        variants[step.action][lengths[step.action].index(when.duration)].name if step.action in known else step.action
        for step, when in pairs
    ]
    steps = tuple([replace(step, action=name) for step, name in zip(plan.steps, names, strict=True)])
    fixed = _put_variants(problem, variants)
    if isinstance(tree, Decomposition):
        tree = _divide_nodes(tree, names)
    return fixed, replace(plan, steps=steps, tree=tree, problem=fixed)


def _divide_nodes(tree: Decomposition, names: Sequence[str]) -> Decomposition:
    """Return `tree` with a node of its own for each step that has another name in `names` than its task."""
    nodes: list[Node] = list(tree.nodes)
    for place, node in enumerate(tree.nodes):
        if node.step is not None and names[node.step] != node.task.predicate:
            name, args = names[node.step], node.task.args
            nodes[place] = Node(node.task, method=name, binding=args, children=(len(nodes),))
            nodes.append(Node(Atom(name, args), step=node.step))
    return replace(tree, nodes=tuple(nodes))


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
