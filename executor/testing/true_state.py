"""The true state of a simulated world, and the file (`Ledger`) that keeps it between processes."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import product
from math import ceil
from pathlib import Path
from typing import Any, Final, TypeVar

from executor.events.fluent_values import UNDEFINED, FluentValue, parse_fact
from executor.testing.faults import Counted
from executor.testing.virtual_time import RESOLUTION, current, now
from planner.errors import InputError, PlanError
from planner.language.declare.atom_syntax import NotationError
from planner.language.declare.local_closed_world import listings_of
from planner.lightweight import replace
from planner.model import OPEN, TRUE, Action, Atom, Formula, Number, Object, Outcome, Problem, TypeHierarchy
from planner.model.actions import DURATION, Literal, When
from planner.model.arithmetic import Exact, exact_value, show_number
from planner.model.domain import Axiom
from planner.model.formulas import atoms_in, comparisons_in, conjunction, conjuncts, exact_decimal
from planner.model.object_names import find_term
from planner.model.unknown_facts import find_hidden_variables, fix_unknown_facts
from planner.model.unknown_numbers import find_unread, known_predicates
from planner.plan import Step
from planner.semantics.durations import duration_of
from planner.semantics.numeric_state import NumberChange
from planner.semantics.simulation import Simulation
from planner.semantics.snap_actions import make_snap_problem
from planner.semantics.step_effects import Changes


class Ledger:
    """A file with a line of JSON for each act and each strike of a fault, in order."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write_act(self, act: Act) -> None:
        """Append an act."""
        facts: dict[str, Any] = {
            name: [_as_row(each) for each in getattr(act, name)] for name in ("added", "removed", "written")
        }
        facts["numbers"] = [
            [_as_row(each.fluent), show_number(each.before), show_number(each.after)] for each in act.numbers
        ]
        step = None if act.step is None else _as_row(act.step)
        self._write({**asdict(act), **facts, "step": step, "at": time.time()})

    def write_strike(self, about: Counted) -> None:
        """Append a strike of a fault."""
        self._write({"strike": about})

    def strikes(self) -> Iterator[Counted]:
        """Yield the faults that struck."""
        return ((line["strike"][0], line["strike"][1]) for line in self._lines() if "strike" in line)

    def acts(self) -> Iterator[dict[str, Any]]:
        """Yield the fields of every act, with times on the clock of the current loop."""
        offset = (0.0 if current() is None else now()) - time.time()
        for line in self._lines():
            if "strike" not in line:
                facts = {
                    name: tuple([_as_atom(each) for each in line[name]]) for name in ("added", "removed", "written")
                }
                step = None if line["step"] is None else _as_atom(line["step"])
                created = tuple([tuple(each) for each in line["created"]])
                numbers = tuple([_as_change(*each) for each in line["numbers"]])
                more = {"step": step, "created": created, "numbers": numbers, "at": line["at"] + offset}
                yield {**line, **facts, **more}

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


def _as_change(row: list[str], before: str, after: str) -> NumberChange:
    values = [None if text == UNDEFINED else exact_value(Fraction(text)) for text in (before, after)]
    return NumberChange(_as_atom(row), values[0], values[1])


NOT: Final = "not "


@dataclass(frozen=True, slots=True)
class Act:
    """A change of the true state at a time: `by` a step (as "run/step"), or from outside ("").

    `step` is the ground action, None for a change from outside. `added` and `removed` are the facts whose truth
    changed, `written` the items that were changed in place, `created` the new objects with their types, `numbers` the
    changes of numeric fluents.
    """

    at: float
    step: Atom | None
    by: str
    added: tuple[Atom, ...] = ()
    removed: tuple[Atom, ...] = ()
    written: tuple[Atom, ...] = ()
    created: tuple[tuple[str, str], ...] = ()
    numbers: tuple[NumberChange, ...] = ()


