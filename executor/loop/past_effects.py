"""Fill the ledger of a journal with what runs from before it had a ledger have done, and left in doubt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, starmap
from typing import Any

from executor.events import events
from executor.journal.interface import AnyJournal
from executor.ledger.records import Entry, Flight, Outcome
from executor.loop.effects import ground_effects, list_certain
from executor.loop.flights import entry_of, outcome_of
from executor.loop.step_identity import Brought, find_known_values, identify_step
from executor.plans.action_plan import PlanStep
from executor.plans.upgrades import Upgrade
from executor.tools.json_data import load_json
from planner.errors import ForethoughtError
from planner.lightweight import dataclass, field, replace
from planner.model import DomainModel, Object
from planner.model.domain import TypeHierarchy
from planner.plan import Step

Told = Iterable[tuple[events.Event, float]]
"""The events of a run, with their times."""


def fill_ledger(journal: AnyJournal, model: DomainModel, world: str) -> None:
    """Fill the ledger of `journal` for the irreversible actions of `model`, unless that was done before."""
    if not journal.ledger.is_filled(world):
        journal.ledger.fill(world, *find_past_effects(journal, model, world))


def find_past_effects(journal: AnyJournal, model: DomainModel, world: str) -> tuple[list[Flight], list[Entry]]:
    """Return what runs from before the ledger have left in doubt and done, and the ledger does not know."""
    if journal.ledger.is_filled(world):
        return [], []
    known = {(each.run, each.item) for each in journal.ledger.flights()}
    known |= {(each.run, each.item) for each in journal.ledger.entries()}
    runs = [each.run for each in journal.runs() if each.events]
    past = [_PastRun(model, world).read(Upgrade(model).read(_read_events(journal, each))) for each in runs]
    flights = [each for run in past for each in run.flights.values() if (each.run, each.item) not in known]
    entries = [each for run in past for each in run.entries if (each.run, each.item) not in known]
    return flights, sorted(entries, key=lambda each: each.at)


def is_unread(journal: AnyJournal) -> bool:
    """Return whether the first run of `journal` is from before the ledger, and no executor has read it since."""
    first = next((each.run for each in journal.runs() if each.events), "")
    told = [event for event, _ in islice(_read_events(journal, first), 1)] if first else []
    return any(
        isinstance(each, events.RunStarted) and not (each.world or journal.ledger.is_filled(each.domain))
        for each in told
    )


def _read_events(journal: AnyJournal, run: str) -> Iterator[tuple[events.Event, float]]:
    for each in journal.read(run):
        if each.kind in events.KINDS:
            yield events.event_from_data(each.kind, load_json(each.data)), each.time


@dataclass(slots=True, eq=False)
class _PastRun:
    """What one run has done that cannot be taken back."""

    model: DomainModel
    world: str
    run: str = ""
    objects: tuple[Object, ...] = ()
    """The objects of its problem."""
    steps: dict[str, Step] = field(default_factory=dict)
    request: Mapping[str, Any] = field(default_factory=dict)
    planned: dict[str, PlanStep] = field(default_factory=dict)
    flights: dict[str, Flight] = field(default_factory=dict)
    """The flights of steps that were begun and have not ended, by step."""
    entries: list[Entry] = field(default_factory=list)
    creates: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """The placeholders of what steps create, by parameter, by step."""
    names: dict[str, str] = field(default_factory=dict)
    """The names of what was created, by placeholder."""

    def read(self, told: Told) -> _PastRun:
        """Take over the events of a run, unless it is one that had the ledger, or one of another domain."""
        for event, at in told:
            match event:
                case events.RunStarted(run, plan, _, memory, domain):
                    if event.world or domain not in {"", self.model.name}:
                        return self
                    self.run, self.request = run, memory
                    self.objects = tuple(starmap(_read_object, plan.get("objects", {}).items()))
                    self._learn_steps(plan.get("steps", ()))
                case events.PlanChanged(steps):
                    self._learn_steps(steps)
                case events.StepStarted(step) if step in self.steps:
                    self._begin(event, at)
                case events.StepEnded(step):
                    made, created = (event.result or {}).get("created") or {}, self.creates.get(step, {})
                    self.names |= {each: made[name] for name, each in created.items() if name in made}
                    if step in self.flights:
                        self._end(event, at)
        return self

    def _learn_steps(self, steps: Iterable[Mapping[str, Any]]) -> None:
        for data in steps:
            action = self.model.actions.get(data.get("action", ""))
            self.creates[data.get("id", "")] = data.get("creates") or {}
            if action is None or "irreversible" not in action.tags:
                continue
            try:
                planned = PlanStep.model_validate(data)
                self.steps[planned.id], self.planned[planned.id] = planned.step(self.model), planned
            except (ForethoughtError, ValueError):
                continue  # the domain has changed since: what the step was, nobody knows any more

    def _begin(self, event: events.StepStarted, at: float) -> None:
        step = self.steps[event.step]
        step = replace(step, arguments=tuple([self.names.get(each, each) for each in step.arguments]))
        action = self.model.actions[step.action]
        renames = self.model.renames
        known = find_known_values(action, self.planned[event.step].parameters, self.request, renames)
        first_name = renames.find_first_name(step.action)
        given = replace(step, action=first_name, arguments=step.arguments[: len(action.parameters)])
        facts = list_certain(ground_effects(action, step, self._list_objects))
        brings = Brought.of(self.world, given, facts, known).write()
        item = identify_step(self.world, given.action, given.arguments, known)
        self.flights[event.step] = Flight(item, str(step), self.run, event.step, event.key, at, brings=brings)

    def _list_objects(self, types: tuple[str, ...]) -> list[str]:
        """Return the objects of the run and the domain that belong to any of `types`."""
        kinds, objects = TypeHierarchy(self.model.types), [*self.model.constants, *self.objects]
        return [*dict.fromkeys(each.name for each in objects if kinds.is_a(each.types, types))]

    def _end(self, event: events.StepEnded, at: float) -> None:
        flight = self.flights.pop(event.step)
        outcome = outcome_of(event.status, repeatable=event.repeatable, denied=event.denied)
        if outcome is None:
            self.flights[event.step] = replace(flight, doubt=event.reason)
        elif outcome is not Outcome.NOT_DONE:
            self.entries.append(entry_of(flight, outcome, at, seen=event.is_seen, reason=event.reason))


def _read_object(name: str, types: str | Sequence[str]) -> Object:
    return Object(name, (types,) if isinstance(types, str) else tuple(types))
