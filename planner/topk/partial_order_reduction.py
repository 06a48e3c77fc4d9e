"""Partial-order reduction: which steps commute, so that each plan is listed in one order of its steps.

Two actions are independent if neither changes what the other reads, neither makes true what the other makes false (as
far as anything reads it), and neither writes an item of `modifies` that the other reads or writes. Plans that differ
only in the order of independent steps are one trace (Mazurkiewicz, 1977).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from planner.grounding.joins import batches
from planner.lightweight import dataclass
from planner.model import OPEN, Action, Atom, Formula, Problem
from planner.model.formulas import atoms_in, is_variable
from planner.partial_order.read_write_sets import find_base_patterns, overlap
from planner.plan import Step
from planner.semantics.step_effects import staleness_of
from planner.task.ground_task import GroundAction, State, Task, bits, find_base_facts
from planner.topk.exploration import Part, PartWrapper


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns that an action or a step writes by `modifies`, and all that it reads or writes."""

    written: tuple[Atom, ...]
    touched: tuple[Atom, ...]


class Items:
    """Tells which steps of `problem` write an item that another step reads or writes.

    A step may change an item of `modifies` in place, such as a document; the facts about it may stay.
    """

    def __init__(self, problem: Problem) -> None:
        self._domain = problem.domain
        self._below = find_base_patterns(problem.domain)
        self._actions: dict[str, Patterns] = {}
        self._steps: dict[Step, Patterns] = {}
        self.any = any(when.modifies for action in problem.domain.actions.values() for when in action.effects)
        """Whether any action modifies anything."""

    def clash(self, one: Step, other: Step) -> bool:
        """Return whether one of the steps writes an item that the other reads or writes."""
        mine, theirs = self._of(one), self._of(other)
        return _any_overlap(mine.written, theirs.touched) or _any_overlap(theirs.written, mine.touched)

    def _of(self, step: Step) -> Patterns:
        if step not in self._steps:
            action = self._domain.actions.get(step.action)
            self._steps[step] = Patterns((), ()) if action is None else self._bind(action, step)
        return self._steps[step]

    def _bind(self, action: Action, step: Step) -> Patterns:
        """Return the patterns of `step`; arguments that its parameters do not bind are open."""
        if action.name not in self._actions:
            self._actions[action.name] = self._patterns(action)
        lifted = self._actions[action.name]
        binding = {each.name: value for each, value in zip(action.parameters, step.arguments, strict=False)}
        written, touched = [_bind_patterns(patterns, binding) for patterns in (lifted.written, lifted.touched)]
        return Patterns(written, (*touched, *staleness_of(self._domain).of(touched)) if written else touched)

    def _patterns(self, action: Action) -> Patterns:
        written = [atom for when in action.effects for atom in when.modifies]
        given = [atom for when in action.effects for atom in when.written]
        conditions = [action.requires, *[when.requires for when in action.effects]]
        read = [atom for condition in conditions for atom in self._read(condition)]
        return Patterns(tuple(dict.fromkeys(written)), tuple(dict.fromkeys([*given, *read])))

    def _read(self, condition: Formula) -> Iterator[Atom]:
        """Yield the atoms that `condition` reads, with base atoms in place of derived ones."""
        for atom in atoms_in(condition):
            yield from self._below.get(atom.predicate, (atom,))


def _bind_patterns(patterns: Iterable[Atom], binding: dict[str, str]) -> tuple[Atom, ...]:
    bound = [pattern.substitute(binding) for pattern in patterns]
    return tuple(
        [Atom(each.predicate, tuple([OPEN if is_variable(arg) else arg for arg in each.args])) for each in bound]
    )


def _any_overlap(some: Iterable[Atom], others: tuple[Atom, ...]) -> bool:
    return any(overlap(one, other) for one in some for other in others)


class Variants:
    """The ground actions of each step: a disjunctive condition splits a step into actions with the same effects.

    `first[a]` is the representative of action a, and `of` lists the actions of a representative. `check` raises when a
    limit is reached.
    """

    def __init__(self, task: Task, check: Callable[[], None]) -> None:
        numbers: dict[Step, int] = {}
        self.first: list[int] = []
        for batch in batches(task.actions):
            check()
            self.first += [numbers.setdefault(each.step, at) for at, each in enumerate(batch, start=len(self.first))]
        self.any = len(numbers) < len(self.first)
        """Whether any two actions are one step."""
        self.of: dict[int, list[int]] = {}
        for number, first in enumerate(self.first):
            self.of.setdefault(first, []).append(number)


class OfSteps(PartWrapper):
    """A `Part` with one edge for each step, the one of its representative action."""

    def __init__(self, part: Part, variants: Variants) -> None:
        super().__init__(part)
        self._first = variants.first
        self._known: dict[int, dict[int, int]] = {}

    def edges(self, state: int) -> Mapping[int, int]:
        """Return the successors of `state` by step, in ascending order of the representatives."""
        found = self._known.get(state)
        if found is None:
            pairs = [(self._first[action], child) for action, child in self._part.edges(state).items()]
            found = self._known[state] = dict(sorted(pairs))
        return found


