"""Backward relevance in time (Nebel, Dimopoulos and Koehler, 1997): drops the steps and facts that no goal needs.

Starts and ends of a step belong together: a step is relevant if one of them makes a relevant fact true, or changes a
number that a relevant condition reads. A change at a known time that makes a relevant fact false is relevant,
too. What is relevant requires relevant facts. A plan without its irrelevant steps is still a plan.

A change at a known time also stays where it writes what a relevant step writes: the two must not come at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.lightweight import dataclass, field, replace
from planner.limits import look, under_limits
from planner.task.ground_task import ConditionalEffect, GroundAction, Task, effects_of
from planner.task.numeric_task import NumericTask
from planner.task.numeric_task_compiled import find_opposites
from planner.task.temporal_task import Lapse, TemporalTask


def keep_relevant_steps(task: TemporalTask) -> TemporalTask:
    """Return `task` without irrelevant steps, events and facts, and without actions that are neither start nor end.

    A task with axioms is returned as it is.
    """
    if task.source.task.axioms:
        return task
    found = _Relevance(task)
    found.find()
    return found.cut()


@dataclass(slots=True)
class _Relevance:
    """The relevant `facts` and `variables` of `task`, and which `units`, steps or single actions, are `kept`."""

    task: TemporalTask
    units: list[list[int]] = field(default_factory=list)
    kept: set[int] = field(default_factory=set)
    facts: set[int] = field(default_factory=set)
    variables: set[int] = field(default_factory=set)

    def find(self) -> None:
        """Find all that is relevant, by backward search from the goal."""
        task, source = self.task, self.task.source
        terms = {each.fact: [variable for variable, _ in each.terms] for each in source.conditions}
        self.units = _find_units(task)
        forced = {end for lapse in task.lapses[task.events :] for end in lapse.ends}
        achievers: dict[int, list[int]] = {}
        changers: dict[int, list[int]] = {}
        for unit, members in enumerate(under_limits(self.units)):
            for action in members:
                for fact in _effects_of(source.task.actions[action], forced=action in forced):
                    achievers.setdefault(fact, []).append(unit)
                for group in source.changes[action]:
                    for effect in group.effects:
                        changers.setdefault(effect.variable, []).append(unit)
        queue = [*source.task.goal]
        self.facts.update(queue)
        units: list[int] = []
        while queue or units:
            while units:
                unit = units.pop()
                if unit not in self.kept:
                    look()
                    self.kept.add(unit)
                    self._want(queue, units, changers, self._conditions_of(self.units[unit]), terms)
                    self._want_numbers(units, changers, self._variables_of(self.units[unit]))
            if queue:
                fact = queue.pop()
                self._want_numbers(units, changers, terms.get(fact, ()))
                units += achievers.get(fact, ())
        self._keep_touching(forced)

    def _keep_touching(self, forced: set[int]) -> None:
        """Keep the changes at known times that write what a kept step writes, whether or not anybody reads it."""
        facts, variables = set[int](), set[int]()
        for unit in under_limits(self.kept):
            written = self._written_by(self.units[unit])
            facts |= written[0]
            variables |= written[1]
        for unit, members in enumerate(under_limits(self.units)):
            if unit not in self.kept and not forced.isdisjoint(members):
                written = self._written_by(members)
                if facts & written[0] or variables & written[1]:
                    self.kept.add(unit)
                    self.facts |= facts & written[0]
                    self.facts |= self._conditions_of(members)

    def _written_by(self, members: Iterable[int]) -> tuple[set[int], set[int]]:
        """Return the facts and the variables that a unit writes."""
        facts, variables = set[int](), set[int]()
        for action in members:
            facts |= _effects_of(self.task.source.task.actions[action], forced=True)
            variables.update(
                [effect.variable for group in self.task.source.changes[action] for effect in group.effects]
            )
        return facts, variables

    def _variables_of(self, members: Iterable[int]) -> Iterator[int]:
        """Yield the variables that the effects and the duration of a unit read."""
        for action in members:
            for group in self.task.source.changes[action]:
                for effect in group.effects:
                    yield from [variable for variable, _ in effect.terms]
            begun = self.task.begins[action]
            if begun >= 0:
                lapse = self.task.lapses[begun]
                yield from [variable for variable in (lapse.variable, lapse.greatest) if variable is not None]

    def _conditions_of(self, members: Iterable[int]) -> set[int]:
        source, found = self.task.source, set[int]()
        for action in members:
            found.update(source.task.actions[action].precondition)
            for part in source.task.actions[action].conditional:
                found.update(part.condition)
            for group in source.changes[action]:
                found.update(*group.conditions)
            begun = self.task.begins[action]
            if begun >= 0:
                found.update(*self.task.lapses[begun].invariants)
        return found

    def _want(
        self,
        queue: list[int],
        units: list[int],
        changers: dict[int, list[int]],
        facts: set[int],
        terms: dict[int, list[int]],
    ) -> None:
        new = facts - self.facts
        self.facts |= new
        queue += new
        for fact in new:
            self._want_numbers(units, changers, terms.get(fact, ()))

    def _want_numbers(self, units: list[int], changers: dict[int, list[int]], variables: Iterable[int]) -> None:
        for variable in variables:
            if variable not in self.variables:
                self.variables.add(variable)
                units += changers.get(variable, ())

    def cut(self) -> TemporalTask:
        """Return the task with what is relevant."""
        task, source = self.task, self.task.source
        opposite = find_opposites(source.task)
        pairs = [{each.fact, opposite[each.fact]} for each in source.conditions]
        self.facts.update(*[pair for pair in pairs if pair & self.facts])
        name = {
            old: new for new, old in enumerate(fact for fact in range(len(source.task.facts)) if fact in self.facts)
        }
        actions = sorted(action for unit in self.kept for action in self.units[unit])
        number = {old: new for new, old in enumerate(actions)}
        lapses = [place for place, lapse in enumerate(task.lapses) if any(end in number for end in lapse.ends)]
        place_of = {old: new for new, old in enumerate(lapses)}
        plain = _cut_facts(
            source.task, name, [_cut_action(source.task.actions[action], name) for action in under_limits(actions)]
        )
        numeric = NumericTask(
            plain,
            source.variables,
            tuple([replace(each, fact=name[each.fact]) for each in source.conditions if each.fact in name]),
            [
                tuple(
                    [
                        replace(group, conditions=tuple([_rename(each, name) for each in group.conditions]))
                        for group in source.changes[action]
                    ]
                )
                for action in under_limits(actions)
            ],
            source.is_priced,
            source.metric,
        )
        return TemporalTask(
            numeric,
            tuple([_cut_lapse(task.lapses[place], name, number) for place in under_limits(lapses)]),
            tuple([place_of[task.begins[each]] if task.begins[each] >= 0 else task.begins[each] for each in actions]),
            sum([place < task.events for place in lapses]),
            task.resolution,
        )


def _find_units(task: TemporalTask) -> list[list[int]]:
    """Return the actions of each lapse, and those that belong to none alone; ends without a start are left out."""
    starts: list[list[int]] = [[] for _ in task.lapses]
    single = []
    ends = {end for lapse in task.lapses for end in lapse.ends}
    for action, begun in enumerate(under_limits(task.begins)):
        if begun >= 0:
            starts[begun].append(action)
        elif begun == -1 and action not in ends:
            single.append([action])
    units = [
        [*starts[place], *lapse.ends]
        for place, lapse in enumerate(task.lapses)
        if starts[place] or place >= task.events
    ]
    return [*units, *single]


def _effects_of(action: GroundAction, *, forced: bool) -> set[int]:
    """Return what `action` makes true, and where it is `forced` to happen, what it makes false."""
    return {fact for part in effects_of(action) for fact in ((*part.adds, *part.deletes) if forced else part.adds)}


def _rename(facts: Iterable[int], name: dict[int, int]) -> tuple[int, ...]:
    return tuple([name[fact] for fact in facts if fact in name])


def _cut_action(action: GroundAction, name: dict[int, int]) -> GroundAction:
    parts = [
        ConditionalEffect(_rename(part.condition, name), _rename(part.adds, name), _rename(part.deletes, name))
        for part in action.conditional
    ]
    return GroundAction(
        action.step,
        _rename(action.precondition, name),
        _rename(action.adds, name),
        _rename(action.deletes, name),
        tuple([part for part in parts if part.adds or part.deletes]),
        action.cost,
    )


def _cut_facts(task: Task, name: dict[int, int], actions: list[GroundAction]) -> Task:
    """Return `task` with these `actions` and the facts that have a `name`, a new number."""
    groups = [[_rename(each, name) for each in several] for several in (task.variables, task.mutexes)]
    return replace(
        task,
        facts=tuple([fact for number, fact in enumerate(task.facts) if number in name]),
        variables=tuple([each for each in groups[0] if each]),
        mutexes=tuple([each for each in groups[1] if len(each) > 1]),
        initial=_rename(task.initial, name),
        goal=_rename(task.goal, name),
        actions=actions,
        conflicts=tuple([(name[one], name[other]) for one, other in task.conflicts if one in name and other in name]),
    )


def _cut_lapse(lapse: Lapse, name: dict[int, int], number: dict[int, int]) -> Lapse:
    return replace(
        lapse,
        ends=tuple([number[end] for end in lapse.ends]),
        invariants=tuple([_rename(each, name) for each in lapse.invariants]),
        running=name.get(lapse.running, -1),
    )
