"""Look for what bears on standing goals: ask observers and Python conditions, and judge goals by what is believed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, islice, product
from typing import Any, Final

from executor.agent.agent_events import GoalInstance
from executor.agent.standing_goals.goal_instances import Objects, Picture
from executor.agent.standing_goals.standing_goal import StandingGoal
from executor.events.events import Disagreement
from executor.observe.observe import Lookout, LookResult, TakeTurn
from executor.plans.created_objects import Bindings
from executor.tools.containment import OutOfTime, await_within, call_contained, describe_error
from executor.tools.context import LookContext
from executor.tools.world import World
from planner.lightweight import dataclass, field
from planner.model import OPEN, Atom

MOST_LOOKS: Final = 2000
"""Most single facts that one look asks about."""
MEASURE_SECONDS: Final = 10.0
"""Time limit of a Python condition, in seconds."""
Measured = dict[Objects, tuple[bool, str]]
"""Whether a goal is in force by its Python condition, and why, by objects."""


@dataclass(slots=True)
class Sighted:
    """Result of a look: values of facts, and of Python conditions by goal and objects, with their words."""

    facts: dict[Atom, bool] = field(default_factory=dict)
    measured: dict[str, Measured] = field(default_factory=dict)
    disagreements: list[Disagreement] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class GoalWatch:
    """Looks at the world for standing goals; `picture` is what is believed."""

    world: World
    picture: Picture
    take_turn: TakeTurn | None = None
    """Waits until the rate of an observer lets it be asked."""
    deps: Callable[[], Any] = lambda: None
    """Returns what observers have as their `context.deps`."""
    measured: dict[str, Measured] = field(default_factory=dict)
    """The latest values of Python conditions."""
    _lookout: Lookout = field(init=False)
    _objects: Bindings = field(init=False)

    def __post_init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Take over the objects of a picture that was made anew."""
        self._objects = Bindings(self.picture.problem, self.picture.problem)
        self._lookout = Lookout(self.world, self._objects, self.take_turn)
        self._lookout.context = LookContext("", self.deps)

    def find_in_force(self, goal: StandingGoal, changed: Collection[Atom] | None) -> set[Objects]:
        """Return the objects for which a goal is in force; with `changed`, those on which these facts may bear."""
        if goal.measure is not None:
            return {each for each, (is_wanted, _) in self.measured.get(goal.name, {}).items() if is_wanted}
        return self.picture.find(goal.pattern, changed)

    def is_in_force(self, goal: StandingGoal, objects: Objects) -> bool:
        """Return whether a goal is in force for `objects`."""
        if goal.measure is not None:
            return self.measured.get(goal.name, {}).get(objects, (False, ""))[0]
        return self.picture.holds(goal.pattern.condition_for(objects))

    def is_unmet(self, goal: StandingGoal, objects: Objects) -> bool:
        """Return whether a goal is in force and unmet; one that a measurement wants is unmet until another one."""
        if not self.is_in_force(goal, objects):
            return False
        restores = goal.measure is not None and goal.measure.restores
        return restores or not self.picture.holds(goal.pattern.goal_for(objects))

    async def look(self, goals: Iterable[StandingGoal], due: Iterable[GoalInstance]) -> Sighted:
        """Ask observers about the conditions of `goals`, and about the goals that are in force or `due`."""
        goals = list(goals)
        by_name = {each.name: each for each in goals}
        patterns = dict.fromkeys(each for goal in goals for each in self.picture.patterns_of(goal.pattern))
        wanted = [fact for each in due if each.goal in by_name for fact in self._facts_of(each, by_name[each.goal])]
        others = chain((fact for each in patterns for fact in self._list_narrow(each)), self._list_in_force(goals))
        facts = dict.fromkeys([*wanted, *islice(others, MOST_LOOKS)])
        over = [each for each in patterns if OPEN in each.args]
        looked, (measured, complaints) = await asyncio.gather(self._look(facts, over), self._measure(goals))
        sighted = self._read(looked, measured)
        sighted.disagreements += [Disagreement((), each) for each in complaints]
        return sighted

    def _list_in_force(self, goals: Iterable[StandingGoal]) -> Iterator[Atom]:
        """Yield the facts of the goals that are in force without a schedule: somebody may have undone them."""
        for goal in goals:
            if goal.schedule is None and goal.measure is None:
                for objects in sorted(self.find_in_force(goal, None)):
                    yield from self.picture.facts_of(goal.pattern.goal_for(objects))

    async def look_at(self, instances: Iterable[GoalInstance], goals: Mapping[str, StandingGoal]) -> Sighted:
        """Ask observers about the conditions and goals of `instances`."""
        facts = dict.fromkeys(fact for each in instances for fact in self._facts_of(each, goals[each.goal]))
        return self._read(await self._look(facts, ()), {})

    async def _look(self, facts: Iterable[Atom], over: Collection[Atom]) -> LookResult:
        asked = [fact for fact in facts if self._lookout.can_see(fact)]
        if not (asked or over):
            return LookResult()
        return await self._lookout.look(asked, self.picture.beliefs, over)

    def _facts_of(self, instance: GoalInstance, goal: StandingGoal) -> Iterator[Atom]:
        for part in (goal.pattern.condition_for(instance.objects), goal.pattern.goal_for(instance.objects)):
            yield from self.picture.facts_of(part)

    def _list_narrow(self, pattern: Atom) -> Iterator[Atom]:
        """Yield the facts of `pattern` that observers can decide one by one only."""
        if not self._lookout.watches(pattern.predicate):
            return
        if OPEN in pattern.args and self.world.observers_over(pattern):
            return
        universe = self.picture.beliefs.simulation.rules.universe
        places = self.picture.problem.domain.predicates[pattern.predicate].parameters
        choices = [
            tuple(universe.of_types(place.types)) if arg == OPEN else (arg,)
            for arg, place in zip(pattern.args, places, strict=True)
        ]
        for row in product(*choices):
            yield Atom(pattern.predicate, row)

    def _read(self, looked: LookResult, measured: dict[str, Measured]) -> Sighted:
        """Return what was seen, with facts about objects that nobody knew."""
        facts = dict(looked.seen)
        for each in looked.disagreements:
            facts.update({note.fact: bool(note.holds) for note in each.strangers})
        derived = self.picture.problem.domain.derived
        facts = {fact: holds for fact, holds in facts.items() if fact.predicate not in derived}
        disagreements = [each for each in looked.disagreements if not each.strangers]
        return Sighted(facts, measured, disagreements)

    async def _measure(self, goals: Iterable[StandingGoal]) -> tuple[dict[str, Measured], list[str]]:
        """Call the Python conditions of `goals` for all objects of their parameters; return complaints, too."""
        found: dict[str, Measured] = {}
        complaints: list[str] = []
        for goal in goals:
            if goal.measure is not None:
                rows = sorted(self.picture.find(goal.pattern))
                values = await asyncio.gather(*[self._measure_one(goal, row, complaints) for row in rows])
                found[goal.name] = {row: each for row, each in zip(rows, values, strict=True) if each is not None}
        return found, complaints

    async def _measure_one(self, goal: StandingGoal, row: Objects, complaints: list[str]) -> tuple[bool, str] | None:
        """Call a Python condition; one that fails has said nothing, and its latest value stays."""
        assert goal.measure is not None
        names = {each.name.removeprefix("?"): name for each, name in zip(goal.pattern.variables, row, strict=True)}
        function: Any = goal.measure.function
        try:
            arguments = await self.world.entities.make_arguments(function, names, self._objects)
            return goal.measure.judge(await await_within(call_contained(function, arguments), MEASURE_SECONDS))
        except OutOfTime:
            reason = f"did not answer within {MEASURE_SECONDS:g} s"
        except Exception as error:  # noqa: BLE001 - whatever a condition raises, it has said nothing
            reason = f"failed: {describe_error(error)}"
        complaints.append(f"the condition of {goal.name!r} {reason}")
        return self.measured.get(goal.name, {}).get(row)
