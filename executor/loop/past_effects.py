"""Fill the ledger of a journal with what its runs have done, and left in doubt, that it was not told of.

These are the runs from before the ledger, and the steps of actions that only a later version of the domain calls
irreversible. So that no journal is read for an action that is new, the ledger keeps names of what it was filled with:
the world, and each action with `REVERSIBLE` where it can be taken back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, starmap
from typing import Any, Final

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

REVERSIBLE: Final = "\nreversible"
"""Ends the names of actions that can be taken back."""
Told = Iterable[tuple[events.Event, float]]
"""The events of a run, with their times."""


def fill_ledger(journal: AnyJournal, model: DomainModel, world: str, labels: Collection[str] = ()) -> None:
    """Fill the ledger of `journal` for the irreversible actions of `model`, unless that was done before.

    The `world` is known to its runs by these `labels`.
    """
    names = {world, *name_actions(model, world)}
    others = {each.removesuffix(REVERSIBLE) if each.endswith(REVERSIBLE) else each + REVERSIBLE for each in names}
    while not names <= (filled := journal.ledger.list_filled()):
        past = find_past_effects(journal, model, world, labels)
        if journal.ledger.fill(names - filled, *past, instead=others & filled):
            return  # else somebody else has filled in some of it meanwhile


def find_past_effects(
    journal: AnyJournal, model: DomainModel, world: str, labels: Collection[str] = ()
) -> tuple[list[Flight], list[Entry]]:
    """Return what runs have left in doubt and done of irreversible actions, and the ledger was not told of."""
    unread = find_unread(journal.ledger.list_filled(), model, world)
    if not unread:
        return [], []
    known = {(each.run, each.step) for each in journal.ledger.flights()}
    known |= {(each.run, each.step) for each in journal.ledger.entries() if each.outcome is not Outcome.REFUSED}
    runs = [each.run for each in journal.runs() if each.events]
    made = (_PastRun(model, world, unread, frozenset(labels)) for _ in runs)
    past = [run.read(Upgrade(model).read(_read_events(journal, each))) for run, each in zip(made, runs, strict=True)]
    flights = [each for run in past for each in run.flights.values() if (each.run, each.step) not in known]
    entries = [each for run in past for each in run.entries if (each.run, each.step) not in known]
    return flights, sorted(entries, key=lambda each: each.at)


def name_actions(model: DomainModel, world: str) -> dict[str, str]:
    """Return the actions by the names by which the ledger knows whether it was told of what they have done."""
    first_name = model.renames.find_first_name
    kinds = {name: "" if "irreversible" in action.tags else REVERSIBLE for name, action in model.actions.items()}
    return {f"{world}\n{first_name(name)}{kind}": name for name, kind in kinds.items()}


def find_unread(filled: Collection[str], model: DomainModel, world: str) -> frozenset[str]:
    """Return the irreversible actions of which steps may have been done that the `filled` ledger was not told of.

    They could be taken back in an earlier version of the domain, or nobody knows what they were.
    """
    is_first = not any(each.startswith(f"{world}\n") for each in filled)
    names = [each for each in name_actions(model, world).items() if not each[0].endswith(REVERSIBLE)]
    unread = [name for key, name in names if key not in filled and (is_first or key + REVERSIBLE in filled)]
    return frozenset(unread)


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
    actions: Collection[str]
    """The actions that count."""
    labels: Collection[str]
    """The labels of the world; that of runs from before the ledger is "", and counts, too."""
    run: str = ""
    occasion: str = ""
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
        """Take over the events of a run, unless it is one of another world or domain."""
        for event, at in told:
            match event:
                case events.RunStarted(run, plan, _, memory, domain):
                    if event.world not in {"", *self.labels} or domain not in {"", self.model.name}:
                        return self
                    self.run, self.request, self.occasion = run, memory, event.occasion
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
            if action is None or action.name not in self.actions:
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
        given = replace(step, action=first_name, arguments=action.declared_arguments(step.arguments))
        facts = list_certain(ground_effects(action, step, self._list_objects))
        brings = Brought.of(self.world, given, facts, known).write()
        item = identify_step(self.world, given.action, given.arguments, known)
        own = item, str(step), self.run, event.step, event.key, at, self.occasion
        self.flights[event.step] = Flight(*own, brings=brings)

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
