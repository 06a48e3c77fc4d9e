"""A cache of plans: the same problem under other names has the same plan, and similar ones often nearly so.

A plan is never taken on trust: what is found for another problem is renamed, and checked by the plan checker. What is
proved of a problem holds for all of its shape.
"""

from __future__ import annotations

import json
import time
from hashlib import sha256
from pathlib import Path

from planner.annotations import Any, Final
from planner.answer import intended
from planner.model import Atom, Problem
from planner.model.formulas import atoms_in
from planner.plan import Plan, Result, Statistics, Status, Step, StoppedBy, exact
from planner.records import dataclass, field, replace
from planner.repair import mend
from planner.reuse.checked import checked
from planner.reuse.entry import Entry
from planner.reuse.shape import Shape, shape_of
from planner.reuse.store import Store
from planner.reuse.templates import Values
from planner.solve import solve
from planner.validate import validate

CAPACITY: Final = 1000
ADAPTING: Final = 2.0
"""Seconds in which a similar problem's plan is adapted, at most."""
SIMILAR: Final = 3
"""Similar problems' plans that are tried, at most."""
ENOUGH: Final = 0.9
"""A plan that a search of nearly as much time has not improved is not searched for again."""
FOUND: Final = "cache"
ADAPTED: Final = "adapted"
"""What the statistics of a result name as its search, where a plan was there already, or came of a similar one."""


@dataclass(slots=True, eq=False)
class Savings:
    """How often a plan was there already (`hits`), came of a similar problem's (`adapted`), or had to be found."""

    hits: int = 0
    adapted: int = 0
    misses: int = 0
    seconds: float = 0.0
    """What finding the plans had taken that were there already, less what taking them took."""

    def to_dict(self) -> dict[str, float]:
        """Return the figures by name."""
        return {name: getattr(self, name) for name in ("hits", "adapted", "misses", "seconds")}


@dataclass(frozen=True, slots=True)
class Recalled:
    """A `result`, and the seconds that were saved by a plan that was found before.

    `values` are those of data parameters, by the place of the step, where a template gave the plan.
    """

    result: Result
    seconds: float = 0.0
    values: Values = field(default_factory=dict)


