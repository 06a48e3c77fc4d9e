"""What planning gives back: `Result`, `Plan` and `Step`.

A `Result` never pretends: its status says what was proved, `stopped_by` why the work ended, and `lower_bound` how far
the plan may be from the optimum.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from enum import Enum

from planner.errors import NoPlan
from planner.lightweight import TYPE_CHECKING, Any, dataclass, field, replace

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
    CANCELLED = "cancellation"
    INCOMPLETE = "a search that gives up parts without proof came to its end"


@dataclass(frozen=True, slots=True)
class Step:
    """A ground action in a plan; `cost` is exact."""

    action: str
    arguments: tuple[str, ...] = ()
    cost: Number = 0

    def __str__(self) -> str:
        return f"{self.action}({', '.join(self.arguments)})"


def name_as_written(steps: Iterable[Step], problem: Any) -> tuple[Step, ...]:
    """Return `steps` under the names that the file of `problem` has: versions of an action go by the name of it."""
    versions = getattr(getattr(problem, "domain", None), "versions", None)
    if not versions:
        return tuple(steps)
    return tuple([replace(step, action=versions.get(step.action, step.action)) for step in steps])


@dataclass(frozen=True, slots=True)
class Supposition:
    """An unknown `fact` that a plan takes to hold, or not, as `holds` says.

    `steps` are the numbers, from 1, of those that rest on it, and `goal` says whether the goal itself does. `seen` is
    the number of the step that looks at it before; None where no step does.
    """

    fact: Atom
    holds: bool
    steps: tuple[int, ...] = ()
    goal: bool = False
    seen: int | None = None

    @property
    def literal(self) -> str:
        """The fact, or its negation, as text."""
        return str(self.fact) if self.holds else f"not {self.fact}"

    def __str__(self) -> str:
        looked = "no step looks at it" if self.seen is None else f"step {self.seen} looks at it"
        resting = [f"step {number}" for number in self.steps] + (["the goal"] if self.goal else [])
        return f"{self.literal} ({looked}; {_together(resting)} rest{'s' if len(resting) == 1 else ''} on it)"

    def to_dict(self) -> dict[str, Any]:
        """Return the supposition as JSON-ready data, the fact as text."""
        values = {"fact": str(self.fact), "holds": self.holds, "steps": list(self.steps), "goal": self.goal}
        return {**values, "seen": self.seen}


def without(wishes: Iterable[SoftGoal | Constraint]) -> list[str]:
    """Return a line for people about each of `wishes`, which are forgone."""
    return [f"without {wish} (worth {wish.utility})" for wish in wishes]


def forgone_data(wishes: Iterable[SoftGoal | Constraint]) -> list[dict[str, Any]]:
    """Return `wishes`, which are forgone, as JSON-ready data."""
    return [{"wish": str(wish), "utility": json_number(wish.utility)} for wish in wishes]


@dataclass(frozen=True, slots=True)
class Plan:
    """A sequence of steps for `problem`.

    A plan that came of tasks has them in `tree`, whose `to_dict` gives it as data; `problem` is then the hierarchical
    one. Where facts are unknown, it works on `suppositions` about them. Where something is wished for, soft goals or
    soft constraints, `utility` is what those are worth that come true, and `forgone` are the others.
    """

    steps: tuple[Step, ...]
    problem: Any = field(repr=False, compare=False)
    tree: Any = field(default=None, repr=False, compare=False)
    suppositions: tuple[Supposition, ...] = field(default=(), compare=False)
    utility: Number | None = field(default=None, compare=False)
    forgone: tuple[SoftGoal | Constraint, ...] = field(default=(), repr=False, compare=False)

    @property
    def cost(self) -> Number:
        """The sum of the steps' costs."""
        return exact_sum(step.cost for step in self.steps)

    @property
    def charge(self) -> Number:
        """The cost, and the utilities of what is forgone: the less it is, the more is the net benefit."""
        return exact_sum([self.cost, *[wish.utility or 0 for wish in self.forgone]])

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        steps = name_as_written(self.steps, self.problem)
        return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON-ready data: `{"steps": [{"action", "arguments", "cost"}, …], …}`.

        `decomposition` and `suppositions` are there where there are any.
        """
        steps = [
            {"action": step.action, "arguments": list(step.arguments), "cost": json_number(step.cost)}
            for step in name_as_written(self.steps, self.problem)
        ]
        data: dict[str, Any] = {"steps": steps}
        if self.tree is not None:
            data["decomposition"] = self.tree.to_dict()
        if self.suppositions:
            data["suppositions"] = [each.to_dict() for each in self.suppositions]
        return data


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the work took: counts of states and sizes of the ground task; times in seconds of wall-clock time.

    `search_cpu_seconds` is the processor time of the thread that searched. `stored` states take `search_bytes` in the
    arrays of compiled searches; both are 0 where plain Python was enough. `simulations` are those of search `mcts`.
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

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as JSON-ready data, times rounded to microseconds."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to a problem.

    `lower_bound` is proved: no plan costs less; None where nothing was proved. Where something is wished for, costs in
    bound, gap and proof are charges: of steps, and of what is forgone. `reason` says in words what was unsupported or
    what stopped the work, where that needs saying.
    """

    status: Status
    stopped_by: StoppedBy
    plan: Plan | None = None
    lower_bound: Number | None = None
    statistics: Statistics = field(default_factory=Statistics)
    reason: str = ""

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
        """What the wishes are worth that the plan makes true; None without a plan, or where nothing is wished for."""
        return None if self.plan is None else self.plan.utility

    @property
    def forgone(self) -> tuple[SoftGoal | Constraint, ...]:
        """The soft goals and soft constraints that the plan does without."""
        return () if self.plan is None else self.plan.forgone

    @property
    def net_benefit(self) -> Number | None:
        """The utility less the cost; None without a plan, or where nothing is wished for."""
        if self.plan is None or self.plan.utility is None:
            return None
        return exact(self.plan.utility - self.plan.cost)

    @property
    def most_net_benefit(self) -> Number | None:
        """What no plan's net benefit is proved to exceed; None where there is none, or nothing was proved."""
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
        """Return one line for people: the status, what stopped the work, cost and gap."""
        words = [f"{self.status.name} ({self.status.value}); stopped by {self.stopped_by.value}"]
        if self.plan is not None:
            words += self._benefit() or [f"cost {self.plan.cost}, lower bound {self.lower_bound}"]
        return "; ".join([*words, *([self.reason] if self.reason else [])])

    def _benefit(self) -> list[str]:
        """Return what the plan gains and what it forgoes, where something is wished for."""
        if self.plan is None or self.plan.utility is None:
            return []
        most = "" if self.most_net_benefit is None else f" (at most {self.most_net_benefit})"
        gained = f"net benefit {self.net_benefit}{most}: utility {self.utility}, cost {self.plan.cost}"
        return [gained, *without(self.forgone)]

    def __bool__(self) -> bool:
        raise TypeError("a Result is neither true nor false; ask result.has_plan, or compare result.status with `is`")

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready data; `forethought solve --json` adds what the plan uses of resources."""
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
            data["forgone"] = forgone_data(self.forgone)
        return data


def refusal(reason: str) -> Result:
    """Return the answer to a problem with something that is not supported, as `reason` says."""
    return Result(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, reason=reason)


@dataclass(frozen=True, slots=True)
class Progress:
    """What is known while the work goes on: the best plan so far and the lower bound."""

    plan: Plan | None
    lower_bound: Number | None
    elapsed: float
    statistics: Statistics


def _together(parts: list[str]) -> str:
    """Return `parts` as one phrase."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def exact_sum(numbers: Iterable[Number]) -> Number:
    """Return the exact sum, an int where it is integral."""
    return exact(sum(numbers, start=0))


def exact(number: Number) -> Number:
    """Return `number`, as an int where it is integral."""
    return int(number) if number == int(number) else number


def json_number(number: Number | None) -> int | float | None:
    """Return `number` as JSON knows it: decimals become floats."""
    return float(number) if isinstance(number, Decimal) else number
