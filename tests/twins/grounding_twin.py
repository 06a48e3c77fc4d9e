"""The slow twin of grounding: the declared problem itself, state by state, interpreted by the validator."""

from __future__ import annotations

from collections import deque

from planner.compilations.adl import compile_adl
from planner.grounding.ground import ground
from planner.limits import Limits
from planner.model import Atom, Not
from planner.semantics.simulation import Simulation
from planner.task.ground_task import Closure, bits


def reachable(problem, limit, kept=None):
    """Yield the simulations of up to `limit` reachable states, breadth first, each with its applicable steps.

    Only the `kept` steps are followed, if they are given: what grounding left out as irrelevant can only do harm.
    """
    first = Simulation(problem)
    seen, queue = {first.facts}, deque([first])
    while queue:
        current = queue.popleft()
        steps = [(step, current.copy()) for step in current.applicable()]
        for step, after in steps:
            after.apply(step)
        yield current, steps
        for step, after in steps:
            if kept is not None and (step.action, step.arguments) not in kept:
                continue
            if after.facts not in seen and len(seen) < limit:
                seen.add(after.facts)
                queue.append(after)


def image(task, simulation):
    """Return the bits of the task's facts that hold in the simulated state, derived ones included."""
    return bits(number for number, fact in enumerate(task.facts) if not is_made_up(fact) and simulation.holds(fact))


def is_made_up(fact):
    """Return whether `fact` is one that grounding invented for a part of a condition."""
    atom = fact.part if isinstance(fact, Not) else fact
    return isinstance(atom, Atom) and atom.predicate.startswith("@")


def check_grounding(problem, limit=200):
    """Assert that the task does in every reachable state what the declarations say; return the task."""
    task = ground(problem, Limits())
    problem = compile_adl(problem)  # what ran before is a fact there
    goals = []
    if task.unreachable_goal is not None:
        assert not any(state.holds(problem.goal.hard) for state, _ in reachable(problem, limit))
        return task
    close = Closure(task)
    visible = bits(number for number, fact in enumerate(task.facts) if not is_made_up(fact))
    actions = {}
    for action in task.actions:
        actions.setdefault((action.step.action, action.step.arguments), []).append(action)
    for state, steps in reachable(problem, limit, actions):
        facts = close(image(task, state) & ~bits(task.derived))
        assert facts & visible == image(task, state)
        check_variables(task, facts)
        goals.append((facts & bits(task.goal) == bits(task.goal), state.holds(problem.goal.hard)))
        applicable = {(step.action, step.arguments): after for step, after in steps}
        for key, cases in actions.items():
            fitting = [case for case in cases if facts & bits(case.precondition) == bits(case.precondition)]
            assert not fitting or key in applicable, (key, state.facts)
            for case in fitting:
                after = close(apply(case, facts) & ~bits(task.derived))
                assert after & visible == image(task, applicable[key]), (key, state.facts)
                assert case.step.cost * task.resolution == case.cost == state.cost(case.step) * task.resolution
            if key in applicable and not fitting:
                assert irrelevant(task, facts & visible, image(task, applicable[key])), (key, state.facts)
        for key, after in applicable.items():
            if key not in actions:
                assert irrelevant(task, facts & visible, image(task, after)), (key, state.facts)
    assert all(mine == theirs for mine, theirs in goals)
    return task


def apply(action, facts):
    """Apply a ground action as DESIGN says: everything retracted first, then everything added."""
    added, deleted = bits(action.adds), bits(action.deletes)
    for effect in action.conditional:
        if facts & bits(effect.condition) == bits(effect.condition):
            added |= bits(effect.adds)
            deleted |= bits(effect.deletes)
    return (facts & ~deleted) | added


def irrelevant(task, before, after):
    """An action that grounding left out may make facts false, never a fact true that something needs."""
    return not after & ~before & bits(needed(task))


def needed(task):
    """Return the facts that a precondition or the goal needs; an effect's condition may be one to keep false."""
    yield from task.goal
    for action in task.actions:
        yield from action.precondition


def check_variables(task, facts):
    """Assert that at most one fact of each variable holds, and that the variables partition the basic facts."""
    assert all((facts & bits(group)).bit_count() <= 1 for group in task.variables)
    covered = [fact for group in task.variables for fact in group]
    assert sorted([*covered, *task.derived]) == list(range(len(task.facts)))
