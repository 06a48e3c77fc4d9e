"""The true state of a simulated world, and the file (`Ledger`) in which it outlives its process."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

from executor.testing.virtual_time import current, now
from planner.errors import InputError
from planner.language.declare.atom_syntax import NotationError, parse_atom
from planner.lightweight import replace
from planner.model import OPEN, Action, Atom, Formula, Object, Outcome, Problem, TypeHierarchy
from planner.model.unknown_facts import find_hidden_variables, fix_unknown_facts
from planner.plan import Step
from planner.semantics.simulation import Simulation, bind_parameters
from planner.semantics.step_effects import Changes, Effect, compute_changes


class Ledger:
    """A file with a line of JSON for everything that happened, in the order in which it did."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write_act(self, act: Act) -> None:
        """Add what was done to the world."""
        facts = {name: [_as_row(each) for each in getattr(act, name)] for name in ("added", "removed", "written")}
        step = None if act.step is None else _as_row(act.step)
        self._write({**asdict(act), **facts, "step": step, "at": time.time()})

    def write_strike(self, fault: int) -> None:
        """Add that the fault of this number struck."""
        self._write({"strike": fault})

    def strikes(self) -> Iterator[int]:
        """Yield the numbers of the faults that struck."""
        return (line["strike"] for line in self._lines() if "strike" in line)

    def acts(self) -> Iterator[dict[str, Any]]:
        """Yield the fields of every act, times as a loop counts them that begins now, or has begun."""
        offset = (0.0 if current() is None else now()) - time.time()
        for line in self._lines():
            if "strike" not in line:
                facts = {
                    name: tuple([_as_atom(each) for each in line[name]]) for name in ("added", "removed", "written")
                }
                step = None if line["step"] is None else _as_atom(line["step"])
                created = tuple([tuple(each) for each in line["created"]])
                yield {**line, **facts, "step": step, "created": created, "at": line["at"] + offset}

    def _write(self, data: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(data) + "\n")

    def _lines(self) -> Iterator[dict[str, Any]]:
        if self._path.exists():
            yield from map(json.loads, self._path.read_text(encoding="utf-8").splitlines())


def _as_row(atom: Atom) -> list[str]:
    return [atom.predicate, *atom.args]


def _as_atom(row: list[str]) -> Atom:
    return Atom(row[0], tuple(row[1:]))


NOT: Final = "not "


@dataclass(frozen=True, slots=True)
class Act:
    """Something that was done to the world at a time: `by` a step (its idempotency key), or by somebody else ("").

    `step` is the ground action, "" where facts changed by themselves. `added` and `removed` are the facts whose truth
    changed, `written` the items that were changed in place, `created` the new objects with their types.
    """

    at: float
    step: Atom | None
    by: str
    added: tuple[Atom, ...] = ()
    removed: tuple[Atom, ...] = ()
    written: tuple[Atom, ...] = ()
    created: tuple[tuple[str, str], ...] = ()


