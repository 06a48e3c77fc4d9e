"""A cache of plans: the same problem under other names has the same plan, and similar ones often nearly so.

A plan is never taken on trust: what is found for another problem is renamed, and checked by the plan checker. What is
proved of a problem holds for all of its shape.
"""

from __future__ import annotations

import json
import os
import time
from collections import OrderedDict
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from planner.annotations import Any, Final
from planner.errors import InputError
from planner.model import Atom, Problem
from planner.model.formulas import atoms_in
from planner.plan import Plan, Result, Status, Step, StoppedBy, exact
from planner.records import dataclass
from planner.repair import mend
from planner.reuse.shape import Shape, shape_of
from planner.solve import solve
from planner.validate import Simulation, validate

CAPACITY: Final = 1000
ADAPTING: Final = 2.0
"""Seconds in which a similar problem's plan is adapted, at most."""
FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """A plan that was found: its steps, with the objects' numbers for names, and what was proved of it."""

    key: str
    like: str
    """The key of problems with a goal of the same form."""
    steps: tuple[tuple[str, tuple[str, ...]], ...]
    proved: bool
    lower_bound: str | None
    seconds: float
    """What it took to find it."""
    goal: tuple[str, ...]
    """The objects of the goal, by number, in its order."""
    objects: tuple[str, ...]
    """What the objects were called, by number: in a similar problem they may be called so, too."""


@dataclass(slots=True, eq=False)
class Savings:
    """How often a plan was there already (`hits`), came of a similar problem's (`adapted`), or had to be found."""

    hits: int = 0
    adapted: int = 0
    misses: int = 0
    seconds: float = 0.0
    """What finding the plans had taken that were there already."""


class PlanCache:
    """Plans by the shapes of their problems, the least recently used of more than `capacity` forgotten.

    With a `path`, they are kept in that file, as JSON. `adapt` says whether similar problems' plans are adapted where
    any plan will do (`mode="first"`). Raises `InputError` for a file that is no cache.
    """

    def __init__(self, path: str | Path | None = None, *, capacity: int = CAPACITY, adapt: bool = True) -> None:
        self.savings = Savings()
        self._path = None if path is None else Path(path)
        self._capacity, self._adapt = capacity, adapt
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        if self._path is not None and self._path.exists():
            for entry in _read(self._path):
                self._entries[entry.key] = entry

    def __len__(self) -> int:
        return len(self._entries)

    def solve(self, problem: Problem, **options: Any) -> Result:
        """Return what `planner.solve` would, from what was found before where that will do."""
        shape = shape_of(problem)
        found = self._known(problem, shape, options)
        if found is not None:
            return found
        began = time.monotonic()
        result = solve(problem, **options)
        self.savings.misses += 1
        if result.plan is not None:
            self._keep(problem, shape, result, time.monotonic() - began)
        return result

    def _known(self, problem: Problem, shape: Shape, options: dict[str, Any]) -> Result | None:
        entry = self._entries.get(shape.key)
        first = options.get("mode") == "first"
        if entry is not None and (entry.proved or first):
            result = _as_result(problem, entry, {f"#{number}": name for number, name in enumerate(shape.objects)})
            if result is not None:
                self._entries.move_to_end(shape.key)
                self.savings.hits += 1
                self.savings.seconds += entry.seconds
                return result
        return self._adapted(problem) if first and self._adapt else None

    def _adapted(self, problem: Problem) -> Result | None:
        """Return a plan made of that of a problem with a goal of the same form; None where none will do soon."""
        like, goal = _goal_of(problem)
        for entry in reversed(self._entries.values()):
            if entry.like == like:
                names = {f"#{number}": name for number, name in enumerate(entry.objects)}
                names.update(zip(entry.goal, goal, strict=True))
                steps = [Step(action, tuple(names.get(arg, arg) for arg in args)) for action, args in entry.steps]
                mended = mend(problem, steps, time_limit=ADAPTING)
                if mended.steps is None or not mended.kept:
                    return None
                self.savings.adapted += 1
                reason = f"adapted from an earlier plan: {len(mended.kept)} steps kept, {len(mended.inserted)} new"
                return Result(Status.SOLVED, StoppedBy.FIRST_PLAN, Plan(mended.steps, problem), reason=reason)
        return None

    def _keep(self, problem: Problem, shape: Shape, result: Result, seconds: float) -> None:
        numbers, (like, goal) = shape.numbers, _goal_of(problem)
        assert result.plan is not None  # noqa: S101 - the caller has looked
        steps = tuple(
            (step.action, tuple(numbers.get(arg, arg) for arg in step.arguments)) for step in result.plan.steps
        )
        bound = None if result.lower_bound is None else str(result.lower_bound)
        proved = result.status is Status.OPTIMAL
        own = tuple(numbers.get(name, name) for name in goal)
        self._entries[shape.key] = Entry(shape.key, like, steps, proved, bound, seconds, own, shape.objects)
        self._entries.move_to_end(shape.key)
        while len(self._entries) > self._capacity:
            self._entries.popitem(last=False)
        if self._path is not None:
            _write(self._path, self._entries)


def _goal_of(problem: Problem) -> tuple[str, list[str]]:
    """Return what the goal is but for its objects, and these in their order."""
    atoms = sorted(set(atoms_in(problem.goal.hard)), key=_form)
    objects = list(dict.fromkeys(arg for atom in atoms for arg in atom.args))
    places = {name: f"?{number}" for number, name in enumerate(objects)}
    text = f"{problem.domain.name} {[str(atom.substitute(places)) for atom in atoms]}"
    return sha256(text.encode()).hexdigest(), objects


def _form(atom: Atom) -> tuple[str, int, tuple[str, ...]]:
    return atom.predicate, len(atom.args), atom.args


def _as_result(problem: Problem, entry: Entry, names: dict[str, str]) -> Result | None:
    """Return the plan of `entry` for `problem`, checked; None where it does not work."""
    simulation = Simulation(problem)
    steps = [Step(action, tuple(names.get(arg, arg) for arg in args)) for action, args in entry.steps]
    if any(simulation.rules.misfit(step) for step in steps):
        return None
    plan = Plan(tuple(Step(each.action, each.arguments, simulation.cost(each)) for each in steps), problem)
    if not validate(problem, plan).valid:
        return None
    bound = plan.cost if entry.proved else None
    status, stopped = (Status.OPTIMAL, StoppedBy.EXHAUSTED) if entry.proved else (Status.SOLVED, StoppedBy.FIRST_PLAN)
    return Result(status, stopped, plan, None if bound is None else exact(bound), reason="found before")


def _read(path: Path) -> Iterator[Entry]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise InputError(f"{path}: a cache of format {data['format']!r}", hint="delete it, or name another file")
        for each in data["plans"]:
            steps = tuple((action, tuple(args)) for action, args in each.pop("steps"))
            goal, objects = tuple(each.pop("goal")), tuple(each.pop("objects"))
            yield Entry(steps=steps, goal=goal, objects=objects, **each)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: no cache of plans: {error}", hint="delete it, or name another file") from None


def _write(path: Path, entries: OrderedDict[str, Entry]) -> None:
    """Keep `entries`, all or nothing."""
    plans = [{name: getattr(entry, name) for name in Entry.__match_args__} for entry in entries.values()]
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_text(json.dumps({"format": FORMAT, "plans": plans}), encoding="utf-8")
    beside.replace(path)
