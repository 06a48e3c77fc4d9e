"""A plan at once, if one comes about by carrying out relaxed plans, one after the other (Vidal, 2004).

A relaxed plan ignores what its actions take away. Where most of what is to be done is independent, it works as it is,
in some order, so that a plan of thousands of steps takes a few looks at the task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from planner.annotations import Final
from planner.heuristics.hadd import Explore, explorer
from planner.heuristics.relaxed import AXIOM, RelaxedTask, relax
from planner.search import Space
from planner.task import INFINITY, GroundAction, State, Task

MOST_LOOKS: Final = 20
"""So many relaxed plans are carried out before this is given up."""
MOST_ROUNDS: Final = 50
"""So often what is left of a relaxed plan is gone through for what can be done."""


def lookahead(task: Task, costs: Sequence[int], check: Callable[[], None]) -> list[int] | None:
    """Return a plan for `task`, as numbers of its actions, which are estimated at `costs`; None: none was found so.

    `check` is called often; it raises when a limit is reached.
    """
    space, relaxed = Space(task), relax(task, costs)
    explore, state, plan = explorer(relaxed), space.initial, list[int]()
    for _ in range(MOST_LOOKS):
        if space.is_goal(state):
            return plan
        check()
        taken, state = _carried_out(space, state, _relaxed_plan(relaxed, explore, space.closed(state)), check)
        if not taken:
            return None
        plan += taken
    return plan if space.is_goal(state) else None


def _relaxed_plan(relaxed: RelaxedTask, explore: Explore, state: State) -> list[int]:
    """Return the actions of a relaxed plan from `state`, each after those that support it; [] where there is none."""
    value, achiever = explore(state)
    if value == INFINITY:
        return []
    waiting, chosen, order = [relaxed.goal], set[int](), list[int]()
    while waiting:
        operator = achiever[waiting.pop()]
        if operator >= 0 and operator not in chosen:
            chosen.add(operator)
            order.append(operator)
            waiting += relaxed.preconditions[operator]
    actions = [relaxed.actions[operator] for operator in reversed(order)]
    return [action for action in dict.fromkeys(actions) if action != AXIOM]


def _carried_out(
    space: Space, state: State, actions: Iterable[int], check: Callable[[], None]
) -> tuple[list[int], State]:
    """Return those of `actions` that could be taken from `state`, in that order, and the state after them.

    An action that takes away what another one needs waits while anything else can be done.
    """
    task, left, taken = space.task.actions, list(actions), list[int]()
    needed, full = Counter([fact for number in left for fact in task[number].precondition]), space.closed(state)

    def take(number: int) -> None:
        nonlocal state, full
        state = space.apply(number, state)
        full = space.closed(state)
        taken.append(number)
        needed.subtract(task[number].precondition)

    for _ in range(MOST_ROUNDS):
        waiting, before = list[int](), len(taken)
        for number in left:
            check()
            if space.preconditions[number] & ~full or _harms(task[number], needed):
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


def _harms(action: GroundAction, needed: Counter[int]) -> bool:
    """Return whether `action` takes away what others need; `needed` says how many need each fact, itself included."""
    return any(needed[fact] > (fact in action.precondition) for fact in action.deletes)
