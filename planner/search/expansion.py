"""Expansions of states: what a callback is told about each, and a limit on their number."""

from __future__ import annotations

from collections.abc import Callable

from planner.lightweight import TYPE_CHECKING, dataclass, field
from planner.limits import CallbackError, LimitReached
from planner.plan import Step, StoppedBy, divide_exactly
from planner.search.search_run import extract_plan
from planner.task.ground_task import INFINITY, State, Task, facts_of

if TYPE_CHECKING:
    from planner.model import Atom, Number


@dataclass(frozen=True, slots=True)
class Expansion:
    """The expansion of a state.

    `number` counts the expansions of the search from 1. `g` is the cost of the path to the state, `h` the estimate by
    which the search has ordered it (None for a search without one), and `step` the last step of the path (None in the
    initial state). Costs are in the problem's units. Estimates are too in searches for cheapest plans; the estimates of
    other searches count what docs/how-to/plain-search.md says.
    """

    number: int
    g: Number
    h: Number | None
    step: Step | None
    state: State = field(repr=False)
    """The facts that hold, as bits."""
    task: Task = field(repr=False, compare=False)
    """The ground task that is searched, which names the facts."""

    @property
    def facts(self) -> tuple[Atom, ...]:
        """The atoms that hold in the state: those that actions may change, without derived ones."""
        from planner.model import Atom

        facts = self.task.facts
        return tuple([atom for fact in facts_of(self.state) if isinstance(atom := facts[fact], Atom)])

    def __str__(self) -> str:
        by = "initial state" if self.step is None else f"by {self.step}"
        return f"{self.number}. {by}: g={self.g}" + ("" if self.h is None else f", h={self.h}")


class ExpansionWatch:
    """Looks at each expansion: it keeps the limit of `most` expansions, and calls `tell`.

    `expanded` counts them. `sums_costs` says that estimates are in the units of the task.
    """

    __slots__ = ("_most", "_tell", "expanded", "sums_costs")

    def __init__(self, most: int | None, tell: Callable[[Expansion], None] | None) -> None:
        self._most = INFINITY if most is None else most
        self._tell = tell
        self.expanded = 0
        self.sums_costs = True

    @property
    def tells(self) -> bool:
        """Whether there is a callback."""
        return self._tell is not None

    def rest(self) -> int:
        """Return how many states may be expanded before the next look; raises `LimitReached` if none."""
        if self.expanded >= self._most:
            raise LimitReached(StoppedBy.EXPANSIONS)
        return self._most - self.expanded if self._tell is None else 1

    def look(self, task: Task, state: State, g: int, h: int | None, action: int | None) -> None:
        """Tell the callback about the latest expansion; costs are in the units of `task`.

        Raises `CallbackError` for an exception of the callback.
        """
        if self._tell is None:
            return
        step = None if action is None else task.actions[action].step
        estimate = None if h is None else divide_exactly(h, task.resolution if self.sums_costs else 1)
        found = Expansion(self.expanded, divide_exactly(g, task.resolution), estimate, step, state, task)
        try:
            self._tell(found)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - it goes on as the cause of another one
            raise CallbackError(error) from None

    def expand(self, task: Task, state: State, g: int, h: int | None, action: int | None) -> None:
        """Count an expansion that is about to begin, and look at it; raises `LimitReached` instead at the limit."""
        self.rest()
        self.expanded += 1
        self.look(task, state, g, h, action)

    def expand_from(
        self, parents: dict[State, tuple[State, int] | None], task: Task, state: State, h: int | None
    ) -> None:
        """Do the same for a state whose path is in `parents`."""
        actions = extract_plan(parents, state)
        g = sum([task.actions[action].cost for action in actions])
        self.expand(task, state, g, h, actions[-1] if actions else None)
