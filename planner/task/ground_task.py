"""The ground task as integers: what search and heuristics see.

Facts are numbered from 0. A *state* of the reference tier is a Python int with bit f set for every fact f that holds:
applying an action is `(state & ~deleted) | added`. `variables` are mutex groups as finite-domain variables, so that the
same task can be packed into words. Negative conditions are facts of their own: where `not p` is needed, the task has a
fact for it, and every effect on p writes both.

Derived facts are rules in layers. `Closure` applies them layer by layer, each to its fixed point (stratified semantics:
Thiébaux, Hoffmann and Nebel, 2005), and remembers what comes out by the facts that the rules read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.lightweight import TYPE_CHECKING, Final, dataclass, field
from planner.limits import look
from planner.plan import Step, divide_exactly

if TYPE_CHECKING:
    from planner.model import Atom, Formula, Not, Number

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


def effects_of(action: GroundAction) -> tuple[GroundAction | ConditionalEffect, ...]:
    """Return the unconditional effect of `action`, which is the action itself, and then the conditional ones."""
    return (action, *action.conditional)


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
class Allowance:
    """The `budget` on a resource in units, of which `resolution` make one: `most`, and the `uses` of actions.

    That on the cost is named `cost`; it `is_charged` if the cost of the task is what it limits.
    """

    name: str
    uses: list[int]
    most: int
    budget: Number
    resolution: int
    is_charged: bool = False

    def as_amount(self, units: int) -> Number:
        """Return a number of units as an amount of the problem."""
        return divide_exactly(units, self.resolution)

    def describe_use(self, units: int) -> str:
        """Return what a plan does that uses so many units."""
        amount = self.as_amount(units)
        return f"costs {amount}" if self.name == "cost" else f"uses {amount} of {self.name}"


@dataclass(frozen=True, slots=True)
class Task:
    """A ground problem.

    `facts[f]` is the literal that fact f stands for. `variables` partitions the facts that are not derived: at most
    one fact of each variable holds in any reachable state. `mutexes` are all groups of facts of which this is known;
    they may overlap. `initial` holds no derived fact. `unreachable_goal`
    is a part of the goal that no relaxed plan reaches: then the task is proved unsolvable, and the rest may be empty.
    No state on a plan has both facts of one of the `conflicts`, though states that are reached may; none is derived.
    A plan keeps the `allowances`, which searches that know nothing of them must not be given.
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
    allowances: tuple[Allowance, ...] = ()

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


MANY_RULES: Final = 256
"""Number of axioms from which on each round of a derivation looks at the limits: it takes 20 µs then."""
REMEMBERED: Final = 100_000
"""Projections that are kept before the memory is emptied."""


class Closure:
    """Adds to a state of base facts the derived facts, negated ones included, that hold in it."""

    def __init__(self, task: Task) -> None:
        self._layers = [(_order_rules(layer), _negations_of(layer)) for layer in task.axioms]
        self._read = bits({f for layer in task.axioms for rule in layer.rules for f in rule.body} - task.derived)
        self._remembered: dict[State, State] = {}

    def __call__(self, state: State) -> State:
        """Return `state` with the derived facts that hold."""
        key = state & self._read
        derived = self._remembered.get(key)
        if derived is None:
            if len(self._remembered) >= REMEMBERED:
                self._remembered.clear()
            derived = self._remembered[key] = self._derive(key) & ~key
        return state | derived

    def _derive(self, full: State) -> State:
        for rules, negations in self._layers:
            waiting, before = rules, -1
            while waiting and full != before:
                before = full
                if len(waiting) > MANY_RULES:
                    look()
                blocked = []
                for body, head in waiting:
                    if body & ~full:
                        blocked.append((body, head))
                    else:
                        full |= head
                waiting = blocked
            for negated, derived in negations:
                if not full & derived:
                    full |= negated
        return full


def _negations_of(layer: AxiomLayer) -> list[tuple[State, State]]:
    return [(1 << fact, 1 << derived) for fact, derived in layer.negated]


def _order_rules(layer: AxiomLayer) -> list[tuple[State, State]]:
    """Return `(body, head)` as bits, heads before the bodies that read them as far as cycles let: fewer passes."""
    rank: dict[int, int] = {}
    heads = {rule.head for rule in layer.rules}
    waiting, before = list(layer.rules), -1
    while len(waiting) != before:
        before, blocked = len(waiting), []
        for rule in waiting:
            if all(fact in rank or fact not in heads for fact in rule.body):
                rank.setdefault(rule.head, len(rank))
            else:
                blocked.append(rule)
        waiting = blocked
    for rule in waiting:  # they read each other
        rank.setdefault(rule.head, len(rank))
    ordered = sorted(layer.rules, key=lambda rule: rank[rule.head])
    return [(bits(rule.body), 1 << rule.head) for rule in ordered]


def find_base_facts(task: Task) -> dict[int, State]:
    """Return for each derived fact the base facts that it may depend on, as bits."""
    reads: dict[int, set[int]] = {fact: set() for fact in task.derived}
    for layer in task.axioms:
        for rule in layer.rules:
            reads[rule.head].update(rule.body)
        for negated, derived in layer.negated:
            reads[negated].add(derived)
    found: dict[int, State] = {}
    for fact in reads:
        seen, waiting = {fact}, [fact]
        while waiting:
            more = reads.get(waiting.pop(), set()) - seen
            seen |= more
            waiting += more
        found[fact] = bits(seen - task.derived)
    return found
