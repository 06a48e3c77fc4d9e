"""A cache of plans, in which problems that differ only in the names of objects share an entry.

The key is the shape of a problem (`planner.reuse.problem_shapes`). A cached plan is renamed and checked by the plan
checker. In the mode "first", plans of similar problems are adapted.
"""

from __future__ import annotations

import json
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

from planner.lightweight import Any, Final, dataclass, field, replace
from planner.limits import read_clock
from planner.model import Atom, Number, Problem
from planner.model.formulas import (
    atoms_in,
)
from planner.model.problem import is_temporal
from planner.model.unknown_numbers import find_unread
from planner.plan import Plan, Result, Statistics, Status, Step, StepTime, StoppedBy, exact
from planner.portfolio.incumbent import weaken_to_intended
from planner.problem_kinds import classical_of, is_other_problem
from planner.repair.mending import mend
from planner.reuse.problem_shapes import Shape, calls_python, shape_of
from planner.reuse.templates import Values, make_valid_plan
from planner.reuse.text_store import Store
from planner.solve import solve
from planner.validation.validate import check_steps

FINAL: Final = (StoppedBy.EXHAUSTED, StoppedBy.INCOMPLETE)
"""What ends a search that ended by itself, so that more time would not help."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A plan: its `steps`, the `seconds` of its search, what ended the search, and what is proved.

    A plan in time has the start and the duration of each step in `times`. `objects` are the names of the objects by
    number, which a similar problem may share. `goal` has the objects of the goal, by number, in its order.
    """

    steps: tuple[tuple[str, tuple[str, ...]], ...]
    proved: bool
    lower_bound: Number | None
    seconds: float
    stopped_by: StoppedBy
    goal: tuple[str, ...]
    objects: tuple[str, ...]
    times: tuple[StepTime, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON-ready data, with exact numbers as text."""
        found: dict[str, Any] = {name: getattr(self, name) for name in self.__match_args__}
        bound = None if self.lower_bound is None else str(self.lower_bound)
        times = [(str(each.start), str(each.duration)) for each in self.times]
        return found | {"lower_bound": bound, "stopped_by": self.stopped_by.name, "times": times}

    @property
    def is_final(self) -> bool:
        """Whether the search ended by itself, so that more time would not help."""
        return self.stopped_by in FINAL

    @classmethod
    def of(cls, text: str) -> Entry | None:
        """Return the entry of the JSON `text`; None if it is none."""
        try:
            data = json.loads(text)
            bound = data["lower_bound"]
            return cls(
                tuple([(action, tuple(args)) for action, args in data["steps"]]),
                bool(data["proved"]),
                None if bound is None else exact(Decimal(bound)),
                float(data["seconds"]),
                StoppedBy[data["stopped_by"]],
                tuple(data["goal"]),
                tuple(data["objects"]),
                tuple([StepTime(exact(Decimal(start)), exact(Decimal(lasting))) for start, lasting in data["times"]]),
            )
        except (ValueError, KeyError, TypeError, ArithmeticError):
            return None


CAPACITY: Final = 1000
"""Default number of plans in a cache."""
ADAPT_SECONDS: Final = 2.0
"""Time limit for adapting plans of similar problems, in seconds."""
MAX_SIMILAR: Final = 3
"""Number of plans of similar problems that are tried."""
MAX_ANSWERS: Final = 100
"""Number of answers that are kept for equal problems of other kinds, and with unknown facts or numbers."""
LIMITS: Final = ("time_limit", "memory_limit", "cancel", "on_progress")
"""Options that do not change what is asked for."""
ENOUGH_TIME: Final = 0.9
"""Share of the time limit: a cached plan of a search that took as long is not searched for again."""
FOUND: Final = "cache"
ADAPTED: Final = "adapted"
"""Names of the search in the statistics of a cached plan, and of an adapted one."""


@dataclass(slots=True, eq=False)
class Savings:
    """Counts of cached plans (`hits`), adapted plans and searches (`misses`)."""

    hits: int = 0
    adapted: int = 0
    misses: int = 0
    seconds: float = 0.0
    """Search time saved by cached and adapted plans, less the time to look them up."""

    def to_dict(self) -> dict[str, float]:
        """Return the figures by name."""
        return {name: getattr(self, name) for name in ("hits", "adapted", "misses", "seconds")}


@dataclass(frozen=True, slots=True)
class Recalled:
    """A `result`, and the `seconds` of search that a cached plan saved.

    `values` are the values of data parameters, by the place of the step, for a plan of a template.
    """

    result: Result
    seconds: float = 0.0
    values: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The `result` of a `problem` whose shape is not known, how it was `asked` for, and the seconds of its search."""

    problem: Any
    asked: dict[str, Any]
    result: Result
    seconds: float

    def will_do(self, options: dict[str, Any]) -> bool:
        """Return whether a search with these options would find nothing better."""
        is_final = self.result.stopped_by in (*FINAL, StoppedBy.FIRST_PLAN)
        return is_final or had_enough_time(self.seconds, options)


class PlanCache:
    """A cache of up to `capacity` plans by the shapes of their problems, which drops the least recently used.

    With a `path`, it is kept in that file, which several processes may use. With `adapt`, plans of similar problems are
    adapted if any plan will do (`mode="first"`). Raises `InputError` for a file that is no cache.
    """

    def __init__(self, path: str | Path | None = None, *, capacity: int = CAPACITY, adapt: bool = True) -> None:
        self.savings = Savings()
        self._adapt = adapt
        self._store = Store(path, "plans", capacity)
        self._answers: list[_Answer] = []

    def __len__(self) -> int:
        return len(self._store)

    def close(self) -> None:
        """Close the file, if there is one."""
        self._store.close()

    def solve(self, problem: Problem, **options: Any) -> Result:
        """Solve `problem`, from the cache where a cached plan will do; see `recall`."""
        return self.recall(problem, **options).result

    def recall(self, problem: Problem, **options: Any) -> Recalled:
        """Solve `problem` as `planner.solve` does, from the cache where a cached plan will do.

        A plan of a search that ended by itself, such as with a proof, always will. Any other plan will if any plan does
        (`mode="first"`), or if its search had as much time as this one would have. `statistics.search` is "cache" or
        "adapted" then. Of other kinds, and with unknown facts or numbers, only a problem that is equal gets the plan,
        from this object. With `plain`, every problem is searched.
        """
        if options.get("plain"):
            return Recalled(solve(problem, **options))
        if is_other_problem(problem) or problem.unknown or find_unread(problem):
            return self._recall_equal(problem, options)
        began = read_clock()
        shape = shape_of(problem)
        found = self._look_up(problem, shape, options, began)
        if found is not None:
            self.savings.seconds += found.seconds
            return replace(found, result=weaken_to_intended(problem.domain, found.result))
        result = solve(problem, **options)
        self.savings.misses += 1
        if result.plan is not None:
            self._store_plan(problem, shape, result, read_clock() - began)
        return Recalled(result)

    def _recall_equal(self, problem: Any, options: dict[str, Any]) -> Recalled:
        """Solve `problem`, or return the answer for an equal one that was asked for in the same way."""
        asked = {name: value for name, value in options.items() if name not in LIMITS}
        for answer in self._answers:
            if asked == answer.asked and answer.will_do(options) and problem == answer.problem:
                self.savings.hits += 1
                self.savings.seconds += answer.seconds
                plan = replace(answer.result.expect_plan(), problem=problem)
                return Recalled(replace(answer.result, plan=plan, statistics=Statistics(search=FOUND)), answer.seconds)
        began = read_clock()
        result = solve(problem, **options)
        self.savings.misses += 1
        domain = classical_of(problem).domain
        if result.plan is not None and not calls_python(domain):
            self._answers = [_Answer(problem, asked, result, read_clock() - began), *self._answers][:MAX_ANSWERS]
        return Recalled(result)

    def _look_up(self, problem: Problem, shape: Shape, options: dict[str, Any], began: float) -> Recalled | None:
        entry, first = _read_entry(self._store.get(shape.key)), options.get("mode") == "first"
        if entry is not None and (first or entry.is_final or had_enough_time(entry.seconds, options)):
            result = _make_result(problem, entry, {f"#{number}": name for number, name in enumerate(shape.objects)})
            if result is not None:
                self.savings.hits += 1
                return Recalled(result, max(entry.seconds - (read_clock() - began), 0.0))
        is_adapted = first and self._adapt and not problem.wishes and not is_temporal(problem)
        return self._adapt_similar(problem, options, began) if is_adapted else None

    def _adapt_similar(self, problem: Problem, options: dict[str, Any], began: float) -> Recalled | None:
        """Return a plan adapted from one of a problem with a goal of the same form; None if none is found soon."""
        like, goal = _goal_form(problem)
        limits = [each for each in (ADAPT_SECONDS, options.get("time_limit")) if each is not None]
        for entry in filter(None, map(_read_entry, self._store.alike(like, MAX_SIMILAR))):
            names = {f"#{number}": name for number, name in enumerate(entry.objects)}
            names.update(zip(entry.goal, goal, strict=True))
            steps = [Step(action, tuple(names.get(arg, arg) for arg in args)) for action, args in entry.steps]
            mended = mend(problem, steps, time_limit=min(limits) / MAX_SIMILAR, cancel=options.get("cancel"))
            if mended.steps is None or not mended.kept or not check_steps(problem, mended.steps).valid:
                continue
            self.savings.adapted += 1
            reason = f"adapted from an earlier plan: {len(mended.kept)} steps kept, {len(mended.inserted)} new"
            statistics = Statistics(search=ADAPTED)
            plan = Plan(mended.steps, problem)
            result = Result(Status.SOLVED, StoppedBy.FIRST_PLAN, plan, statistics=statistics, reason=reason)
            return Recalled(result, max(entry.seconds - (read_clock() - began), 0.0))
        return None

    def _store_plan(self, problem: Problem, shape: Shape, result: Result, seconds: float) -> None:
        numbers, (like, goal) = shape.numbers, _goal_form(problem)
        assert result.plan is not None
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
            times=result.plan.times,
        )
        self._store.put(shape.key, json.dumps(entry.to_dict()), like)


