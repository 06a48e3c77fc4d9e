"""Abstractions of a ground problem: projections to patterns, and Cartesian abstractions.

(Culberson and Schaeffer, 1998; Seipp and Helmert, 2018; see `planner.heuristics.abstractions`.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from planner.errors import InputError
from planner.heuristics.abstractions.projections import (
    DEAD,
    MOST_DISTANCE,
    AbstractSpace,
    Edge,
    Moves,
    compute_factors,
    find_moves,
    make_exclusion,
    project,
)
from planner.lab.state_space import (
    ActionInstance,
    AnyFact,
    Fact,
    FiniteDomainVariable,
    GroundState,
    StateSpace,
    iterate,
)
from planner.lightweight import Final, dataclass, field
from planner.limits import never
from planner.model import Number
from planner.plan import divide_exactly
from planner.task.ground_task import facts_of
from planner.task.packed_task_compiled import choose_packing

Pattern = Iterable[FiniteDomainVariable | int | AnyFact]
"""Variables, or their numbers, or facts that stand for their variables."""
MOST_STATES: Final = 100_000
"""Maximum number of states of an abstraction, which is made in plain Python."""
Values = tuple[Fact | None, ...]
"""Some values of a variable; None is "none of its facts"."""


@dataclass(frozen=True, slots=True)
class AbstractState:
    """An abstract state: `values` are those that each variable may have, for the variables in which states differ.

    `distance` is the cost of a cheapest abstract plan from here, infinite if there is none.
    """

    number: int
    values: tuple[Values, ...]
    is_goal: bool
    distance: Number | float

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        return ", ".join(" | ".join("none" if fact is None else str(fact) for fact in each) for each in self.values)


@dataclass(frozen=True, slots=True)
class AbstractTransition:
    """A transition between two abstract states, by any of `actions`."""

    source: AbstractState
    target: AbstractState
    actions: tuple[ActionInstance, ...]

    def __str__(self) -> str:
        return f"{self.source} → {self.target}: {' | '.join(map(str, self.actions))}"


@dataclass(frozen=True, slots=True)
class Abstraction:
    """An abstract state space, and by its goal distances an admissible heuristic: call it with a state.

    A projection has only `states` from which an abstract plan leads to a goal, and none that a mutex group excludes.
    `transitions` are those between two different states.
    """

    states: tuple[AbstractState, ...]
    transitions: tuple[AbstractTransition, ...]
    _find: Callable[[GroundState], int | None] = field(repr=False, compare=False)

    def find_state(self, state: GroundState) -> AbstractState | None:
        """Return the abstract state of `state`; None for one that the abstraction knows to be a dead end."""
        number = self._find(state)
        return None if number is None else self.states[number]

    def __call__(self, state: GroundState) -> Number | float:
        """Return the goal distance of the abstract state of `state`, in the units of the problem; infinite if dead."""
        found = self.find_state(state)
        return math.inf if found is None else found.distance

    def __str__(self) -> str:
        return f"{len(self.states)} abstract states, {len(self.transitions)} transitions"


def project_to(space: StateSpace, pattern: Pattern) -> Abstraction:
    """Return the projection of `space` to the variables of `pattern`."""
    chosen = _choose_variables(space, pattern)
    moves = find_moves(space.task, choose_packing(space.task), never)
    states = moves.count_states(chosen)
    if states > MOST_STATES:
        hint = f"at most {MOST_STATES} are possible: take fewer variables"
        raise InputError(f"the pattern has {states} abstract states", hint=hint)
    found = project(moves, chosen, make_exclusion(space.task, moves), anywhere=True)
    factors = compute_factors(moves, chosen)
    names = _name_values(space, moves)

    def find(state: GroundState) -> int | None:
        values = _values_of(space, moves, state)
        rank = found.ranks[sum([values[v] * factor for v, factor in zip(chosen, factors, strict=True)])]
        return None if rank == DEAD else rank

    values: list[tuple[Values, ...]] = [()] * len(found.goals)
    for index, rank in enumerate(found.ranks):
        if rank != DEAD:
            places = zip(chosen, factors, strict=True)
            values[rank] = tuple([(names[v][index // factor % moves.sizes[v]],) for v, factor in places])
    return _name_space(space, found, values, find)


def refine_cartesian(space: StateSpace, states: int) -> Abstraction:
    """Return the Cartesian abstraction of `space` to the goal, refined up to so many `states`."""
    from planner.heuristics.abstractions import cartesian
    from planner.heuristics.abstractions.cartesian_boxes_kernel import EDGES, STATES
    from planner.heuristics.abstractions.projections_compiled import pack_moves

    if isinstance(states, bool) or not isinstance(states, int) or not 1 <= states <= MOST_STATES:
        raise InputError(f"`states` must be an integer from 1 to {MOST_STATES}, got {states!r}")
    task = space.task
    moves = find_moves(task, choose_packing(task), never)
    if not moves.sizes:
        return _name_space(space, AbstractSpace([0], [True], [], [], []), [()], lambda _state: 0)
    form = cartesian.choose_form(moves, space.engine.costs)
    made = cartesian.refine_to(states, cartesian.aim_at_goal(moves), moves, pack_moves(task, moves), form, check=never)
    many, width = made.counts[STATES], form.word[-1]
    boxes = [cartesian.unpack_box(made.box[state * width : (state + 1) * width], form, moves) for state in range(many)]
    edges: dict[tuple[int, int], list[int]] = {}
    for place in range(made.counts[EDGES]):
        edges.setdefault((made.source[place], made.target[place]), []).append(made.action[place])
    groups = list(dict.fromkeys([tuple(sorted(actions)) for actions in edges.values()]))
    number_of = {group: number for number, group in enumerate(groups)}
    found = AbstractSpace(
        [],
        [bool(made.goal[state]) for state in range(many)],
        [Edge(source, target, number_of[tuple(sorted(actions))]) for (source, target), actions in edges.items()],
        groups,
        [False] * len(groups),
    )
    names = _name_values(space, moves)
    differing = [v for v in range(len(moves.sizes)) if any(len(box[v]) < moves.sizes[v] for box in boxes)]
    values = [tuple([tuple([names[v][value] for value in sorted(box[v])]) for v in differing]) for box in boxes]
    return _name_space(space, found, values, lambda state: cartesian.find_box(made, _values_of(space, moves, state)))


def _choose_variables(space: StateSpace, pattern: Pattern) -> tuple[int, ...]:
    """Return the numbers of the variables of `pattern`, ascending; raises `InputError` for what is none."""
    if isinstance(pattern, str):
        raise InputError("a pattern is a list of variables", hint=f"give [{pattern!r}] for the variable of this fact")
    many, chosen = len(space.task.variables), set[int]()
    for each in iterate(pattern, "a pattern is a list of variables"):
        if isinstance(each, FiniteDomainVariable):
            if each.number >= many or space.variables[each.number] != each:
                raise InputError(f"the variable {each} belongs to another ground problem")
            chosen.add(each.number)
        elif isinstance(each, int):
            if isinstance(each, bool) or not 0 <= each < many:
                raise InputError(f"there is no variable {each}", hint=f"there are {many}, numbered from 0")
            chosen.add(each)
        else:
            number, _ = space.find_literal(each)
            if number in space.task.derived:
                raise InputError(f"{space.task.facts[number]} is derived", hint="no variable has it for a value")
            chosen.add(next(v for v, facts in enumerate(space.task.variables) if number in facts))
    if not chosen:
        raise InputError("the pattern is empty", hint="name one variable or more")
    return tuple(sorted(chosen))


def _name_values(space: StateSpace, moves: Moves) -> list[list[Fact | None]]:
    """Return the fact of each value of each variable."""
    names: list[list[Fact | None]] = [[None] * size for size in moves.sizes]
    for fact, place in enumerate(moves.places):
        if place is not None:
            names[place[0]][place[1]] = space.task.facts[fact]
    return names


def _values_of(space: StateSpace, moves: Moves, state: GroundState) -> list[int]:
    """Return the value of each variable in `state`."""
    values = [0] * len(moves.sizes)
    for fact in facts_of(space.bits_of(state)):
        place = moves.places[fact]
        if place is not None:
            values[place[0]] = place[1]
    return values


def _name_space(
    space: StateSpace,
    found: AbstractSpace,
    values: Sequence[tuple[Values, ...]],
    find: Callable[[GroundState], int | None],
) -> Abstraction:
    """Return the abstraction with atoms in place of numbers."""
    resolution = space.task.resolution
    distances: list[Number | float] = [
        math.inf if distance >= MOST_DISTANCE else divide_exactly(distance, resolution)
        for distance in found.compute_distances(space.engine.costs)
    ]
    states = [
        AbstractState(number, values[number], is_goal, distances[number]) for number, is_goal in enumerate(found.goals)
    ]
    together: dict[tuple[int, int], set[int]] = {}
    for edge in found.edges:
        together.setdefault((edge.source, edge.target), set()).update(found.groups[edge.group])
    transitions = [
        AbstractTransition(states[a], states[b], tuple([space.actions[number] for number in sorted(actions)]))
        for (a, b), actions in sorted(together.items())
    ]
    return Abstraction(tuple(states), tuple(transitions), find)
