"""First plans by lookahead: relaxed plans are executed as far as they go, one after the other (Vidal, 2004).

This finds plans of thousands of mostly independent steps in a few relaxed plans, and gives up soon where deletes bind.
Such a plan goes round in loops and does needless work. Both are taken out of it at the end (action elimination:
Nakhost and Müller, 2010).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from planner.lightweight import Final
from planner.search.search_run import Ending, Run, Steps
from planner.task.ground_task import INFINITY, GroundAction, State
from planner.task.successor_generator import Space

RelaxedPlans = Callable[[State], Sequence[int] | None]
PATIENCE: Final = 10
"""Relaxed plans that may be no shorter than the shortest one before, one after the other.

Of 84 classical tasks, lookahead solves 19 with none, 35 with 3 and 37 with 10; the last two took at most 100 ms.
"""
MAX_ROUNDS: Final = 50
"""Number of passes over the rest of a relaxed plan for applicable actions."""
MOST_STEPS: Final = 1_000
"""Steps of a plan up to which needless ones are left out: the time for that grows with their square.

A thousand take some 0.3 s. Where facts are derived, which takes much longer, a tenth of them.
"""


def look_ahead(space: Space, relaxed_plan: RelaxedPlans, run: Run, check: Callable[[], None]) -> Steps:
    """Search for a first plan; `relaxed_plan` returns the actions of one from a state, most after their supporters.

    The search gives up where no action of a relaxed plan is applicable, or relaxed plans become no shorter. `check` is
    called often, and raises when a limit is reached.
    """
    state, plan = space.initial, list[int]()
    shortest, left = INFINITY, PATIENCE
    while not space.is_goal(state):
        check()
        actions = relaxed_plan(space.closed(state)) or ()
        shortest, left = (len(actions), PATIENCE) if len(actions) < shortest else (shortest, left - 1)
        taken, state = _execute_actions(space, state, actions, check)
        run.evaluated, run.generated = run.evaluated + 1, run.generated + len(taken)
        if not taken or left < 0:
            return Ending.INCOMPLETE
        plan += taken
        yield
    plan = cut_loops(space, plan)
    try:
        plan = leave_out_needless(space, plan, check)
    finally:  # also where a limit is reached meanwhile
        run.report_plan(plan, space.cost_of(plan))
    return Ending.FIRST_PLAN


def cut_loops(space: Space, plan: Iterable[int]) -> list[int]:
    """Return `plan` without steps that lead back to a state from before."""
    states, place_of, kept = [space.initial], {space.initial: 0}, list[int]()
    for number in plan:
        state = space.apply(number, states[-1])
        place = place_of.get(state)
        if place is None:
            place_of[state] = len(states)
            states.append(state)
            kept.append(number)
        else:
            for each in states[place + 1 :]:
                del place_of[each]
            del states[place + 1 :], kept[place:]
    return kept


def leave_out_needless(space: Space, plan: list[int], check: Callable[[], None]) -> list[int]:
    """Return `plan` without steps that can be left out, each with those later ones that need it.

    A plan of more than `MOST_STEPS` is returned as it is.
    """
    place, before = 0, space.initial
    most = MOST_STEPS // 10 if space.task.axioms else MOST_STEPS
    while place < len(plan) <= most:
        check()
        state, kept = before, list[int]()
        for number in plan[place + 1 :]:
            if not space.preconditions[number] & ~space.closed(state):
                state = space.apply(number, state)
                kept.append(number)
        if space.is_goal(state):
            plan = plan[:place] + kept
        else:
            before = space.apply(plan[place], before)
            place += 1
    return plan


def _execute_actions(
    space: Space, state: State, actions: Iterable[int], check: Callable[[], None]
) -> tuple[list[int], State]:
    """Execute as many of `actions` from `state` as possible; return these in order, and the state after them.

    An action that deletes a precondition of another one waits while any other action is applicable.
    """
    task, left, taken = space.task.actions, list(actions), list[int]()
    needed, full = Counter([fact for number in left for fact in task[number].precondition]), space.closed(state)

    def take(number: int) -> None:
        nonlocal state, full
        state = space.apply(number, state)
        full = space.closed(state)
        taken.append(number)
        needed.subtract(task[number].precondition)

    for _ in range(MAX_ROUNDS):
        waiting, before = list[int](), len(taken)
        for number in left:
            check()
            if space.preconditions[number] & ~full or _deletes_needed(task[number], needed):
                waiting.append(number)
            else:
                take(number)
        if len(taken) == before:
            ready = next((each for each in waiting if not space.preconditions[each] & ~full), None)
            if ready is None:
                break
            waiting.remove(ready)
            take(ready)
        left = waiting[::-1]
    return taken, state


def _deletes_needed(action: GroundAction, needed: Counter[int]) -> bool:
    """Return whether `action` deletes preconditions of others; `needed` counts the actions that need each fact."""
    return any(needed[fact] > (fact in action.precondition) for fact in action.deletes)
