"""The decision process of a problem with uncertain outcomes: states, choices, and what may come of them.

States are those of a ground task whose actions are the single outcomes, so that all that is known about tasks serves:
the relaxation of this task is a relaxation of the process.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property

from planner.annotations import Final
from planner.budget import Budget
from planner.collector import collector_paused
from planner.grounding.ground import ground_adl
from planner.model import Action, Atom, Number, Problem
from planner.plan import Step
from planner.records import dataclass, replace
from planner.search.space import Space
from planner.search.successors import applicable_finder
from planner.task import ConditionalEffect, GroundAction, State, Task
from planner.uncertain.determinise import ROUNDING, Way, chances, determinise, relevant
from planner.uncertain.purse import EMPTY, Left, Purse
from planner.uncertain.wishes import Asked, Wish

NOTHING: Final = -1
"""In the place of an action's number: nothing changes."""

Branch = tuple[float, int]
"""A probability and the number of an action of the task, or `NOTHING`."""
Effects = tuple[tuple[int, ...], tuple[int, ...], tuple[ConditionalEffect, ...]]


@dataclass(frozen=True, slots=True)
class Choice:
    """A step that may be taken: what it costs, in units of the task's resolution, and what may come of it.

    The probabilities of the `branches` are above 0 and sum to 1; no two have the same effects. `precondition` is that
    of all of them.
    """

    step: Step
    cost: int
    precondition: tuple[int, ...]
    branches: tuple[Branch, ...]

    @property
    def is_certain(self) -> bool:
        """Whether it comes out in one way."""
        return len(self.branches) == 1


class Process:
    """The decision process of `task`, whose actions are single outcomes, under `choices`.

    The goal is the task's; `wishes` are the problem's soft goals, and `purse` its budgets.
    """

    def __init__(
        self, task: Task, choices: Sequence[Choice], wishes: tuple[Wish, ...] = (), purse: Purse = EMPTY
    ) -> None:
        self.task = task
        self.choices = choices
        self.wishes = wishes
        self.purse = purse
        self.space = Space(task)
        self.initial = self.space.initial
        self.unknown: Mapping[Atom, State] = {}
        """The facts that may be unknown, each with the bit of states that says so."""
        self.aliases: Mapping[Atom, Atom] = {}
        """Facts of the task, and those that they stand for where these are known."""
        self.ignored: Container[Atom] = frozenset()
        """Facts of which nothing is to be known."""
        self.supposed: Mapping[int, tuple[Atom, bool]] = {}
        """The choices that are taken on an unknown fact, and whether it is to hold."""

    @property
    def chooser(self) -> Task:
        """The task with an action for each choice, which says when there is that choice, not what comes of it."""
        actions = [GroundAction(each.step, each.precondition, (), (), (), each.cost) for each in self.choices]
        return replace(self.task, actions=tuple(actions))

    @cached_property
    def _applicable(self) -> Callable[[State], list[int]]:
        return applicable_finder(self.chooser)

    @property
    def is_deterministic(self) -> bool:
        """Whether every choice comes out in one way."""
        return all(choice.is_certain for choice in self.choices)

    def applicable(self, state: State) -> list[int]:
        """Return the numbers of the choices that there are in `state`, ascending."""
        return sorted(self._applicable(self.space.closed(state)))

    def outcomes(self, state: State, choice: int) -> list[tuple[float, State]]:
        """Return `(probability, next state)` for what may come of `choice`; no state occurs twice."""
        found: dict[State, float] = {}
        for probability, action in self.choices[choice].branches:
            after = state if action == NOTHING else self.space.apply(action, state)
            found[after] = found.get(after, 0.0) + probability
        return [(probability, after) for after, probability in found.items()]

    def left_after(self, choice: int, left: Left) -> Left | None:
        """Return what is left of the budgets after `choice`, however it comes out; None where it takes too much."""
        return self.purse.after(self.choices[choice].branches[0][1], left) if left else left

    def is_goal(self, state: State) -> bool:
        """Return whether the hard goal holds in `state`."""
        return self.task.unreachable_goal is None and self.space.is_goal(state)

    def utility(self, state: State) -> Number:
        """Return what the wishes that are fulfilled in `state` are worth together."""
        if not self.wishes:
            return 0
        missing = ~self.space.closed(state)
        return sum([wish.utility for wish in self.wishes if any(not case & missing for case in wish.cases)])