@dataclass(frozen=True, slots=True)
class Touched:
    """The base facts that an action reads, may make true, and may make false, as bits."""

    reads: State
    adds: State
    deletes: State


class Commuting:
    """Tells which actions of `task` are independent, and caches the answers.

    An action stands for all actions of its step. `items` are those of the declared problem. With `strict`, actions that
    make the same fact true, or false, are dependent, too: the last one decides on the partial order of the plan, and so
    on its makespan. Facts of `others` count as read, as those that actions and the goal read. `check` raises when a
    limit is reached.
    """

    def __init__(
        self,
        task: Task,
        check: Callable[[], None],
        items: Items | None = None,
        *,
        strict: bool = False,
        others: Iterable[int] = (),
    ) -> None:
        self._task, self._variants, self._strict = task, Variants(task, check), strict
        self._items = items if items is not None and items.any else None
        self._sources = find_base_facts(task)
        self._touched: dict[int, Touched] = {}
        self._known: dict[tuple[int, int], bool] = {}
        self._read = self._base((*task.goal, *others))
        for batch in batches(task.actions, 1000):
            check()
            for action in batch:
                self._read |= self._reads(action)

    def independent(self, one: int, other: int) -> bool:
        """Return whether the actions of these numbers are independent."""
        found = self._known.get((one, other))
        if found is None:
            found = self._known[one, other] = self._decide(one, other)
        return found

    def _decide(self, one: int, other: int) -> bool:
        mine, theirs = self._of(one), self._of(other)
        if mine.reads & (theirs.adds | theirs.deletes) or theirs.reads & (mine.adds | mine.deletes):
            return False
        if mine.adds & theirs.deletes or mine.deletes & theirs.adds:
            return False
        if self._strict and (mine.adds & theirs.adds or mine.deletes & theirs.deletes):
            return False
        actions = self._task.actions
        return self._items is None or not self._items.clash(actions[one].step, actions[other].step)

    def sort_steps(self, plan: Sequence[int]) -> tuple[int, ...]:
        """Return the lexicographically first order of `plan` that keeps the order of dependent actions."""
        missing, after = [0] * len(plan), [list[int]() for _ in plan]
        for later, action in enumerate(plan):
            for earlier in range(later):
                if not self.independent(plan[earlier], action):
                    missing[later] += 1
                    after[earlier].append(later)
        ready = [(action, place) for place, action in enumerate(plan) if not missing[place]]
        heapify(ready)
        found = []
        while ready:
            action, place = heappop(ready)
            found.append(action)
            for later in after[place]:
                missing[later] -= 1
                if not missing[later]:
                    heappush(ready, (plan[later], later))
        return tuple(found)

    def _of(self, number: int) -> Touched:
        if number not in self._touched:
            reads = adds = deletes = 0
            for action in [self._task.actions[variant] for variant in self._variants.of[number]]:
                reads |= self._reads(action)
                adds, deletes = adds | bits(action.adds), deletes | bits(action.deletes)
                for effect in action.conditional:
                    adds, deletes = adds | bits(effect.adds), deletes | bits(effect.deletes)
            self._touched[number] = Touched(reads, adds & self._read, deletes & self._read)
        return self._touched[number]

    def _reads(self, action: GroundAction) -> State:
        found = self._base(action.precondition)
        for effect in action.conditional:
            found |= self._base(effect.condition)
        return found

    def _base(self, facts: tuple[int, ...]) -> State:
        found = 0
        for fact in facts:
            found |= self._sources.get(fact, 1 << fact)
        return found


class Sleep:
    """Sleep sets (Godefroid, 1990) as bits: actions to skip, since an earlier order of steps has them."""

    def __init__(self, commuting: Commuting) -> None:
        self._commuting = commuting
        self._bits: dict[int, int] = {}
        self._actions: list[int] = []
        self._others: dict[int, tuple[int, int]] = {}

    def bit(self, action: int) -> int:
        """Return the bit of `action`."""
        found = self._bits.get(action)
        if found is None:
            found = self._bits[action] = 1 << len(self._actions)
            self._actions.append(action)
        return found

    def action(self, place: int) -> int:
        """Return the action whose bit is at `place`."""
        return self._actions[place]

    def bits(self, actions: Sequence[int]) -> int:
        """Return the bits of `actions`."""
        found = 0
        for action in actions:
            found |= self.bit(action)
        return found

    def keep_asleep(self, _state: int, asleep: int, action: int) -> int:
        """Return the actions of `asleep` that stay asleep after `action`: those independent of it."""
        others, known = self._others.get(action, (0, 0))
        for place in range(known, len(self._actions)):
            if self._commuting.independent(action, self._actions[place]):
                others |= 1 << place
        self._others[action] = others, len(self._actions)
        return asleep & others
