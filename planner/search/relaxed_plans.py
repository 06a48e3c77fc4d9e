"""Plans for tasks whose deletes do not bind: cheapest relaxed plans, put into an order in which they work.

No plan costs less than a cheapest relaxed plan. So where one of them can be carried out, it is a cheapest plan, and no
state space was searched. Large libraries of tools are often like this: some tools undo a fact or two, but there is an
order, or another cheapest choice, that does without what they undo.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.lightweight import Final
from planner.search.search_run import Ending, Run, Steps
from planner.task.ground_task import INFINITY, State, bits
from planner.task.state_space import Space

FEW_FAILED: Final = 5
"""Where so many relaxed plans fail and none has worked, deletes bind."""
FEW_PAUSES: Final = 500
"""Pauses after which the same is taken for granted if none has worked."""
MOST_FAILED: Final = 20
"""So many may fail where others, that are not the cheapest, work."""
MOST_ORDERS: Final = 500
"""States that are looked at in search for an order."""


def unbinding(space: Space, relaxed_plans: Iterator[tuple[int, frozenset[int] | None]], run: Run) -> Steps:
    """Try relaxed plans, which come with a cost below which there is none."""
    failed: set[frozenset[int]] = set()
    most_failed, most_pauses = FEW_FAILED, FEW_PAUSES
    for pauses, (bound, actions) in enumerate(relaxed_plans):
        run.proved(bound)
        if actions is not None and actions not in failed:
            order = in_order(space, actions)
            if order is None:
                failed.add(actions)
            else:
                run.found(order, space.cost_of(order))
                most_failed, most_pauses = MOST_FAILED, INFINITY
        if bound >= run.limit or bound == INFINITY:
            return Ending.EXHAUSTED
        if len(failed) >= most_failed or pauses >= most_pauses:
            break
        yield
    return Ending.INCOMPLETE


def in_order(space: Space, actions: Iterable[int]) -> list[int] | None:
    """Return an order in which `actions` lead to the goal, each at most once; None if there is none, or none soon.

    An action that takes nothing away that others need comes as soon as it can.
    """
    needs = {action: bits(space.task.actions[action].precondition) for action in actions}
    waiting: list[tuple[State, tuple[int, ...]]] = [(space.initial, ())]
    seen: set[frozenset[int]] = set()
    while waiting and len(seen) < MOST_ORDERS:
        state, done = waiting.pop()
        if space.is_goal(state):
            return list(done)
        if frozenset(done) in seen:
            continue
        seen.add(frozenset(done))
        full = space.closed(state)
        rest = [action for action in needs if action not in done]
        choices = []
        for action in rest:
            if not needs[action] & ~full:
                following = space.apply(action, state)
                lost = state & ~following
                harm = bool(lost & space.goal) + sum([needs[other] & lost != 0 for other in rest if other != action])
                choices.append((harm, action, following))
                if not harm:
                    break
        choices.sort(reverse=True)
        if choices and not choices[-1][0]:
            del choices[:-1]
        waiting += [(following, (*done, action)) for _, action, following in choices]
    return None