class Truth:
    """The true state of a simulated world.

    The seed draws the facts that the problem leaves unknown, with the declared probabilities. With a `ledger`, a file,
    every change is written to it, and the changes in it are replayed at the start, so that the state outlives the
    process. In a `careless` world, nothing keeps steps from changing numbers: neither bounds nor comparisons in their
    preconditions count. In a `timed` world, steps start and end, and changes at known times come about so many seconds
    after the world `began`.
    """

    def __init__(
        self,
        problem: Problem,
        seed: int = 0,
        ledger: Path | None = None,
        *,
        careless: bool = False,
        timed: bool = False,
    ) -> None:
        problem = _forget_limits(problem) if careless else problem
        drawn = _decide_unknown(_open_creation(problem), random.Random(f"unknown {seed}"))
        known = _know_everything(drawn)
        self.snap = make_snap_problem(known) if timed else None
        """The problem of starts and ends, where steps take their time."""
        self.declared = known
        self.simulation = Simulation(known if self.snap is None else self.snap.problem)
        self.began = 0.0
        """When the world began, in the time of the virtual clock."""
        self.running: dict[str, Step] = {}
        """The steps that have started and not ended, by run and step."""
        self.broken: dict[str, tuple[float, str]] = {}
        """Since when running steps lack what they need throughout, and what that is, by run and step."""
        self._due = sorted(range(len(known.timed)), key=lambda number: (known.timed[number].time, number))
        """The numbers of the changes at known times that are to come, in the order of their times."""
        self._due = self._due if timed else []
        self._creating = {name for name, action in problem.domain.actions.items() if action.creates}
        self.acts: list[Act] = []
        self.applied: Counter[str] = Counter()
        self.struck: Counter[Counted] = Counter()
        self._written: Counter[Atom] = Counter()
        self._lock = threading.RLock()
        self._ledger = None if ledger is None else Ledger(ledger)
        if self._ledger is not None:
            self._recall(self._ledger)

    def holds(self, formula: Formula) -> bool:
        """Return whether `formula` is true."""
        with self._lock:
            self._catch_up()
            return self.simulation.holds(formula)

    @property
    def facts(self) -> frozenset[Atom]:
        """The true facts, derived ones left out."""
        with self._lock:
            self._catch_up()
            found = self.simulation.facts
        if self.snap is None:
            return found
        return frozenset([fact for fact in found if fact.predicate in self.declared.domain.predicates])

    def about(self, patterns: Iterable[Atom]) -> list[str]:
        """Return a true literal for each fact that `patterns` cover, the values of numbers among them."""
        patterns = list(patterns)
        with self._lock:
            self._catch_up()
            problem, values = self.simulation.problem, {**self.declared.values, **self.simulation.values}
            numbers = [pattern.fluent for pattern in patterns if isinstance(pattern, FluentValue)]
            others = [pattern for pattern in patterns if not isinstance(pattern, FluentValue)]
            facts = dict.fromkeys(fact for pattern in others for fact in instances(problem, pattern))
            told = [term for term in values if any(each.matches(term) for each in numbers)]
            return [
                *[f"{term} = {show_number(exact_value(values[term]))}" for term in told],
                *[str(fact) if self.simulation.holds(fact) else f"{NOT}{fact}" for fact in facts],
            ]

    def find_objection(self, step: Step) -> str:
        """Return why `step` is not applicable now, or ""."""
        with self._lock:
            self._catch_up()
            found = self.simulation.find_objection(step)
        if found is None:
            return ""
        return found.misfit or f"{step} requires {found.condition}, which does not hold"

    def applicable(self) -> list[Step]:
        """Return the applicable steps that would change the state, without those that create objects.

        There are none in a timed world, in which a step takes time.
        """
        if self.snap is not None:
            return []
        with self._lock:
            simulation = self.simulation
            steps = [step for step in simulation.applicable() if step.action not in self._creating]
            return [step for step in steps if _changes_anything(simulation, step)]

    def create(self, action: Action) -> tuple[tuple[str, str], ...]:
        """Create new objects for `action` and return them with their types; they are the last arguments of a step."""
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
        *,
        numbers: Callable[[NumberChange], Exact] | None = None,
    ) -> Act:
        """Apply `step`, which must be applicable; with the generator `part`, only some of its changes happen.

        An `outcome` replaces the intended effects of the action; `numbers` gives the values that its fluents get in
        place of the intended ones.
        """
        with self._lock:
            found = self.simulation.changes(step) if outcome is None else self._changes(step, outcome)
            added, removed = found.added, found.removed
            written = tuple([item for item in found.modified if OPEN not in item.args])
            if part is not None:
                added, removed = self._part(found, part)
                written = ()
            moved = found.numbers if numbers is None else [replace(each, after=numbers(each)) for each in found.numbers]
            moved = tuple([each for each in moved if each.before != each.after])
            done = Atom(step.action, step.arguments)
            return self._do(Act(now(), done, by, added, removed, written, created, moved))

    def _changes(self, step: Step, outcome: Outcome) -> Changes:
        """Return the changes of `step` with this outcome."""
        rules = self.simulation.rules
        declared = rules.problem.domain.actions[step.action]
        action = replace(declared, provides=outcome.provides, modifies=outcome.modifies, numbers=outcome.numbers)
        problem = self.simulation.problem_now
        domain = replace(problem.domain, actions={**problem.domain.actions, action.name: action})
        return Simulation(replace(problem, domain=domain)).changes(step)

    def _part(self, whole: Changes, dice: random.Random) -> tuple[tuple[Atom, ...], tuple[Atom, ...]]:
        """Draw a part of the changes `whole`, and return the facts that it adds and removes.

        Facts that go stale are not drawn: they follow from the drawn changes.
        """
        staleness = self.simulation.rules.staleness
        stale = staleness.of([*whole.provided, *whole.retracted, *whole.modified])
        facts = [*whole.added, *(fact for fact in whole.removed if not _is_covered(fact, stale))]
        kept = dice.sample(facts, dice.randrange(1, len(facts)) if len(facts) > 1 else 0)
        follows = staleness.of(kept)
        removed = [fact for fact in whole.removed if fact in kept or _is_covered(fact, follows)]
        return tuple([fact for fact in whole.added if fact in kept]), tuple(removed)

    def _catch_up(self) -> None:
        """Let the changes at known times come about whose time has come."""
        while self._due and float(self.declared.timed[self._due[0]].time) <= now() - self.began + RESOLUTION:
            assert self.snap is not None, "only a timed world has such changes"
            number = self._due.pop(0)
            effect = Step(self.snap.events[number])
            self._do(self._make_act(float(self.declared.timed[number].time) + self.began, effect, ""))
            self._check_running(str(effect))

    def _make_act(
        self, at: float, step: Step, by: str, name: str = "", created: tuple[tuple[str, str], ...] = ()
    ) -> Act:
        """Return the act of the snap action `step`, which is called `name` in the record."""
        made = self.simulation.changes(step)
        written = tuple([item for item in made.modified if OPEN not in item.args])
        moved = tuple([each for each in made.numbers if each.before != each.after])
        done = Atom(name or step.action, step.arguments)
        return Act(at, done, by, made.added, made.removed, written, created, moved)

    def _check_running(self, cause: str) -> None:
        """Record what running steps need throughout and what does not hold now."""
        assert self.snap is not None, "steps run in a timed world"
        for by, step in self.running.items():
            lasting = self.snap.actions[step.action].lasting
            found = self.simulation.find_objection(Step(lasting, step.arguments)) if lasting else None
            if found is not None and by not in self.broken:
                said = f"{step} requires {found.condition} throughout, and {cause} ended it at {now():g}"
                self.broken[by] = now(), said

    def begin(self, step: Step, by: str, created: tuple[tuple[str, str], ...] = ()) -> str:
        """Start `step`, with what it has `created`, in a timed world; return why it cannot start, or ""."""
        assert self.snap is not None, "steps start in a timed world"
        moments = self.snap.actions[step.action]
        start = Step(moments.start, step.arguments)
        with self._lock:
            objection = self.find_objection(start)
            if objection:
                return objection
            self._do(self._make_act(now(), start, by, "" if moments.end else step.action, created))
            if moments.end:
                self.running[by] = step
            self._check_running(str(start))
            return ""

    def finish(self, step: Step, by: str, duration: float) -> str:
        """End `step`, which has started and lasted so many seconds; return why it comes to no end, or ""."""
        assert self.snap is not None, "steps end in a timed world"
        moments = self.snap.actions[step.action]
        if not moments.end:
            return ""
        end, fluents = Step(moments.end, step.arguments), self.simulation.world.state.values.fluents
        with self._lock:
            self._catch_up()
            fluents[DURATION.predicate, ()] = exact_value(exact_decimal(f"{duration:.6f}"))
            since, broken = self.broken.pop(by, (now(), ""))
            is_over = now() - since <= RESOLUTION  # nothing is needed at the end itself
            objection = ("" if is_over else broken) or self.find_objection(end)
            self.running.pop(by, None)
            if not objection:
                self._do(self._make_act(now(), end, by, step.action))
                self._check_running(str(end))
            fluents.pop((DURATION.predicate, ()), None)
            return objection

    def seconds_of(self, step: Step) -> float:
        """Return how long `step` lasts at least, by the values of functions now; 0 where that has no value."""
        action = self.declared.domain.actions[step.action]
        with self._lock, suppress(PlanError):
            values = self.simulation.world.state.values
            names = [each.name for each in action.parameters]
            binding = dict(zip(names, step.arguments, strict=False))  # what the step creates has no name yet
            return float(duration_of(action, values, binding).low)
        return 0.0

    def touch(self, step: Step, by: str) -> Act:
        """Record that `step` was done once more without a change."""
        with self._lock:
            return self._do(Act(now(), Atom(step.action, step.arguments), by))

    def place(self, item: Atom) -> Atom:
        """Return a fact or a step in which each name means the object whose type fits its place."""
        domain, universe = self.simulation.problem.domain, self.simulation.rules.universe
        known: tuple[Mapping[str, Any], ...] = (domain.actions, domain.predicates, domain.functions)
        places = next((each[item.predicate].parameters for each in known if item.predicate in each), ())
        named = [find_term(arg, universe, each.types) for arg, each in zip(item.args, places, strict=False)]
        return Atom(item.predicate, (*named, *item.args[len(named) :]))

    def change(self, literals: Iterable[str]) -> Act:
        """Make `literals` such as `at(r1, hall)`, `not open(d1)` and `fuel(r1) = 3` true, from outside."""
        with self._lock:
            self._catch_up()
            state = self.simulation.world.state
            named = [(_parse_fact(text.removeprefix(NOT)), not text.startswith(NOT)) for text in literals]
            values = [fact for fact, _ in named if isinstance(fact, FluentValue) and fact.value is not None]
            news = tuple([fact for fact, holds in named if holds and fact not in values and fact not in state])
            gone = tuple([fact for fact, holds in named if not holds and fact in state])
            numbers = tuple([self._make_change(each.fluent, each.value) for each in values if each.value is not None])
            return self._do(Act(now(), None, "", news, gone, numbers=numbers))

    def _make_change(self, fluent: Atom, value: Exact) -> NumberChange:
        return NumberChange(fluent, self.simulation.values.get(fluent), value)

    def set_number(self, fluent: Atom, value: Exact) -> Act:
        """Change the value of `fluent` from outside."""
        with self._lock:
            return self._do(Act(now(), None, "", numbers=(self._make_change(fluent, value),)))

    @property
    def values(self) -> dict[Atom, Exact]:
        """The true values of numeric fluents."""
        with self._lock:
            self._catch_up()
            return {each: value for each, value in self.simulation.values.items() if self._is_declared(each)}

    def _is_declared(self, fluent: Atom) -> bool:
        return self.snap is None or fluent.predicate in self.declared.domain.functions

    def at(self, when: float) -> Simulation:
        """Return the state at the time `when`."""
        with self._lock:
            self._catch_up()
            twin = self.simulation.copy()
            for act in reversed(self.acts):
                if act.at <= when:
                    break
                back = [NumberChange(each.fluent, each.after, each.before) for each in act.numbers]
                twin.world.update(act.added, act.removed, back)
            return twin

    def version(self, fact: Atom, when: float) -> int:
        """Return how often `fact` was written up to the time `when`."""
        with self._lock:
            later = sum(fact in (*act.added, *act.removed, *act.written) for act in self.acts if act.at > when)
            return self._written[fact] - later

    def strike(self, about: Counted) -> None:
        """Record that a fault struck, also in the ledger."""
        with self._lock:
            self.struck[about] += 1
            if self._ledger is not None:
                self._ledger.write_strike(about)

    def _do(self, act: Act) -> Act:
        """Apply and record `act`."""
        self._happened(act)
        if self._ledger is not None:
            self._ledger.write_act(act)
        return act

    def _happened(self, act: Act) -> None:
        self.simulation.world.update(act.removed, act.added, act.numbers)
        if act.step is not None:
            last = act.step if self.snap is None else self.snap.name_last(act.step)
            if last.predicate in self.simulation.rules.remembered:
                self.simulation.history.update((), [last])
        self.acts.append(act)
        self._written.update({*act.added, *act.removed, *act.written})
        if act.by:
            self.applied.update({str(act.step), act.by})

    def _add_objects(self, objects: tuple[tuple[str, str], ...]) -> None:
        """Add objects to the world."""
        if objects:
            old, more = self.simulation.problem_now, tuple([Object(name, (type_,)) for name, type_ in objects])
            self.simulation = Simulation(replace(old, objects=(*old.objects, *more)))

    def _recall(self, ledger: Ledger) -> None:
        """Replay the ledger."""
        for strike in ledger.strikes():
            self.struck[strike] += 1
        for data in ledger.acts():
            act = Act(**data)
            self._add_objects(act.created)
            self._happened(act)
            events = () if self.snap is None else self.snap.events
            if act.step is not None and act.step.predicate in events:
                self._due.remove(events.index(act.step.predicate))


