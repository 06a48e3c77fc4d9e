"""A cache of plans: the same problem under other names has the same plan, and a similar problem often nearly so.

No plan is taken on trust: one that was found for another problem is renamed, and checked by the plan checker. What is
proved of a problem holds for all problems of its shape: its text without the names of objects. Objects are told apart
by what is said of them: colours are refined until nothing more tells two objects apart (Weisfeiler and Leman, 1968),
then one of those that look alike is singled out, and so on. Problems with equal texts are the same up to names; one
problem may have two texts, where objects look alike and are not.

A plan is kept with numbers in place of objects, and with a text of all that its domain declares that plans depend on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.lightweight import Any, Final, dataclass, field, replace
from planner.model import Action, Atom, Constraint, DomainModel, Formula, Number, Problem
from planner.model.actions import CostFunction, CostTerm, Done
from planner.model.formulas import atoms_in, conjuncts, substitute
from planner.plan import Plan, Result, Statistics, Status, Step, StoppedBy, exact
from planner.portfolio.incumbent import weaken_to_intended
from planner.repair.mending import mend
from planner.reuse.templates import Values, checked
from planner.reuse.text_store import Store
from planner.solve import solve
from planner.validation.validate import check_steps


@dataclass(frozen=True, slots=True)
class Entry:
    """The `steps` that were found within so many `seconds`, and what was proved of them.

    `stopped_by` says how the search ended. `objects` are what the objects were called, by number: in a similar problem
    they may be called so, too. `goal` has the objects of the goal, by number, in its order.
    """

    steps: tuple[tuple[str, tuple[str, ...]], ...]
    proved: bool
    lower_bound: Number | None
    seconds: float
    stopped_by: StoppedBy
    goal: tuple[str, ...]
    objects: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON-ready data; the bound, which is exact, as text."""
        found: dict[str, Any] = {name: getattr(self, name) for name in self.__match_args__}
        bound = None if self.lower_bound is None else str(self.lower_bound)
        return found | {"lower_bound": bound, "stopped_by": self.stopped_by.name}

    @property
    def is_final(self) -> bool:
        """Whether the search ended by itself: another one would find the same, however much time it had."""
        return self.stopped_by in {StoppedBy.EXHAUSTED, StoppedBy.INCOMPLETE}

    @classmethod
    def of(cls, text: str) -> Entry | None:
        """Return the entry that `text` says as JSON; None for what is none."""
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
            )
        except (ValueError, KeyError, TypeError, ArithmeticError):
            return None


SEMANTIC: Final = (
    "name",
    "parameters",
    "requires",
    "provides",
    "modifies",
    "when",
    "after",
    "creates",
    "duration",
    "risk",
    "outcomes",
    "senses",
    "cases",
)
"""What matters of an action for plans, beside what it costs and uses; descriptions, tags and data do not."""


def declared(domain: DomainModel) -> str:
    """Return what `domain` declares as text; Python functions by their names, which do not say what they do."""
    stale = [(each.name, each.parameters, each.stale_with) for each in domain.predicates.values() if each.stale_with]
    actions = "\n".join(map(_action, domain.actions.values()))
    return f"{domain.name} {dict(domain.types)!r} {domain.constants!r} {stale!r}\n{actions}\n{domain.axioms!r}"


def calls_python(domain: DomainModel) -> bool:
    """Return whether Python functions say what steps of `domain` cost or use: nobody knows what these depend on."""
    return any(
        isinstance(term, CostFunction)
        for action in domain.actions.values()
        for terms in (action.cost, *action.uses.values())
        for term in terms
    )


def _action(action: Action) -> str:
    parts = [repr(getattr(action, name)) for name in SEMANTIC]
    cost = [_term(each) for each in action.cost]
    uses = {name: [_term(each) for each in terms] for name, terms in sorted(action.uses.items())}
    return f"{' '.join(parts)} {cost} {uses}"


def _term(term: CostTerm) -> str:
    if not isinstance(term, CostFunction):
        return repr(term)
    function = term.function
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__name__)}"


MOST_SINGLED: Final = 64
"""Objects that look like others are singled out so often; what then still looks alike is told apart by name."""
Colours = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Shape:
    """`text` says a problem with its objects numbered; `objects` are their names, by number.

    `is_whole`: the text says all that plans and their costs depend on; else Python functions do, too.
    """

    text: str
    objects: tuple[str, ...]
    is_whole: bool = True

    @property
    def key(self) -> str:
        """A short name of the shape."""
        return sha256(self.text.encode()).hexdigest()

    @property
    def numbers(self) -> dict[str, str]:
        """The numbers of the objects as texts, by name."""
        return {name: f"#{number}" for number, name in enumerate(self.objects)}

    def onto(self, other: Shape) -> dict[str, str]:
        """Return which object of `other`, a shape with the same text, stands for which of this one."""
        return dict(zip(self.objects, other.objects, strict=True))


