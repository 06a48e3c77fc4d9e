"""Simulated handlers: they apply declared effects, fail by faults and risks, and return sample data."""

from __future__ import annotations

import asyncio
import datetime as dt
import math
import os
import random
import signal
import types
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from executor.plans.created_objects import term_of_value
from executor.plans.suppositions import sensed_by
from executor.testing import virtual_time
from executor.testing.faults import Fault, FaultKind
from executor.testing.simulated_observers import STRANGER, SimulatedError
from executor.tools.results import ActionResult
from planner.lightweight import replace
from planner.model import OPEN, Action, Atom, DomainModel, Outcome
from planner.model.actions import positive_atoms
from planner.model.arithmetic import Exact, exact_value
from planner.model.domain import ROOT_TYPE
from planner.model.object_names import object_name
from planner.plan import Step
from planner.semantics.numeric_state import NumberChange
from planner.semantics.simulation import bind_parameters

if TYPE_CHECKING:
    from executor.testing.simulated_world import SimulatedWorld


def draw_outcome(action: Action, arguments: tuple[str, ...], dice: random.Random) -> tuple[bool, Outcome | None]:
    """Draw whether an attempt works, and which declared outcome it has; None is the intended one."""
    risk, odds = action.odds(arguments)
    works = dice.random() >= risk
    if not action.outcomes:
        return works, None
    return works, dice.choices(action.outcomes, [float(each) for each in odds])[0]


DEEPEST: Final = 8
"""Deepest nesting of models that get sample values."""
_PLAIN: Final[Mapping[Any, Any]] = {
    int: 1,
    float: 1.0,
    bool: True,
    Decimal: Decimal(1),
    bytes: b"data",
    dt.date: dt.date(2026, 1, 1),
    dt.datetime: dt.datetime(2026, 1, 1, 9, tzinfo=dt.UTC),
    dt.time: dt.time(9),
    dt.timedelta: dt.timedelta(hours=1),
    dict: {},
    list: [],
    set: set(),
    tuple: (),
    type(None): None,
}


def sample(annotation: Any, label: str, depth: int = 0) -> Any:
    """Make a value of the type `annotation`; texts and values of unknown types are `label`."""
    origin, members = get_origin(annotation), get_args(annotation)
    if annotation in _PLAIN if annotation.__hash__ else False:
        return _PLAIN[annotation]
    if origin is Annotated:
        return sample(members[0], label, depth)
    if origin is Literal:
        return members[0]
    if origin in (list, set, frozenset):
        return origin([sample(members[0], label, depth)])
    if origin is tuple:
        return tuple([sample(each, label, depth) for each in members if each is not ...])
    if origin is dict:
        return {sample(members[0], label, depth): sample(members[1], label, depth)}
    if origin in (Union, types.UnionType):
        return sample(members[0], label, depth)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return next(iter(annotation))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and depth < DEEPEST:
        fields = _required_fields(annotation)
        return annotation(**{name: sample(each.annotation, f"{name} of {label}", depth + 1) for name, each in fields})
    return label


def _required_fields(model: type[BaseModel]) -> list[tuple[str, Any]]:
    return [(each.alias or name, each) for name, each in model.model_fields.items() if each.is_required()]


def wanted_of(domain: DomainModel) -> dict[str, dict[str, Any]]:
    """Return, for each action, the paths of its results that data parameters use, with their types."""
    wanted: dict[str, dict[str, Any]] = {name: {} for name in domain.actions}
    for consumer in domain.actions.values():
        for parameter in consumer.data:
            if parameter.source is not None:
                for provider in domain.actions.values():
                    if parameter.source.fact.predicate in _provided(provider):
                        wanted[provider.name].setdefault(parameter.source.path, parameter.annotation)
    return wanted


def _provided(action: Action) -> set[str]:
    return {atom.predicate for when in action.effects for atom in positive_atoms(when.provides)}


def results_of(wanted: Mapping[str, Any], label: str) -> dict[str, Any]:
    """Make the fields of a result that has a value at each of the paths `wanted`."""
    found: dict[str, Any] = {}
    for path, annotation in wanted.items():
        *outer, last = path.split(".") if path else ["data"]
        inside = found
        for name in outer:
            inside = inside.setdefault(name, {}) if isinstance(inside.get(name, {}), dict) else {}
        if isinstance(inside.get(last), dict):
            continue
        inside.setdefault(last, sample(annotation, f"{last} of {label}"))
    return found