def had_enough_time(seconds: float, options: dict[str, Any]) -> bool:
    """Return whether a search that took so many `seconds` had about as much time as `options` allow."""
    return seconds >= _time_limit_of(options) * ENOUGH_TIME


def _time_limit_of(options: dict[str, Any]) -> float:
    """Return the time limit in `options` in seconds, infinity for none."""
    limit = options.get("time_limit", 10.0)
    return float("inf") if limit is None else float(limit)


def _goal_form(problem: Problem) -> tuple[str, list[str]]:
    """Return a hash of the goal without its objects, and these in their order."""
    atoms = sorted(set(atoms_in(problem.goal.hard)), key=_atom_key)
    objects = list(dict.fromkeys(arg for atom in atoms for arg in atom.args))
    places = {name: f"?{number}" for number, name in enumerate(objects)}
    text = f"{problem.domain.name} {[str(atom.substitute(places)) for atom in atoms]}"
    return sha256(text.encode()).hexdigest(), objects


def _atom_key(atom: Atom) -> tuple[str, int, tuple[str, ...]]:
    return atom.predicate, len(atom.args), atom.args


def _read_entry(text: str | None) -> Entry | None:
    return None if text is None else Entry.of(text)


def _make_result(problem: Problem, entry: Entry, names: dict[str, str]) -> Result | None:
    """Return the plan of `entry` for `problem` as a result; None if it is not valid."""
    plan, bound = make_valid_plan(problem, entry.steps, names, entry.times), entry.lower_bound
    if plan is None:
        return None
    proved = entry.proved and plan.charge == bound
    status, statistics = Status.OPTIMAL if proved else Status.SOLVED, Statistics(search=FOUND)
    bound = None if bound is None else exact(bound)
    return Result(status, entry.stopped_by, plan, bound, statistics, reason="found before")
