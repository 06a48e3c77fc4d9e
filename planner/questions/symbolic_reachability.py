"""All reachable states of a task as one decision diagram, and what they have in common with facts and preconditions."""

from __future__ import annotations

from planner.jit import library
from planner.lightweight import Final, dataclass
from planner.limits import Limits
from planner.search.symbolic import ROOM
from planner.search.symbolic.bidirectional import Direction
from planner.search.symbolic.transition_relations import Coding, Relation, arrange_variables, build_relations
from planner.task.ground_task import State, Task
from planner.task.packed_task_compiled import variables_of

EXCHANGES: Final = 2_000
"""Exchanges of pairs of variables that are tried for each order: reachability of small tasks takes less than more."""


@dataclass(frozen=True, slots=True)
class ReachedSets:
    """The `facts`, as bits, that hold in some reachable state, and the `actions` that are applicable in one."""

    facts: State
    actions: set[int]


def spread_sets(task: Task, limits: Limits) -> ReachedSets | None:
    """Compute all states that are reachable in `task`; return None if memory is not enough.

    Raises `LimitReached` at a limit, and `ImportError` without OxiDD.
    """
    order = arrange_variables(task, variables_of(task), library.load_or_plain(), exchanges=EXCHANGES)[0]
    try:
        coding = Coding(task, order, ROOM)
        forward = Direction(coding, Relation.image, build_relations(coding), coding.state(task.initial), timed=False)
        while forward.next_cost is not None:
            limits.check()
            for _ in forward.advance():
                limits.check()
        reached = forward.reached
        facts = [number for number, states in enumerate(coding.holds) if (states & reached).satisfiable()]
        actions = set()
        for number, action in enumerate(task.actions):
            if (coding.all_of([coding.holds[fact] for fact in action.precondition]) & reached).satisfiable():
                actions.add(number)
    except MemoryError:
        return None
    return ReachedSets(sum(1 << number for number in facts), actions)