DEATH: Final = -1.0
"""The value that a script yields to make the process die; other yielded values are seconds."""
DIED: Final = "the simulated process died"
Script = Generator[float, None, ActionResult]
_LATE: Final = frozenset({FaultKind.LATE, FaultKind.SLOW})
NEVER_STARTS: Final = frozenset(
    {FaultKind.FAILS, FaultKind.RAISES, FaultKind.LIES, FaultKind.HANGS, FaultKind.CRASH_BEFORE}
)
"""Faults of handlers that do not even start what they are to do, in a timed world."""
_AMOUNTS: Final = frozenset({FaultKind.NUMBER_DRIFTS, FaultKind.NUMBER_HALVES, FaultKind.NUMBER_STAYS})


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a handler, after so many `acts` of the world: `step` is the ground action, `by` the run and step."""

    at: float
    step: Atom
    by: str
    acts: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """What the listing `by` (its run and step) told at a time: the facts `named`, and its `success`."""

    at: float
    by: str
    about: tuple[Atom, ...]
    named: frozenset[Atom]
    success: bool


@dataclass(slots=True)
class Deed:
    """One call of a handler: it does `step` for the plan step `by`, as "run/step"."""

    simulated: SimulatedWorld
    action: Action
    skill: str
    step: Step
    by: str
    seconds: float
    created: tuple[tuple[str, str], ...] = ()
    attempt: int = 0
    planned: float | None = None
    """How many seconds the step is planned to last."""

    @property
    def name(self) -> Atom:
        """The ground action."""
        return Atom(self.step.action, self.step.arguments)

    def script(self, struck: tuple[int, Fault] | None) -> Script:
        """Do the step: yield the seconds to wait, and return the answer."""
        kind = None if struck is None else struck[1].kind
        if self.simulated.timed:
            return (yield from self._script_in_time(struck))
        yield from self._before(kind, struck)
        if kind in (FaultKind.FAILS, FaultKind.LIES):
            return self._fail("it did not work") if kind is FaultKind.FAILS else self._answer()
        if self.action.lists and kind in (FaultKind.LISTING_FAILS, FaultKind.LISTING_JUNK):
            return self._list_in_part() if kind is FaultKind.LISTING_FAILS else self._list_junk()
        works, outcome = self._draw_outcome()
        objection = self._act(struck, outcome) if works else "it did not work"
        if objection:
            return self._fail(objection)
        yield from self._after(kind, struck)
        if kind is FaultKind.RESULT_STRANGER:
            return replace(self._answer(), observed=(self._told_of_stranger(),))
        if kind is FaultKind.FAILS_DONE:
            return self._fail("it says that it did not work")
        return self._answer(leaves_out=int(kind is FaultKind.LISTING_SHORT))

    def _script_in_time(self, struck: tuple[int, Fault] | None) -> Script:
        """Do the step in a timed world: what its start changes comes first, and the rest when its time is over."""
        kind, truth = None if struck is None else struck[1].kind, self.simulated.truth
        lasts = self.simulated.time_step(self.step, self.by, self.planned)
        if kind in NEVER_STARTS:
            self.seconds = lasts
            yield from self._before(kind, struck)
            return self._fail("it did not work") if kind is FaultKind.FAILS else self._answer()
        if struck is not None and kind is FaultKind.CHANGE_BEFORE:
            self.simulated.change_from_outside(*struck, but=self.name)
        if self.action.creates:
            self.created = truth.create(self.action)
        step = self._step_with(self.created)
        objection = truth.begin(step, self.by, self.created)
        if objection:
            self.simulated.refusals.append((virtual_time.now(), self.name, objection))
            return self._fail(objection)
        if struck is not None and kind is FaultKind.LATE:
            lasts += struck[1].delay
        if lasts:
            yield lasts
        objection = truth.finish(step, self.by, lasts)
        if objection:
            self.simulated.refusals.append((virtual_time.now(), self.name, objection))
            return self._fail(objection)
        yield from self._after(None if kind is FaultKind.TWICE else kind, struck)
        return self._fail("it says that it did not work") if kind is FaultKind.FAILS_DONE else self._answer()

    def _told_of_stranger(self) -> str:
        """Return a fact about objects that the problem lacks, of the predicate with the most arguments."""
        predicates = self.simulated.problem.domain.predicates
        name = max(predicates, key=lambda name: len(predicates[name].parameters))
        fact = Atom(name, tuple([f"{STRANGER}-{place}" for place in range(len(predicates[name].parameters))]))
        self.simulated.strangers.append(fact)
        return str(fact)

    def _draw_outcome(self) -> tuple[bool, Outcome | None]:
        """Draw whether the attempt works, and its outcome; None is the intended one."""
        if not self.simulated.chances:
            return True, None
        run, _, step = self.by.rpartition("/")
        about = (self.simulated.number_of(run), step, self.attempt)
        return draw_outcome(self.action, self.step.arguments, self.simulated.faults.dice("chance", *about))

    def _before(self, kind: FaultKind | None, struck: tuple[int, Fault] | None) -> Generator[float, None, None]:
        if self.seconds:
            yield self.seconds
        match kind:
            case FaultKind.RAISES:
                raise SimulatedError(f"{self.step} broke down")
            case FaultKind.HANGS:
                yield math.inf
            case FaultKind.CRASH_BEFORE:
                yield DEATH
        if struck is not None and kind is FaultKind.LATE:
            yield struck[1].delay
        if struck is not None and kind is FaultKind.CHANGE_BEFORE:
            self.simulated.change_from_outside(*struck, but=self.name)

    def _after(self, kind: FaultKind | None, struck: tuple[int, Fault] | None) -> Generator[float, None, None]:
        match kind:
            case FaultKind.RAISES_DONE:
                raise SimulatedError(f"{self.step} broke down")
            case FaultKind.HANGS_DONE:
                yield math.inf
            case FaultKind.CRASH_AFTER:
                yield DEATH
            case FaultKind.TWICE:
                self._act_again()
        if struck is not None and kind is FaultKind.SLOW:
            yield struck[1].delay
        if struck is not None and kind is FaultKind.CHANGE_DURING:
            self.simulated.change_from_outside(*struck, but=self.name)
        if struck is not None and kind is FaultKind.NUMBER_JUMPS:
            virtual_time.call_after(
                struck[1].delay, partial(self.simulated.change_numbers_from_outside, struck[0], self.step)
            )
        if struck is not None and kind is FaultKind.CHANGE_AFTER:
            virtual_time.call_after(
                struck[1].delay, partial(self.simulated.change_from_outside, *struck, but=self.name)
            )

    def _act(self, struck: tuple[int, Fault] | None, outcome: Outcome | None) -> str:
        """Apply the declared effects to the true state; return an objection if that is impossible."""
        truth = self.simulated.truth
        if self.action.creates:
            self.created = truth.create(self.action)
        step = self._step_with(self.created)
        objection = truth.find_objection(step)
        if not objection:
            partly = struck is not None and struck[1].kind is FaultKind.PARTLY
            run, _, id_ = self.by.rpartition("/")
            about = self.simulated.number_of(run), id_, self.step
            dice = self.simulated.faults.dice("part", *about) if partly else None
            numbers = self._misplace_numbers(struck)
            truth.apply(step, self.by, self.created, dice, outcome, numbers=numbers)
        return objection

    def _misplace_numbers(self, struck: tuple[int, Fault] | None) -> Callable[[NumberChange], Exact] | None:
        """Return the values that the fluents of the step get in place of the intended ones, if it has such a fault."""
        if struck is None or struck[1].kind not in _AMOUNTS:
            return None
        kind, faults = struck[1].kind, self.simulated.faults

        def misplace(change: NumberChange) -> Exact:
            assert change.after is not None, "a step leaves no fluent without a value"
            if change.before is None:
                return change.after
            dice = faults.dice_of(struck[0], self.name, "number", change.fluent)
            share = {FaultKind.NUMBER_HALVES: Fraction(1, 2), FaultKind.NUMBER_STAYS: Fraction(0)}.get(
                kind, 1 + Fraction(dice.choice([-10, -1, 1, 10]), 100)
            )
            return exact_value(change.before + (change.after - change.before) * share)

        return misplace

    def _act_again(self) -> None:
        truth = self.simulated.truth
        created = truth.create(self.action)
        step = self._step_with(created)
        if truth.find_objection(step):
            truth.touch(step, self.by)
        else:
            truth.apply(step, self.by, created)

    def _step_with(self, created: tuple[tuple[str, str], ...]) -> Step:
        """Return the step with the created objects as arguments."""
        return Step(self.step.action, (*self.step.arguments, *[name for name, _ in created]), self.step.cost)

    def _answer(self, *, leaves_out: int = 0) -> ActionResult:
        """Return the result; a listing `leaves_out` so many of its items."""
        made = [name for name, _ in self.created] or [f"no-{kind.lower()}" for kind in self.action.creates.values()]
        names = [name.removeprefix("?") for name in self.action.creates]
        found = results_of(self.simulated.wanted[self.action.name], str(self.step))
        listed = self._patterns
        sensed = [each for each in sensed_by(self.simulated.problem.domain, self.step) if each not in listed]
        if sensed:
            found["observed"] = self.simulated.truth.about(sensed)
        if self.action.lists:
            items = self._tell(self._list_items()[leaves_out:], success=True)
            if len(self.action.lists) == 1 and found.keys().isdisjoint({"data", "observed"}):
                found["data"] = self._format_rows(items)
            else:
                found["observed"] = [*found.get("observed", ()), *map(str, items)]
                found.setdefault("found", {ROOT_TYPE: ()})  # there are no other items, even where there are none at all
        return ActionResult(**{"text": f"{self.step} is done", **found}, created=dict(zip(names, made, strict=True)))

    @property
    def _patterns(self) -> tuple[Atom, ...]:
        """The patterns that the step lists."""
        binding = dict(bind_parameters(self.action, self.step))
        return tuple([pattern.substitute(binding) for pattern in self.action.lists])

    def _list_items(self) -> list[Atom]:
        """Return the true facts of the patterns that the step lists."""
        facts, patterns = sorted(self.simulated.facts, key=str), self._patterns
        return [fact for fact in facts if any(pattern.matches(fact) for pattern in patterns)]

    def _format_rows(self, items: list[Atom]) -> list[Any]:
        """Return the values of the open arguments of `items`, as a handler lists them."""
        places = [place for place, arg in enumerate(self.action.lists[0].args) if arg == OPEN]
        rows = [tuple([object_name(fact.args[place]) for place in places]) for fact in items]
        return [row[0] for row in rows] if len(places) == 1 else rows

    def _tell(self, items: list[Atom], *, success: bool) -> list[Atom]:
        """Record that the listing names `items`, and return them."""
        told = Told(virtual_time.now(), self.by, self._patterns, frozenset(items), success)
        self.simulated.listings.append(told)
        return items

    def _list_in_part(self) -> ActionResult:
        """Name the first item, and say that the listing failed."""
        items = self._tell(self._list_items()[:1], success=False)
        return replace(self._fail("it stopped half way"), observed=tuple(map(str, items)))

    def _list_junk(self) -> ActionResult:
        """List a value that has no name."""
        items = self._tell(self._list_items()[:1], success=False)
        return ActionResult(data=[*self._format_rows(items), {"perhaps": 7}])

    def _fail(self, reason: str) -> ActionResult:
        return ActionResult.failed(f"{self.step}: {reason}")


def handler(simulated: SimulatedWorld, action: Action, skill: str, *, is_plain: bool) -> Callable[..., Any]:
    """Make a handler of `action` for the simulated world."""
    names = [each.name.removeprefix("?") for each in action.parameters]

    def deed(context: Any, parameters: dict[str, Any]) -> tuple[Script, bool]:
        given = simulated.truth.place(Atom(action.name, tuple([term_of_value(parameters[name]) for name in names])))
        step = Step(action.name, given.args)
        struck = simulated.strike(Atom(step.action, step.arguments), skill)
        key = f"{context.run}/{context.step}" if context is not None else str(step)
        acts = len(simulated.acts)
        simulated.calls.append(Call(virtual_time.now(), Atom(step.action, step.arguments), key, acts))
        attempt = getattr(context, "attempt", 0) or simulated.next_call()
        planned = getattr(context, "duration", None)
        found = Deed(simulated, action, skill, step, key, simulated.time_handler(step, key), (), attempt, planned)
        return found.script(struck), struck is not None and struck[1].kind in _LATE

    async def carry_out(context: Any = None, **parameters: Any) -> ActionResult:
        script, is_late = deed(context, parameters)
        if is_late:  # what is under way in the world does not end because nobody waits for it any more
            return await asyncio.shield(asyncio.ensure_future(_play(script, simulated)))
        return await _play(script, simulated)

    def carry_out_in_thread(context: Any = None, **parameters: Any) -> ActionResult:
        return _play_in_thread(deed(context, parameters)[0], simulated)

    return carry_out_in_thread if is_plain else carry_out


def _advance(script: Script, simulated: SimulatedWorld) -> float | ActionResult:
    """Return what `script` yields next, or its final answer; kill a deadly process that is to die."""
    try:
        pause = next(script)
    except StopIteration as end:
        result: ActionResult = end.value
        return result
    if pause == DEATH and simulated.deadly:
        os.kill(os.getpid(), signal.SIGKILL)
    return pause


async def _play(script: Script, simulated: SimulatedWorld) -> ActionResult:
    while not isinstance(pause := _advance(script, simulated), ActionResult):
        if pause == DEATH:
            await virtual_time.die(DIED)
        elif pause == math.inf:
            await asyncio.Event().wait()
        else:
            await asyncio.sleep(pause)
    return pause


def _play_in_thread(script: Script, simulated: SimulatedWorld) -> ActionResult:
    while not isinstance(pause := _advance(script, simulated), ActionResult):
        if pause == DEATH:
            virtual_time.die_in_thread(DIED)
        else:
            virtual_time.sleep(pause)
    return pause