class PlanCache:
    """Plans by the shapes of their problems, the least recently used of more than `capacity` forgotten.

    With a `path`, they are kept in that file, which several processes may use. `adapt` says whether similar problems'
    plans are adapted where any plan will do (`mode="first"`). Raises `InputError` for a file that is no cache.
    """

    def __init__(self, path: str | Path | None = None, *, capacity: int = CAPACITY, adapt: bool = True) -> None:
        self.savings = Savings()
        self._adapt = adapt
        self._store = Store(path, "plans", capacity)

    def __len__(self) -> int:
        return len(self._store)

    def close(self) -> None:
        """Close the file, if there is one."""
        self._store.close()

    def solve(self, problem: Problem, **options: Any) -> Result:
        """Return what `planner.solve` would, from what was found before where that will do; see `recall`."""
        return self.recall(problem, **options).result

    def recall(self, problem: Problem, **options: Any) -> Recalled:
        """Return what `planner.solve` would, from what was found before where that will do.

        A proof will always do, and so will what a search found that ended by itself. Any other plan will where any plan
        does (`mode="first"`), and where the search that found it had as much time as this one would have.
        `statistics.search` says "cache" or "adapted" then. Problems with unknown facts are always searched.
        """
        if problem.unknown:
            return Recalled(solve(problem, **options))
        began = time.monotonic()
        shape = shape_of(problem)
        found = self._known(problem, shape, options, began)
        if found is not None:
            self.savings.seconds += found.seconds
            return replace(found, result=intended(problem.domain, found.result))
        result = solve(problem, **options)
        self.savings.misses += 1
        if result.plan is not None:
            self._keep(problem, shape, result, time.monotonic() - began)
        return Recalled(result)

    def _known(self, problem: Problem, shape: Shape, options: dict[str, Any], began: float) -> Recalled | None:
        entry, first = _read(self._store.get(shape.key)), options.get("mode") == "first"
        if entry is not None and (first or entry.is_final or entry.seconds >= _patience(options) * ENOUGH):
            result = _as_result(problem, entry, {f"#{number}": name for number, name in enumerate(shape.objects)})
            if result is not None:
                self.savings.hits += 1
                return Recalled(result, max(entry.seconds - (time.monotonic() - began), 0.0))
        return self._adapted(problem, options, began) if first and self._adapt and not problem.wishes else None

    def _adapted(self, problem: Problem, options: dict[str, Any], began: float) -> Recalled | None:
        """Return a plan made of that of a problem with a goal of the same form; None where none will do soon."""
        like, goal = _goal_of(problem)
        limits = [each for each in (ADAPTING, options.get("time_limit")) if each is not None]
        for entry in filter(None, map(_read, self._store.alike(like, SIMILAR))):
            names = {f"#{number}": name for number, name in enumerate(entry.objects)}
            names.update(zip(entry.goal, goal, strict=True))
            steps = [Step(action, tuple(names.get(arg, arg) for arg in args)) for action, args in entry.steps]
            mended = mend(problem, steps, time_limit=min(limits) / SIMILAR, cancel=options.get("cancel"))
            if mended.steps is None or not mended.kept or not validate(problem, mended.steps).valid:
                continue
            self.savings.adapted += 1
            reason = f"adapted from an earlier plan: {len(mended.kept)} steps kept, {len(mended.inserted)} new"
            statistics = Statistics(search=ADAPTED)
            plan = Plan(mended.steps, problem)
            result = Result(Status.SOLVED, StoppedBy.FIRST_PLAN, plan, statistics=statistics, reason=reason)
            return Recalled(result, max(entry.seconds - (time.monotonic() - began), 0.0))
        return None

    def _keep(self, problem: Problem, shape: Shape, result: Result, seconds: float) -> None:
        numbers, (like, goal) = shape.numbers, _goal_of(problem)
        assert result.plan is not None  # noqa: S101 - the caller has looked
        entry = Entry(
            tuple(
                [(each.action, tuple([numbers.get(arg, arg) for arg in each.arguments])) for each in result.plan.steps]
            ),
            proved=result.status is Status.OPTIMAL and shape.is_whole,
            lower_bound=result.lower_bound if shape.is_whole else None,
            seconds=seconds,
            stopped_by=result.stopped_by if shape.is_whole else StoppedBy.FIRST_PLAN,
            goal=tuple([numbers.get(name, name) for name in goal]),
            objects=shape.objects,
        )
        self._store.put(shape.key, json.dumps(entry.to_dict()), like)


def _patience(options: dict[str, Any]) -> float:
    """Return the seconds that a search may take; without a limit it takes as long as the proof does."""
    limit = options.get("time_limit", 10.0)
    return float("inf") if limit is None else float(limit)


def _goal_of(problem: Problem) -> tuple[str, list[str]]:
    """Return what the goal is but for its objects, and these in their order."""
    atoms = sorted(set(atoms_in(problem.goal.hard)), key=_form)
    objects = list(dict.fromkeys(arg for atom in atoms for arg in atom.args))
    places = {name: f"?{number}" for number, name in enumerate(objects)}
    text = f"{problem.domain.name} {[str(atom.substitute(places)) for atom in atoms]}"
    return sha256(text.encode()).hexdigest(), objects


def _form(atom: Atom) -> tuple[str, int, tuple[str, ...]]:
    return atom.predicate, len(atom.args), atom.args


def _read(text: str | None) -> Entry | None:
    return None if text is None else Entry.of(text)


def _as_result(problem: Problem, entry: Entry, names: dict[str, str]) -> Result | None:
    """Return the plan of `entry` for `problem`, checked; None where it does not work."""
    plan, bound = checked(problem, entry.steps, names), entry.lower_bound
    if plan is None:
        return None
    proved = entry.proved and plan.charge == bound
    status, statistics = Status.OPTIMAL if proved else Status.SOLVED, Statistics(search=FOUND)
    bound = None if bound is None else exact(bound)
    return Result(status, entry.stopped_by, plan, bound, statistics, reason="found before")
