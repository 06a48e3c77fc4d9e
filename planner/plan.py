"""The results of planning: `Result`, `Plan` and `Step`.

The status of a `Result` says what was proved, `stopped_by` why the work ended, and `lower_bound` how far the plan may
be from the optimum.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from enum import Enum

from planner.errors import NoPlan, describe_error
from planner.lightweight import TYPE_CHECKING, Any, Final, dataclass, field, replace
from planner.model.object_names import find_term

if TYPE_CHECKING:
    from planner.model import Atom, Constraint, Number, SoftGoal


class Status(Enum):
    """What is known at the end; compare with `is`."""

    OPTIMAL = "a plan, proved to cost the least"
    SOLVED = "a plan; the lower bound says how far from the optimum it may be"
    UNSOLVABLE = "proved to have no plan"
    UNKNOWN = "no plan found and none excluded"
    UNSUPPORTED = "the problem uses a construct that is not supported"


class StoppedBy(Enum):
    """Why the work ended."""

    EXHAUSTED = "nothing was left to search"
    FIRST_PLAN = "the first plan was asked for, or the search stops at it"
    TIME = "the time limit"
    MEMORY = "the memory limit"
    EXPANSIONS = "the limit on expansions"
    CANCELLED = "cancellation"
    INCOMPLETE = "a search that gives up parts without proof came to its end"

    @property
    def clause(self) -> str:
        """Why the work ended, as a part of a sentence."""
        is_limit = self in (StoppedBy.TIME, StoppedBy.MEMORY, StoppedBy.EXPANSIONS, StoppedBy.CANCELLED)
        return f"stopped by {self.value}" if is_limit else self.value


@dataclass(frozen=True, slots=True)
class Step:
    """A ground action in a plan; `cost` is exact."""

    action: str
    arguments: tuple[str, ...] = ()
    cost: Number = 0

    def __str__(self) -> str:
        return f"{self.action}({', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class StepTime:
    """When a step starts, in seconds from the beginning of the plan, and how long it lasts."""

    start: Number
    duration: Number = 0

    @property
    def end(self) -> Number:
        """When the step ends."""
        return exact_sum([self.start, self.duration])


def name_as_written(steps: Iterable[Step], problem: Any) -> tuple[Step, ...]:
    """Return `steps` with the action names in the file of `problem`: versions of an action share its name."""
    versions = getattr(getattr(problem, "domain", None), "versions", None)
    if not versions:
        return tuple(steps)
    return tuple([replace(step, action=versions.get(step.action, step.action)) for step in steps])


def name_objects(step: Step, problem: Any) -> Step:
    """Return `step` with the terms of the objects of `problem` that its arguments name."""
    objects, action = {each.name for each in problem.all_objects}, problem.domain.actions.get(step.action)
    places = () if action is None else [each.types for each in action.parameters]
    types = [*places, *[()] * (len(step.arguments) - len(places))]
    named = [find_term(each, objects, kinds) for each, kinds in zip(step.arguments, types, strict=False)]
    return replace(step, arguments=tuple(named))


@dataclass(frozen=True, slots=True)
class Supposition:
    """An unknown `fact` whose truth a plan supposes to be `holds`; or a function term, of which it supposes a `value`.

    `steps` are the numbers, from 1, of the steps that depend on it; `goal` says that the goal does. `seen` is the
    number of the step that senses it before, or None.
    """

    fact: Atom
    holds: bool
    steps: tuple[int, ...] = ()
    goal: bool = False
    seen: int | None = None
    value: Number | None = None

    @property
    def literal(self) -> str:
        """The fact, or its negation, or the value of a number, as text."""
        if self.value is not None:
            return f"{self.fact} = {self.value}"
        return str(self.fact) if self.holds else f"not {self.fact}"

    def __str__(self) -> str:
        looked = "no step looks at it" if self.seen is None else f"step {self.seen} looks at it"
        resting = [f"step {number}" for number in self.steps] + (["the goal"] if self.goal else [])
        return f"{self.literal} ({looked}; {_join_phrases(resting)} rest{'s' if len(resting) == 1 else ''} on it)"

    def to_dict(self) -> dict[str, Any]:
        """Return the supposition as JSON-ready data, the fact as text; only one on a number has a value."""
        values = {"fact": str(self.fact), "holds": self.holds, "steps": list(self.steps), "goal": self.goal}
        return {**values, "seen": self.seen, **({} if self.value is None else {"value": json_number(self.value)})}


def describe_forgone(wishes: Iterable[SoftGoal | Constraint]) -> list[str]:
    """Return a line of text for each of the forgone `wishes`."""
    return [f"without {wish} (worth {wish.utility})" for wish in wishes]


def forgone_as_data(wishes: Iterable[SoftGoal | Constraint]) -> list[dict[str, Any]]:
    """Return the forgone `wishes` as JSON-ready data."""
    return [{"wish": str(wish), "utility": json_number(wish.utility)} for wish in wishes]


@dataclass(frozen=True, slots=True)
class Plan:
    """A sequence of steps for `problem`.

    For a hierarchical `problem`, `tree` is the decomposition, whose `to_dict` returns data. Where facts are unknown,
    the plan works under its `suppositions`. Where there are wishes (soft goals and soft constraints), `utility` is the
    sum of those that come true, and `forgone` are the others.

    A plan in time has the `times` of its steps, which are in the order of their starts. `time_cost` is what the metric
    of the problem charges for them beside the costs of the steps.
    """

    steps: tuple[Step, ...]
    problem: Any = field(repr=False, compare=False)
    tree: Any = field(default=None, repr=False, compare=False)
    suppositions: tuple[Supposition, ...] = field(default=(), compare=False)
    utility: Number | None = field(default=None, compare=False)
    forgone: tuple[SoftGoal | Constraint, ...] = field(default=(), repr=False, compare=False)
    times: tuple[StepTime, ...] = ()
    time_cost: Number = field(default=0, compare=False)

    @property
    def cost(self) -> Number:
        """The sum of the steps' costs, and what the metric charges for time."""
        return exact_sum([*[step.cost for step in self.steps], self.time_cost])

    @property
    def makespan(self) -> Number | None:
        """When the last step of a plan in time ends; None for a sequence."""
        return max([each.end for each in self.times], default=0) if self.times or not self.steps else None

    @property
    def charge(self) -> Number:
        """The cost plus the utilities of the forgone wishes; a smaller charge is a greater net benefit."""
        return exact_sum([self.cost, *[wish.utility or 0 for wish in self.forgone]])

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        steps = name_as_written(self.steps, self.problem)
        if self.times:
            timed = zip(steps, self.times, strict=True)
            return "\n".join(f"{float(time.start):.3f}: {step} [{float(time.duration):.3f}]" for step, time in timed)
        return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))

    def _repr_html_(self) -> str | None:
        return render_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON-ready data: `{"steps": [{"action", "arguments", "cost"}, …], …}`.

        The steps of a plan in time have `start` and `duration` in seconds, and the plan its `makespan`. `decomposition`
        and `suppositions` are included if there are any.
        """
        steps: list[dict[str, Any]] = [
            {"action": step.action, "arguments": list(step.arguments), "cost": json_number(step.cost)}
            for step in name_as_written(self.steps, self.problem)
        ]
        data: dict[str, Any] = {"steps": steps}
        if self.times:
            for step, time in zip(steps, self.times, strict=True):
                step |= {"start": json_number(time.start), "duration": json_number(time.duration)}
            data["makespan"] = json_number(self.makespan)
        if self.tree is not None:
            data["decomposition"] = self.tree.to_dict()
        if self.suppositions:
            data["suppositions"] = [each.to_dict() for each in self.suppositions]
        return data


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of a search: counts of states, sizes of the ground task, and wall-clock times in seconds.

    `search_cpu_seconds` is the processor time of the thread that searched. `stored` states take `search_bytes` in the
    arrays of kernels; both are 0 where the reference tier was enough. `simulations` are those of search `mcts`. `tier`
    names the tiers of the searches that have run: "reference" (plain Python), "compiled" (kernels as machine code) and
    "interpreted" (kernels in plain Python). `machine_code` says what there was of machine code where it was looked for:
    "loaded", "being made", "missing" or "off" (FORETHOUGHT_JIT). docs/reference/statistics.md says what is counted.
    """

    search: str = ""
    heuristic: str = ""
    facts: int = 0
    actions: int = 0
    variables: int = 0
    expanded: int = 0
    evaluated: int = 0
    generated: int = 0
    ground_seconds: float = 0.0
    search_seconds: float = 0.0
    search_cpu_seconds: float = 0.0
    stored: int = 0
    search_bytes: int = 0
    simulations: int = 0
    tier: str = ""
    machine_code: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as JSON-ready data, times rounded to microseconds."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class Milestone:
    """What was known `elapsed` seconds into the work: the charge of the best plan, and the lower bound.

    `search` with `heuristic` found the plan or the bound that was new then; "" where grounding gave the bound.
    """

    elapsed: float
    cost: Number | None
    lower_bound: Number | None
    search: str = ""
    heuristic: str = ""


