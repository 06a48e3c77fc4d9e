"""`forethought bench uncertain`: policies for uncertain outcomes, against the optimum and against replanning.

Agents without policies plan as if outcomes were certain, follow the plan, and plan again where it fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from statistics import fmean, stdev
from typing import Annotated, Any, Final

import typer

from benchmarks.commands.options import check_choices
from benchmarks.report import format_table
from benchmarks.uncertain import uncertain_problems
from planner import Atom, Decision, Execution, Objective, Plan, Problem, Step, decide, executions, solve
from planner.compilations.determinization import determinize
from planner.model import COST, Number
from planner.policies.evaluation import Strategy
from planner.semantics.simulation import Simulation


def uncertain(
    *,
    problem: Annotated[
        list[str] | None, typer.Option("--problem", help="Kind of problem; may be repeated. By default all.")
    ] = None,
    size: Annotated[int | None, typer.Option("--size", min=1, help="Size of the problems, for all kinds.")] = None,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Number of executions of each strategy.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the executions.")] = 0,
    time_limit: Annotated[
        float, typer.Option("--time-limit", help="Time limit of each exact solution or plan, in seconds.")
    ] = 60.0,
) -> None:
    """Solve problems with uncertain outcomes exactly, and simulate executions of policies and of replanning."""
    check_choices("--problem", problem or (), CASES)
    exact, carried = [], []
    for name in problem or CASES:
        exact.append(solve_exactly(name, CASES[name], size or CASES[name].size, time_limit))
        typer.echo(f"{name}  {exact[-1].best.describe()}", err=True)
        carried += carry_out_strategies(exact[-1], runs, seed, time_limit)
    typer.echo(optima_table(exact))
    typer.echo(executions_table(carried), nl=False)


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of problem: `make` gives one of a size, of which `size` is the usual; `penalty` is that of giving up."""

    make: Callable[[int], Problem]
    size: int
    objective: Objective = Objective.SUCCESS
    penalty: int | None = None

    def options(self) -> dict[str, Any]:
        """Return the options of `decide`."""
        return {"objective": self.objective, "penalty": self.penalty}


CASES: Final = {
    "tires": Case(uncertain_problems.tires, 5),
    "river": Case(uncertain_problems.river, 6),
    "navigation": Case(uncertain_problems.navigation, 8),
    "grid": Case(uncertain_problems.grid, 8, Objective.COST, 100),
    "blocks": Case(uncertain_problems.blocks, 5),
    "gripper": Case(uncertain_problems.gripper, 5),
    "tools": Case(uncertain_problems.tools, 4, Objective.COST, 40),
    "asking": Case(uncertain_problems.asking, 3, Objective.COST, 60),
    "courier": Case(uncertain_problems.courier, 3),
    "tour": Case(uncertain_problems.tour, 5, Objective.UTILITY),
}


Key = tuple[frozenset[Atom], tuple[tuple[str, Number], ...]]


class Replanning:
    """A strategy: the first step of a cheapest plan of `certain`, whose actions stand for those that `names` gives.

    It plans once for a state, and is told nothing of chances. With `soft` goals it plans for the most utility.
    """

    def __init__(self, certain: Problem, names: Mapping[str, str], time_limit: float) -> None:
        self._certain, self._names, self._time_limit = certain, names, time_limit
        self._known: dict[Key, Step | None] = {}
        self.plans = 0

    def next_step(
        self,
        facts: frozenset[Atom],
        *,
        ran: frozenset[Atom] = frozenset(),  # noqa: ARG002 - nothing comes after anything in these problems
        spent: Mapping[str, Number] | None = None,
        unknown: frozenset[Atom] = frozenset(),  # noqa: ARG002 - nor is anything unknown
    ) -> Step | None:
        """Return the next step, or None where no plan is left to be found."""
        key = facts, tuple(sorted((spent or {}).items()))
        if key not in self._known:
            self._plan(key)
        return self._known[key]

    def _plan(self, key: Key) -> None:
        facts, spent = key
        left = {name: budget - dict(spent).get(name, 0) for name, budget in self._certain.budgets.items()}
        now = replace(self._certain, initial=tuple(sorted(facts, key=str)), budgets=left)
        self.plans += 1
        state, used = Simulation(now), dict(spent)
        for step in self._steps(now):
            here = state.facts, tuple(sorted(used.items()))
            self._known.setdefault(here, Step(self._names[step.action], step.arguments, step.cost))
            state.apply(step)
            used = {name: used.get(name, 0) + (step.cost if name == COST else 0) for name in left}
        self._known.setdefault((state.facts, tuple(sorted(used.items()))), None)

    def _steps(self, now: Problem) -> tuple[Step, ...]:
        if not now.goal.soft:
            plan = solve(now, time_limit=self._time_limit).plan
            return plan.steps if isinstance(plan, Plan) else ()
        policy = decide(now, objective=Objective.UTILITY, time_limit=self._time_limit).policy
        steps = []
        node = policy.nodes[0] if policy else None
        while policy and node and node.step:
            steps.append(node.step)
            node = policy.nodes[node.branches[0].node]
        return tuple(steps)