class Truth:
    """What holds in a simulated world.

    Facts that the problem leaves unknown are decided by the seed, as likely as the problem says. With a `ledger`, a
    file, every change is written there, and what it tells already has happened: so the world outlives the process.
    """

    def __init__(self, problem: Problem, seed: int = 0, ledger: Path | None = None) -> None:
        self.simulation = Simulation(_decide_unknown(_open_creation(problem), random.Random(f"unknown {seed}")))
        self._creating = {name for name, action in problem.domain.actions.items() if action.creates}
        self.acts: list[Act] = []
        self.applied: Counter[str] = Counter()
        self.struck: Counter[int] = Counter()
        self._written: Counter[Atom] = Counter()
        self._lock = threading.RLock()
        self._ledger = None if ledger is None else Ledger(ledger)
        if self._ledger is not None:
            self._recall(self._ledger)

    def holds(self, formula: Formula) -> bool:
        """Return whether `formula` holds."""
        with self._lock:
            return self.simulation.holds(formula)

    @property
    def facts(self) -> frozenset[Atom]:
        """The facts that hold, derived ones left out."""
        with self._lock:
            return self.simulation.facts

    def about(self, patterns: Iterable[Atom]) -> list[str]:
        """Return literals that say of all facts of `patterns` whether they hold."""
        with self._lock:
            problem = self.simulation.problem
            facts = dict.fromkeys(fact for pattern in patterns for fact in instances(problem, pattern))
            return [str(fact) if self.simulation.holds(fact) else f"{NOT}{fact}" for fact in facts]

    def objection(self, step: Step) -> str:
        """Return why `step` cannot be done now; nothing where it can."""
        with self._lock:
            found = self.simulation.objection(step)
        if found is None:
            return ""
        return found.misfit or f"{step} requires {found.condition}, which does not hold"

    def applicable(self) -> list[Step]:
        """Return the steps that would change something now; none that create objects."""
        with self._lock:
            simulation = self.simulation
            steps = [step for step in simulation.applicable() if step.action not in self._creating]
            return [step for step in steps if _changes_anything(simulation, step)]

    def create(self, action: Action) -> tuple[tuple[str, str], ...]:
        """Return new objects for what `action` creates, with their types; a step has them as its last arguments."""
        with self._lock:
            taken = {item.name for item in self.simulation.problem.all_objects}
            found: list[tuple[str, str]] = []
            for type_ in action.creates.values():
                names = (f"{type_.lower()}-{number}" for number in range(1, len(taken) + 2))
                name = next(name for name in names if name not in taken)
                taken.add(name)
                found.append((name, type_))
            self._add_objects(tuple(found))
            return tuple(found)

    def apply(
        self,
        step: Step,
        by: str = "",
        created: tuple[tuple[str, str], ...] = (),
        part: random.Random | None = None,
        outcome: Outcome | None = None,
    ) -> Act:
        """Do `step`, which can be done; with `part`, random numbers, not all of its changes come about.

        With an `outcome`, that is what it does instead of what its action intends.
        """
        with self._lock:
            found = self.simulation.changes(step) if outcome is None else self._changes(step, outcome)
            added, removed = found.added, found.removed
            written = tuple([item for item in found.modified if OPEN not in item.args])
            if part is not None:
                added, removed = self._part(found, part)
                written = ()
            return self._do(Act(now(), Atom(step.action, step.arguments), by, added, removed, written, created))

    def _changes(self, step: Step, outcome: Outcome) -> Changes:
        """Return what `step` changes where it comes out in this way."""
        rules = self.simulation.rules
        declared = rules.problem.domain.actions[step.action]
        action = replace(declared, provides=outcome.provides, modifies=outcome.modifies)
        effects = [Effect.of(when, rules.universe, rules.compiler) for when in action.effects]
        return compute_changes(self.simulation.world, effects, rules.staleness, bind_parameters(action, step))

    def _part(self, whole: Changes, dice: random.Random) -> tuple[tuple[Atom, ...], tuple[Atom, ...]]:
        """Return the facts that are added and removed where only a part of the `whole` comes about.

        What goes stale is no part by itself: it follows from what is written.
        """
        staleness = self.simulation.rules.staleness
        stale = staleness.of([*whole.provided, *whole.retracted, *whole.modified])
        facts = [*whole.added, *(fact for fact in whole.removed if not _is_covered(fact, stale))]
        kept = dice.sample(facts, dice.randrange(1, len(facts)) if len(facts) > 1 else 0)
        follows = staleness.of(kept)
        removed = [fact for fact in whole.removed if fact in kept or _is_covered(fact, follows)]
        return tuple([fact for fact in whole.added if fact in kept]), tuple(removed)

    def touch(self, step: Step, by: str) -> Act:
        """Note that `step` was done once more, and that it made no difference."""
        with self._lock:
            return self._do(Act(now(), Atom(step.action, step.arguments), by))

    def change(self, literals: Iterable[str]) -> Act:
        """Make `literals`, as `at(r1, hall)` and `not open(d1)`, true, as if somebody else had."""
        with self._lock:
            state = self.simulation.world.state
            texts = list(literals)
            added = [_parse_fact(text) for text in texts if not text.startswith(NOT)]
            removed = [_parse_fact(text.removeprefix(NOT)) for text in texts if text.startswith(NOT)]
            news = tuple([fact for fact in added if fact not in state])
            return self._do(Act(now(), None, "", news, tuple([fact for fact in removed if fact in state])))

    def at(self, when: float) -> Simulation:
        """Return the world as it was at the time `when`."""
        with self._lock:
            twin = self.simulation.copy()
            for act in reversed(self.acts):
                if act.at <= when:
                    break
                twin.world.update(act.added, act.removed)
            return twin

    def version(self, fact: Atom, when: float) -> int:
        """Return how often `fact` was written up to the time `when`."""
        with self._lock:
            later = sum(fact in (*act.added, *act.removed, *act.written) for act in self.acts if act.at > when)
            return self._written[fact] - later

    def strike(self, fault: int) -> None:
        """Remember that the fault of this number struck, also beyond this process."""
        with self._lock:
            self.struck[fault] += 1
            if self._ledger is not None:
                self._ledger.write_strike(fault)

    def _do(self, act: Act) -> Act:
        """Let `act` happen, and remember it."""
        self._happened(act)
        if self._ledger is not None:
            self._ledger.write_act(act)
        return act

    def _happened(self, act: Act) -> None:
        self.simulation.world.update(act.removed, act.added)
        if act.step is not None and act.step.predicate in self.simulation.rules.remembered:
            self.simulation.history.update((), [act.step])
        self.acts.append(act)
        self._written.update({*act.added, *act.removed, *act.written})
        if act.by:
            self.applied.update({str(act.step), act.by})

    def _add_objects(self, objects: tuple[tuple[str, str], ...]) -> None:
        """Make the world one with more objects in it."""
        if objects:
            old, more = self.simulation, tuple([Object(name, (type_,)) for name, type_ in objects])
            facts, ran = tuple(old.world.state), tuple(old.history)
            everything = (*old.problem.objects, *more)
            self.simulation = Simulation(replace(old.problem, objects=everything, initial=facts, ran=ran))

    def _recall(self, ledger: Ledger) -> None:
        """Let what the ledger tells have happened."""
        for strike in ledger.strikes():
            self.struck[strike] += 1
        for data in ledger.acts():
            act = Act(**data)
            self._add_objects(act.created)
            self._happened(act)