@dataclass(frozen=True, slots=True)
class SearchTurns:
    """When a search was at work: its `turns` from one moment to another, in seconds since the beginning."""

    search: str
    heuristic: str
    turns: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class SearchFailure:
    """The `error` that ended a search while others went on, as text."""

    search: str
    heuristic: str
    error: str

    @classmethod
    def of(cls, by: tuple[str, str], error: Exception) -> SearchFailure:
        """Describe the `error` of the search and heuristic with the names `by`; an internal error by its place too."""
        return cls(*by, describe_error(error))

    def __str__(self) -> str:
        how = " with ".join(name for name in (self.search, self.heuristic) if name) or "a search"
        return f"{how} failed: {self.error}"


@dataclass(frozen=True, slots=True)
class History:
    """How a search went: what was known when, and which searches were at work when, in the order of their first turns.

    Of bounds that follow each other within 10 ms, or 1 % of the time so far, only the last one is kept. `failures` are
    the errors that ended searches while others went on.
    """

    milestones: tuple[Milestone, ...] = ()
    searches: tuple[SearchTurns, ...] = ()
    failures: tuple[SearchFailure, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.milestones or self.searches or self.failures)

    def to_dict(self) -> dict[str, Any]:
        """Return the history as JSON-ready data, times rounded to 0.1 ms."""
        milestones = [
            {
                "elapsed": round(each.elapsed, 4),
                "cost": json_number(each.cost),
                "lower_bound": json_number(each.lower_bound),
                "search": each.search,
                "heuristic": each.heuristic,
            }
            for each in self.milestones
        ]
        searches = [
            {
                "search": each.search,
                "heuristic": each.heuristic,
                "turns": [[round(begin, 4), round(end, 4)] for begin, end in each.turns],
            }
            for each in self.searches
        ]
        data: dict[str, Any] = {"milestones": milestones, "searches": searches}
        if self.failures:
            data["failures"] = [
                {"search": each.search, "heuristic": each.heuristic, "error": each.error} for each in self.failures
            ]
        return data


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to a problem.

    No plan costs less than `lower_bound`; None where nothing is proved. Where there are wishes, bound, gap and proof
    refer to charges: costs of steps plus utilities of forgone wishes. `reason` explains, where necessary, what is
    unsupported or what ended the work. `history` is empty where no search found anything: the answer was at hand, or is
    that there is no plan.
    """

    status: Status
    stopped_by: StoppedBy
    plan: Plan | None = None
    lower_bound: Number | None = None
    statistics: Statistics = field(default_factory=Statistics)
    reason: str = ""
    history: History = field(default=History(), repr=False, compare=False)

    @property
    def has_plan(self) -> bool:
        """Whether there is a plan."""
        return self.plan is not None

    @property
    def cost(self) -> Number | None:
        """The plan's cost, or None without a plan."""
        return None if self.plan is None else self.plan.cost

    @property
    def utility(self) -> Number | None:
        """The utility of the wishes that the plan makes true; None without a plan or without wishes."""
        return None if self.plan is None else self.plan.utility

    @property
    def forgone(self) -> tuple[SoftGoal | Constraint, ...]:
        """The soft goals and soft constraints that the plan forgoes."""
        return () if self.plan is None else self.plan.forgone

    @property
    def net_benefit(self) -> Number | None:
        """The utility less the cost; None without a plan or without wishes."""
        if self.plan is None or self.plan.utility is None:
            return None
        return exact(self.plan.utility - self.plan.cost)

    @property
    def most_net_benefit(self) -> Number | None:
        """The proved upper bound on the net benefit of plans; None without a plan, wishes or a bound."""
        if self.plan is None or self.plan.utility is None or self.lower_bound is None:
            return None
        return exact(self.plan.utility + self.plan.charge - self.plan.cost - self.lower_bound)

    @property
    def gap(self) -> float | None:
        """(charge - lower bound) / charge: 0.0 when proved optimal, 1.0 at worst; None without a plan or a bound."""
        if self.plan is None or self.lower_bound is None:
            return None
        cost = self.plan.charge
        return 0.0 if cost == self.lower_bound else float(1 - Decimal(self.lower_bound) / Decimal(cost))

    def expect_plan(self) -> Plan:
        """Return the plan, or raise `NoPlan` with the reason."""
        if self.plan is None:
            raise NoPlan(self)
        return self.plan

    def describe(self) -> str:
        """Return one line of text: the status, what stopped the work, cost and lower bound, and failed searches."""
        words = [f"{self.status.name} ({self.status.value}); {self.stopped_by.clause}"]
        if self.plan is not None:
            words += self._benefit() or [f"cost {self.plan.cost}, lower bound {self.lower_bound}"]
        return "; ".join([*words, *([self.reason] if self.reason else []), *map(str, self.history.failures)])

    def __str__(self) -> str:
        return self.describe() if self.plan is None else f"{self.describe()}\n{self.plan}".rstrip()

    def _benefit(self) -> list[str]:
        """Return phrases for the net benefit and the forgone wishes, where there are wishes."""
        if self.plan is None or self.plan.utility is None:
            return []
        most = "" if self.most_net_benefit is None else f" (at most {self.most_net_benefit})"
        gained = f"net benefit {self.net_benefit}{most}: utility {self.utility}, cost {self.plan.cost}"
        return [gained, *describe_forgone(self.forgone)]

    def _repr_html_(self) -> str | None:
        return render_html(self)

    def __bool__(self) -> bool:
        raise TypeError("a Result is neither true nor false; ask result.has_plan, or compare result.status with `is`")

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready data; `forethought solve --json` adds the use of resources."""
        data: dict[str, Any] = {
            "status": self.status.name,
            "stopped_by": self.stopped_by.name.lower(),
            "cost": json_number(self.cost),
            "lower_bound": json_number(self.lower_bound),
            "plan": self.plan.to_dict() if self.plan is not None else None,
            "reason": self.reason,
            "statistics": self.statistics.to_dict(),
        }
        if self.utility is not None:
            data |= {"utility": json_number(self.utility), "net_benefit": json_number(self.net_benefit)}
            data["forgone"] = forgone_as_data(self.forgone)
        if self.history:
            data["history"] = self.history.to_dict()
        return data


def render_html(item: object) -> str | None:
    """Return `item` as HTML for a notebook; None where no installed package draws it.

    The package names its function in the entry point `notebook` of the group `forethought.pages`.
    """
    from importlib.metadata import entry_points

    for entry in entry_points(group="forethought.pages", name="notebook"):
        return str(entry.load()(item))
    return None


def unsupported_result(reason: str, hint: str | None = None) -> Result:
    """Return the result for a problem with the unsupported construct that `reason` names; `hint` is a way round."""
    return Result(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, reason=f"{reason}; {hint}" if hint else reason)


@dataclass(frozen=True, slots=True)
class Progress:
    """The best plan and the lower bound during a search."""

    plan: Plan | None
    lower_bound: Number | None
    elapsed: float
    statistics: Statistics


def _join_phrases(parts: list[str]) -> str:
    """Join `parts` with commas and "and"."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def exact_sum(numbers: Iterable[Number]) -> Number:
    """Return the exact sum, an int where it is integral."""
    total: Number = 0
    for number in numbers:
        is_whole = type(total) is int and type(number) is int
        total = total + number if is_whole else EXACT.add(total, number)  # '+' rounds decimals to 28 digits
    return exact(total)


def exact(number: Number) -> Number:
    """Return `number`, as an int where it is integral."""
    return int(number) if number == int(number) else number


EXACT: Final = Context(prec=10_000)
"""Decimal arithmetic with more digits than any cost has."""


def divide_exactly(cost: int, resolution: int) -> Number:
    """Return `cost` in the units of a problem, of which each is `resolution` units of the ground task."""
    return cost if resolution == 1 else exact(EXACT.divide(Decimal(cost), resolution))


def json_number(number: Number | None) -> int | float | None:
    """Return `number` for JSON: decimals become floats."""
    return float(number) if isinstance(number, Decimal) else number