def _is_covered(fact: Atom, patterns: Iterable[Atom]) -> bool:
    return any(pattern.matches(fact) for pattern in patterns)


def _changes_anything(simulation: Simulation, step: Step) -> bool:
    made = simulation.changes(step)
    return bool(made.added or made.removed or made.modified or made.numbers)


def _forget_limits(problem: Problem) -> Problem:
    """Return `problem` in which neither bounds nor comparisons keep an action from happening."""
    domain = problem.domain
    functions = {name: replace(each, low=None, high=None) for name, each in domain.functions.items()}
    actions = {}
    for name, action in domain.actions.items():
        parts = [part for part in conjuncts(action.requires) if not any(True for _ in comparisons_in(part))]
        actions[name] = replace(action, requires=conjunction(parts))
    return replace(problem, domain=replace(domain, functions=functions, actions=actions))


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
        return parse_fact(text)
    except NotationError as mistake:
        raise InputError(f"{text!r} is no fact: {mistake.problem}", hint=mistake.hint) from None


def _open_creation(problem: Problem) -> Problem:
    """Make created objects parameters of their actions: in the simulation they exist before the step."""
    actions = problem.domain.actions
    if not any(action.creates for action in actions.values()):
        return problem
    opened = {name: replace(each, parameters=each.step_parameters, creates={}) for name, each in actions.items()}
    return replace(problem, domain=replace(problem.domain, actions=opened))


