"""Optimal plans for tasks whose deletes do not bind: cheapest relaxed plans in an executable order.

No plan costs less than a cheapest relaxed plan. So a cheapest relaxed plan that is executable is a cheapest plan, found
without searching the state space. This suits many large libraries of tools: some tools delete a fact or two, but in
some order, or in another cheapest relaxed plan, no later step needs these facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.lightweight import Final
from planner.limits import look
from planner.search.search_run import Ending, Run, Steps
from planner.task.ground_task import INFINITY, State, bits, facts_of
from planner.task.successor_generator import Space

FEW_FAILED: Final = 5
"""Number of inexecutable relaxed plans after which the search gives up if none was executable."""
FEW_PAUSES: Final = 500
"""Number of pauses after which the search gives up if no relaxed plan was executable."""
MOST_FAILED: Final = 20
"""Number of inexecutable relaxed plans after which the search gives up if another was executable."""
MOST_ORDERS: Final = 500
"""Maximum number of sets of actions in the search for one order, beyond one for each action."""


def try_relaxed_plans(space: Space, relaxed_plans: Iterator[tuple[int, frozenset[int] | None]], run: Run) -> Steps:
    """Try to execute relaxed plans; each comes with a lower bound on the cost of all relaxed plans."""
    failed: set[frozenset[int]] = set()
    most_failed, most_pauses = FEW_FAILED, FEW_PAUSES
    for pauses, (bound, actions) in enumerate(relaxed_plans):
        run.raise_bound(bound)
        if actions is not None and actions not in failed:
            order = order_relaxed_plan(space, actions)
            if order is None:
                failed.add(actions)
            else:
                run.report_plan(order, space.cost_of(order))
                most_failed, most_pauses = MOST_FAILED, INFINITY
        if bound >= run.limit or bound == INFINITY:
            return Ending.EXHAUSTED
        if len(failed) >= most_failed or pauses >= most_pauses:
            break
        yield
    return Ending.INCOMPLETE


def order_relaxed_plan(space: Space, actions: Iterable[int]) -> list[int] | None:
    """Find an order of some of `actions`, each taken once, that reaches the goal; return None if the search fails.

    This is depth-first search over the sets of executed actions. If an applicable action deletes nothing that the goal
    or the other actions need, the search takes it without alternatives; else it tries the action with the fewest
    deletes first.
    """
    needs = {action: bits(space.task.actions[action].precondition) for action in actions}
    needed_by: dict[int, list[int]] = {}
    for action in needs:
        for fact in space.task.actions[action].precondition:
            needed_by.setdefault(fact, []).append(action)
    waiting: list[tuple[State, tuple[int, ...]]] = [(space.initial, ())]
    seen: set[frozenset[int]] = set()
    while waiting and len(seen) < MOST_ORDERS + len(needs):
        look()
        state, done = waiting.pop()
        if space.is_goal(state):
            return list(done)
        taken = frozenset(done)
        if taken in seen:
            continue
        seen.add(taken)
        full = space.closed(state)
        choices = []
        for action, needed in needs.items():
            if action not in taken and not needed & ~full:
                following = space.apply(action, state)
                lost = state & ~following
                harm = int(lost & space.goal != 0)
                for fact in facts_of(lost):
                    harm += sum([other not in taken and other != action for other in needed_by.get(fact, ())])
                choices.append((harm, action, following))
                if not harm:
                    break
        choices.sort(reverse=True)
        if choices and not choices[-1][0]:
            del choices[:-1]
        waiting += [(following, (*done, action)) for _, action, following in choices]
    return None