def process_of(problem: Problem, budget: Budget) -> Process:
    """Return the decision process of `problem`: what is reachable and relevant by some outcomes, ground.

    Where no outcomes whatever lead to the hard goal, its task has nothing but `unreachable_goal`. Raises as `ground`
    does. Where facts are unknown, states say what is known; raises `UnsupportedError` where they have an effect on more
    than what can be done.
    """
    if problem.unknown:
        from planner.unknown.process import sensing_process_of  # noqa: PLC0415 - few problems need it

        return sensing_process_of(problem, budget)
    compiled = determinise(relevant(problem))
    source = compiled.problem
    if problem.constraints:
        from planner.uncertain.kept import with_marks  # noqa: PLC0415 - few problems have constraints

        source = with_marks(source, {name: way.action for name, way in compiled.ways.items()})
    return grounded(source, compiled.ways, problem.domain.actions, budget)


def grounded(
    problem: Problem, ways: Mapping[str, Way], actions: Mapping[str, Action], budget: Budget, *, whole: bool = False
) -> Process:
    """Return the process of `problem`, whose actions are `ways` in which `actions` come out; others are no choices.

    With `whole`, nothing is left out that is not relevant.
    """
    with collector_paused():
        asked = Asked.about(problem)
        together = {name: way.action for name, way in ways.items() if actions[way.action].is_uncertain}
        task, cases = asked.answered(ground_adl(asked.problem, budget, together, whole=whole))
        wishes = [Wish(soft.utility, each) for soft, each in zip(problem.goal.soft, cases, strict=False)]
        purse = Purse.of(asked.problem, task)
        return Process(task, tuple(_choices(task.actions, ways, actions)), tuple(wishes), purse)


def _choices(
    ground: Iterable[GroundAction], ways: Mapping[str, Way], actions: Mapping[str, Action]
) -> Iterator[Choice]:
    """Yield the choices: outcomes of one step under one precondition; an outcome that is missing changes nothing."""
    found: dict[tuple[str, tuple[str, ...], tuple[int, ...]], dict[int, tuple[int, GroundAction]]] = {}
    for number, action in enumerate(ground):
        way = ways.get(action.step.action)
        if way is None:
            continue
        key = (way.action, action.step.arguments, action.precondition)
        found.setdefault(key, {}).setdefault(way.number, (number, action))
    for (name, arguments, precondition), parts in found.items():
        _, first = next(iter(parts.values()))
        branches = _branches(parts, chances(actions[name], arguments))
        if branches:
            yield Choice(Step(name, arguments, first.step.cost), first.cost, precondition, branches)


def _branches(parts: Mapping[int, tuple[int, GroundAction]], odds: Sequence[Decimal]) -> tuple[Branch, ...]:
    """Return the branches, with those of the same effects made one; none where nothing ever changes."""
    shares: dict[Effects, tuple[Decimal, int]] = {}
    for outcome, (number, action) in parts.items():
        if odds[outcome]:
            effects = (action.adds, action.deletes, action.conditional)
            share, first = shares.get(effects, (Decimal(0), number))
            shares[effects] = (share + odds[outcome], first)
    rest = 1 - sum([share for share, _ in shares.values()], Decimal(0))
    branches = [(float(share), number) for share, number in shares.values()]
    return (*branches, *([(float(rest), NOTHING)] if rest > ROUNDING else [])) if branches else ()