_Effect = TypeVar("_Effect", Action, When, Outcome)


def _know_everything(problem: Problem) -> Problem:
    """Let what is known always hold, listings and numbers: no handler in the world needs it."""
    domain, listed = problem.domain, {each.fact for each in listings_of(problem.domain)}
    listed |= known_predicates(domain)
    if not listed:
        return problem

    def drop(effect: _Effect) -> _Effect:
        provides = [each for each in effect.provides if not listed.intersection(_predicates_of(each))]
        modifies = [each for each in effect.modifies if each.predicate not in listed]
        return replace(effect, provides=tuple(provides), modifies=tuple(modifies))

    def drop_from(action: Action) -> Action:
        when, outcomes = tuple(map(drop, action.when)), tuple(map(drop, action.outcomes))
        return replace(drop(action), when=when, outcomes=outcomes)

    predicates = {
        name: replace(each, stale_with=()) if name in listed else each for name, each in domain.predicates.items()
    }
    axioms = (*domain.axioms, *[Axiom(name, domain.predicates[name].parameters, TRUE) for name in sorted(listed)])
    actions = {name: drop_from(action) for name, action in domain.actions.items()}
    initial = tuple([fact for fact in problem.initial if fact.predicate not in listed])
    return replace(
        problem, domain=replace(domain, predicates=predicates, axioms=axioms, actions=actions), initial=initial
    )