def _is_covered(fact: Atom, patterns: Iterable[Atom]) -> bool:
    return any(pattern.matches(fact) for pattern in patterns)


def _changes_anything(simulation: Simulation, step: Step) -> bool:
    made = simulation.changes(step)
    return bool(made.added or made.removed or made.modified)


def instances(problem: Problem, pattern: Atom) -> list[Atom]:
    """Return the ground facts that `pattern` covers."""
    objects = TypeHierarchy(problem.domain.types).objects_by_type(problem.all_objects)
    parameters = problem.domain.predicates[pattern.predicate].parameters
    values = [
        list(dict.fromkeys(name for type_ in each.types for name in objects.get(type_, ()))) if arg == OPEN else [arg]
        for arg, each in zip(pattern.args, parameters, strict=True)
    ]
    return [Atom(pattern.predicate, row) for row in product(*values)]


def _parse_fact(text: str) -> Atom:
    try:
        return parse_atom(text)
    except NotationError as mistake:
        raise InputError(f"{text!r} is no fact: {mistake.problem}", hint=mistake.hint) from None


def _open_creation(problem: Problem) -> Problem:
    """Return `problem` with what actions create as their last parameters: the object is there when they are done."""
    actions = problem.domain.actions
    if not any(action.creates for action in actions.values()):
        return problem
    opened = {name: replace(each, parameters=each.step_parameters, creates={}) for name, each in actions.items()}
    return replace(problem, domain=replace(problem.domain, actions=opened))


def _decide_unknown(problem: Problem, dice: random.Random) -> Problem:
    """Return `problem` with its unknown facts decided, as likely as it says."""
    drawn = [
        dice.choices([*each.facts, None], [float(chance) for chance in (*each.chances, each.none)])[0]
        for each in find_hidden_variables(problem)
    ]
    return fix_unknown_facts(problem, [fact for fact in drawn if fact is not None])
