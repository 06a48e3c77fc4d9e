"""The ground problem as integers: what search and heuristics see.

Facts are numbered from 0. A *state* of the reference tier is a Python int with bit f set for every fact f that holds:
applying an action is `(state & ~deleted) | added`. `variables` says which facts exclude each other (mutex groups as
finite-domain variables), so that the same task can also be packed into words.

Negative conditions are facts of their own: where `not p` is needed, the task has a fact for it, and every effect on p
writes both. Conditional effects are kept. Derived facts are kept as rules, in layers; `Closure` evaluates them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.annotations import TYPE_CHECKING, Final
from planner.plan import Step
from planner.records import dataclass, field

if TYPE_CHECKING:
    from planner.model import Atom, Formula, Not

State = int
"""A set of facts as bits."""
INFINITY: Final = 1 << 512
"""More than any sum of costs: what cannot be reached "costs" so much."""


@dataclass(frozen=True, slots=True)
class ConditionalEffect:
    """When all facts of `condition` hold: `adds` become true and `deletes` false. Adding wins within an action."""

    condition: tuple[int, ...]
    adds: tuple[int, ...]
    deletes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GroundAction:
    """A ground action; all facts are numbers in ascending order; `cost` is in units of the task's `resolution`.

    `adds` and `deletes` are disjoint and unconditional; no fact of `adds` is pointless because it is a precondition
    that is kept. Adding wins over deleting, also across conditional effects.
    """

    step: Step
    precondition: tuple[int, ...]
    adds: tuple[int, ...]
    deletes: tuple[int, ...]
    conditional: tuple[ConditionalEffect, ...]
    cost: int


@dataclass(frozen=True, slots=True)
class Rule:
    """A ground axiom: `head` holds when all facts of `body` do."""

    body: tuple[int, ...]
    head: int


@dataclass(frozen=True, slots=True)
class AxiomLayer:
    """One stratum: `rules` are applied to a fixed point, then `negated` is read.

    Each `(fact, derived)` of `negated` makes `fact` true where `derived` does not hold.
    """

    rules: tuple[Rule, ...]
    negated: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """A ground problem.

    `facts[f]` is the literal that fact f stands for. `variables` partitions the facts that are not derived: at most
    one fact of each variable holds in any reachable state. `mutexes` are all groups of facts of which this is known;
    they may overlap. `initial` holds no derived fact. `unreachable_goal`
    is a part of the goal that no relaxed plan reaches: then the task is proved unsolvable, and the rest may be empty.
    No state on a plan has both facts of one of the `conflicts`, though states that are reached may; none is derived.
    `resolution` divides integer costs into the problem's units (cost 250 at resolution 100 means 2.5).
    """

    facts: tuple[Atom | Not, ...]
    variables: tuple[tuple[int, ...], ...]
    initial: tuple[int, ...]
    goal: tuple[int, ...]
    actions: Sequence[GroundAction]
    axioms: tuple[AxiomLayer, ...] = ()
    resolution: int = 1
    unreachable_goal: Formula | None = None
    derived: frozenset[int] = field(default=frozenset())
    mutexes: tuple[tuple[int, ...], ...] = ()
    conflicts: tuple[tuple[int, int], ...] = ()

    @property
    def fields(self) -> list[tuple[int, ...]]:
        """The variables, and after them one for each derived fact, ascending."""
        return [*self.variables, *((fact,) for fact in sorted(self.derived))]

    @property
    def has_conditional_effects(self) -> bool:
        """Whether any action has a conditional effect."""
        return any(action.conditional for action in self.actions)

    @property
    def has_axioms(self) -> bool:
        """Whether any fact is derived."""
        return bool(self.axioms)


def bits(facts: Iterable[int]) -> State:
    """Return the state in which exactly `facts` hold."""
    state = 0
    for fact in facts:
        state |= 1 << fact
    return state


def facts_of(state: State) -> list[int]:
    """Return the facts that hold in `state`, ascending."""
    found = []
    while state:
        lowest = state & -state
        found.append(lowest.bit_length() - 1)
        state ^= lowest
    return found