def _predicates_of(literal: Literal) -> set[str]:
    return {each.predicate for each in atoms_in(literal)}


def _decide_unknown(problem: Problem, dice: random.Random) -> Problem:
    """Draw the unknown facts of `problem` with their probabilities, and the unknown numbers within their bounds."""
    drawn = [
        dice.choices([*each.facts, None], [float(chance) for chance in (*each.chances, each.none)])[0]
        for each in find_hidden_variables(problem)
    ]
    numbers = {term: _draw_number(term, problem, dice) for term in find_unread(problem)}
    problem = replace(problem, values={**problem.values, **numbers})
    return fix_unknown_facts(problem, [fact for fact in drawn if fact is not None])


MOST_DRAWN: Final = 1000
"""Range in which an unknown number is drawn that has no bound."""


def _draw_number(term: Atom, problem: Problem, dice: random.Random) -> Number:
    """Draw the value that is supposed of `term`, or any whole number within its bounds."""
    function, supposed = problem.domain.functions[term.predicate], problem.values.get(term)
    if supposed is not None and dice.random() < 1 / 2:
        return supposed
    low, high = function.low, function.high
    if low is None:
        low = 0 if high is None else min(0, high)
    return min(ceil(low) + dice.randrange(MOST_DRAWN), low + MOST_DRAWN if high is None else high)