def shape_of(problem: Problem) -> Shape:
    """Return the shape of `problem`: of what matters for its plans, and nothing else."""
    said = _Said(problem)
    colours = said.refined({name: said.first[name] for name in said.names})
    for _ in range(MOST_SINGLED):
        alike = _first_alike(said.names, colours)
        if alike is None:
            break
        colours = said.refined({**colours, alike: f"{colours[alike]}!"})
    order = tuple(sorted(said.names, key=lambda name: (colours[name], name)))
    numbers = {name: f"#{number}" for number, name in enumerate(order)}
    return Shape("\n".join(said.text(numbers)), order, not calls_python(said.problem.domain))


def _first_alike(names: Iterable[str], colours: Colours) -> str | None:
    """Return an object that another one looks like; None where all are told apart."""
    by_colour: dict[str, str] = {}
    found: dict[str, str] = {}
    for name in names:
        if colours[name] in by_colour:
            found[colours[name]] = by_colour[colours[name]]
        by_colour.setdefault(colours[name], name)
    return found[min(found)] if found else None


class _Said:
    """What a problem says of its objects; constants of the domain keep their names."""

    def __init__(self, problem: Problem) -> None:
        part = remove_irrelevant_actions(problem)
        constants = {each.name for each in part.domain.constants}
        self.problem = part
        self.names = [each.name for each in problem.objects if each.name not in constants]
        self.first = {each.name: " | ".join(sorted(each.types)) for each in problem.objects}
        known = set(self.names)
        self._of: dict[str, list[tuple[int, str, Atom]]] = {name: [] for name in self.names}
        for tag, atom in self._atoms():
            for place, arg in enumerate(atom.args):
                if arg in known:
                    self._of[arg].append((place, tag, atom))

    def _atoms(self) -> Iterator[tuple[str, Atom]]:
        """Yield all atoms that the problem states or asks for, with where it does."""
        yield from self._stated()
        part = self.problem
        yield from (("goal", atom) for atom in atoms_in(part.goal.hard))
        for wish in part.goal.soft:
            yield from ((f"wish {wish.utility}", atom) for atom in atoms_in(wish.condition))
        for each in part.constraints:
            for place, happening in enumerate(each.happenings):
                atoms = [happening.action] if isinstance(happening, Done) else atoms_in(happening)
                yield from ((f"{_kind(each)} {place}", atom) for atom in atoms)

    def _stated(self) -> Iterator[tuple[str, Atom]]:
        """Yield the atoms that stand alone."""
        part = self.problem
        yield from (("initial", atom) for atom in part.initial)
        yield from ((f"value {number}", term) for term, number in part.values.items())
        yield from (("ran", atom) for atom in part.ran)
        yield from (("unknown", atom) for atom in part.unknown)
        yield from ((f"likely {chance}", atom) for atom, chance in part.likely.items())

    def refined(self, colours: Colours) -> dict[str, str]:
        """Return `colours` as fine as what is said of objects can make them."""
        kinds = len(set(colours.values()))
        while True:
            finer = {name: self._colour(name, colours) for name in self.names}
            if len(set(finer.values())) == kinds:
                return dict(colours)
            colours, kinds = finer, len(set(finer.values()))

    def _colour(self, name: str, colours: Colours) -> str:
        def seen(arg: str) -> str:
            return "*" if arg == name else colours.get(arg, arg)

        said = sorted(
            f"{tag} {place} {atom.predicate} {' '.join(map(seen, atom.args))}" for place, tag, atom in self._of[name]
        )
        return sha256("\n".join([colours[name], *said]).encode()).hexdigest()

    def text(self, numbers: Mapping[str, str]) -> Iterator[str]:
        """Yield the lines of the problem, with numbers for names."""
        part = self.problem
        yield declared(part.domain)
        yield from (f"{numbers[name]}: {self.first[name]}" for name in sorted(self.names, key=numbers.__getitem__))
        yield from sorted(f"{tag}: {atom.substitute(numbers)}" for tag, atom in self._stated())
        yield from sorted(f"goal: {_renamed(each, numbers)}" for each in conjuncts(part.goal.hard))
        yield from sorted(f"wish {wish.utility}: {_renamed(wish.condition, numbers)}" for wish in part.goal.soft)
        yield from sorted(f"{_kind(each)}: {_happening(each, numbers)}" for each in part.constraints)
        yield f"limits: {sorted(part.budgets.items())} {part.deadline} {part.metric}"


def _renamed(formula: Formula, numbers: Mapping[str, str]) -> str:
    return repr(substitute(formula, numbers))


def _kind(constraint: Constraint) -> str:
    return f"constraint {constraint.kind.name} {constraint.times} {constraint.utility}"


def _happening(constraint: Constraint, numbers: Mapping[str, str]) -> str:
    found = constraint.mapped(lambda each: substitute(each, numbers), lambda step: step.substitute(numbers))
    return repr(found.happenings)


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
            return replace(found, result=weaken_to_intended(problem.domain, found.result))
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
            if mended.steps is None or not mended.kept or not check_steps(problem, mended.steps).valid:
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