def replan_as_intended(problem: Problem, time_limit: float) -> Replanning:
    """Return the strategy that takes all actions to come out as intended (FF-Replan: Yoon, Fern and Givan, 2007)."""
    actions = {
        name: replace(action, risk=Decimal(0), outcomes=(), cases=()) for name, action in problem.domain.actions.items()
    }
    certain = replace(problem, domain=replace(problem.domain, actions=actions))
    return Replanning(certain, dict(zip(actions, actions, strict=True)), time_limit)


def replan_as_wished(problem: Problem, time_limit: float) -> Replanning:
    """Return the strategy that takes actions to come out as it likes, by all-outcomes determinisation (the same)."""
    compiled = determinize(problem)
    return Replanning(compiled.problem, {name: way.action for name, way in compiled.ways.items()}, time_limit)


@dataclass(frozen=True, slots=True)
class Exact:
    """The exact solutions of one problem: decisions by all states (`vi`) and by promising ones (`lao`)."""

    name: str
    case: Case
    problem: Problem
    decisions: dict[str, Decision]
    seconds: dict[str, float]

    @property
    def best(self) -> Decision:
        """The decision that is proved, if one is."""
        return next((each for each in self.decisions.values() if each.is_proved), self.decisions["lao"])


def solve_exactly(name: str, case: Case, size: int, time_limit: float) -> Exact:
    """Return both exact solutions of a problem of this size."""
    problem, decisions, seconds = case.make(size), {}, {}
    for search in ("vi", "lao"):
        started = time.perf_counter()
        decisions[search] = decide(problem, search=search, time_limit=time_limit, **case.options())
        seconds[search] = time.perf_counter() - started
    return Exact(name, case, problem, decisions, seconds)


def optima_table(found: Sequence[Exact]) -> str:
    """Return a table of the optima, and of what it took to prove them."""
    head = ["problem", "aim", "success", "cost", "utility", "states", "s", "LAO*: states", "s"]
    return format_table(head, [_optimum_row(each) for each in found])


def _optimum_row(found: Exact) -> list[str]:
    everything, promising = found.decisions["vi"], found.decisions["lao"]
    policy, best = found.best.policy, found.best
    return [
        found.name,
        found.case.objective.name.lower(),
        "—" if policy is None else f"{policy.success:.2%}",
        "—" if best.expected_cost is None else f"{best.expected_cost:.3f}",
        "—" if policy is None or best.utility_bound is None else f"{policy.utility:.3f}",
        *[
            text
            for search, decision in (("vi", everything), ("lao", promising))
            for text in (
                f"{decision.statistics.expanded:,}{'' if decision.is_proved else ' (no proof)'}",
                f"{found.seconds[search]:.2f}",
            )
        ],
    ]


WAYS: Final[dict[str, Callable[[Problem, float], Strategy]]] = {
    "replanning as intended": replan_as_intended,
    "replanning as wished": replan_as_wished,
}


@dataclass(frozen=True, slots=True)
class Carried:
    """How a strategy did on a problem in many executions; `seconds` is what they took, planning included."""

    name: str
    way: str
    runs: list[Execution]
    seconds: float
    penalty: int


def carry_out_strategies(found: Exact, runs: int, seed: int, time_limit: float) -> list[Carried]:
    """Return how the best policy and the ways of replanning do, with the same chances for all."""
    strategies: dict[str, Strategy] = {}
    if found.best.policy is not None:
        strategies["policy"] = found.best.policy
    strategies |= {way: make(found.problem, time_limit) for way, make in WAYS.items()}
    carried = []
    for way, strategy in strategies.items():
        started = time.perf_counter()
        done = [*executions(found.problem, strategy, runs, seed)]
        seconds = time.perf_counter() - started
        carried.append(Carried(found.name, way, done, seconds, found.case.penalty or 0))
    return carried


def executions_table(found: Sequence[Carried]) -> str:
    """Return a table of success rates and mean costs, penalties included, with standard errors."""
    head = ["problem", "way", "success", "mean cost", "mean utility", "ms a run"]
    return format_table(head, [_execution_row(each) for each in found])


def _execution_row(found: Carried) -> list[str]:
    costs = [float(run.cost) + found.penalty * (not run.success) for run in found.runs]
    utilities = [run.utility for run in found.runs]
    return [
        found.name,
        found.way,
        f"{fmean(run.success for run in found.runs):.1%}",
        _format_mean(costs),
        _format_mean(utilities) if any(utilities) else "—",
        f"{1000 * found.seconds / len(found.runs):.2f}",
    ]


def _format_mean(values: Sequence[float]) -> str:
    error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{fmean(values):.2f} ± {error:.2f}"
