"""The forms in which an engine may take a problem, from the richest to the plainest, and the one that it takes.

An engine gets the lifted problem if it takes all features of it, else the ground problem, without parameters. Problems
with derived predicates, which unified-planning cannot express, go as PDDL text to engines that read PDDL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from planner.errors import UnsupportedError
from planner.grounding.ground import ground
from planner.language.pddl.export import export
from planner.language.pddl.timed_form import asks_for_time
from planner.limits import Limits
from planner.model import And, Formula, Imply, Not, Or, Problem
from planner.model.formulas import children
from planner.model.problem import is_numeric
from planner.plan import Step, StepTime
from planner.problem_kinds import AnyProblem, classical_of, service_of
from planner.unified_planning.conversion import to_unified_planning
from planner.unified_planning.formula_writer import walk_bottom_up
from planner.unified_planning.jobs import Answer, EngineOutcome
from planner.unified_planning.problem_features import describe_features
from planner.unified_planning.problem_writer import Outgoing, write_problem
from planner.unified_planning.propositional_form import to_propositional
from planner.unified_planning.timed_writer import TimedOutgoing, write_timed_problem

if TYPE_CHECKING:
    import unified_planning.model as up

    from planner.unified_planning.problem_features import OtherOutgoing

WIDE: Final = 5_000
"""A condition with this many conjunctions in disjunctive normal form is left to our own grounding."""


def is_wide(problem: Problem) -> bool:
    """Return whether a condition of `problem` has `WIDE` or more conjunctions in disjunctive normal form."""
    actions = problem.domain.actions.values()
    formulas = [problem.goal.hard, *[action.requires for action in actions]]
    formulas += [effect.requires for action in actions for effect in action.when]
    return any(width(formula) >= WIDE for formula in formulas)


def width(formula: Formula) -> int:
    """Return an upper bound on the conjunctions of `formula` in disjunctive normal form."""
    sizes: list[tuple[int, int]] = []
    for part, _ in walk_bottom_up(formula, {}, lambda _: None):
        count = len(children(part))
        parts = sizes[len(sizes) - count :]
        sizes[len(sizes) - count :] = [_size(part, parts)]
    return sizes[0][0]


def _size(formula: Formula, parts: list[tuple[int, int]]) -> tuple[int, int]:
    """Return the numbers of conjunctions of `formula` and of its negation, given those of its parts."""
    held, denied = [size for size, _ in parts], [size for _, size in parts]
    match formula:
        case Not():
            return denied[0], held[0]
        case And():
            return math.prod(held), sum(denied)
        case Or():
            return sum(held), math.prod(denied)
        case Imply():
            return denied[0] + held[1], held[0] * denied[1]
        case _:
            return parts[0] if parts else (1, 1)


METRIC: Final = frozenset(
    {
        "ACTIONS_COST",
        "FINAL_VALUE",
        "FLUENTS_IN_ACTIONS_COST",
        "INT_NUMBERS_IN_ACTIONS_COST",
        "MAKESPAN",
        "PLAN_LENGTH",
        "REAL_NUMBERS_IN_ACTIONS_COST",
        "STATIC_FLUENTS_IN_ACTIONS_COST",
    }
)
"""Features that an engine need not take: without them, it finds plans without regard to their cost."""

MODEST: Final = frozenset({"UNDEFINED_INITIAL_NUMERIC"})
"""Features that engines need not name where numbers are costs: only instances that are never applicable have costs
without a value."""

OVERSTATED: Final = {
    "aries": frozenset({"STATIC_FLUENTS_IN_ACTIONS_COST"}),
    "fast-downward-opt": frozenset({"EXISTENTIAL_CONDITIONS", "UNIVERSAL_CONDITIONS"}),
}
"""Features that an engine claims to take, but does not: Aries ends with an internal error; Fast Downward's translator
makes derived predicates of quantifiers, and its heuristic refuses those."""


@dataclass(frozen=True, slots=True)
class Found:
    """The steps of a plan, the decomposition `tree` of a hierarchical one, and the `times` of one in time."""

    steps: tuple[Step, ...]
    tree: Any = None
    times: tuple[StepTime, ...] = ()


Read: TypeAlias = Callable[[Any], Found]


@dataclass(frozen=True, slots=True)
class Form:
    """A problem as an engine takes it; `sees_costs` says that it includes the costs.

    `read` maps plans back.
    """

    problem: up.Problem
    read: Read
    sees_costs: bool


class GoalUnreachableError(Exception):
    """Grounding proved that a `part` of the goal cannot be reached."""

    def __init__(self, part: Formula) -> None:
        super().__init__(part)
        self.part = part


def choose_form(problem: AnyProblem, name: str, engine: Any, limits: Limits) -> Form:
    """Return `problem` in the richest form that `engine`, called `name`, takes.

    Raises `UnsupportedError` where it takes none, `GoalUnreachableError` where grounding proves that there is no plan,
    and `LimitReached` when a limit is reached.
    """
    lacks: set[str] = set()
    conditional = "CONDITIONAL_EFFECTS" in engine.supported_kind().features
    taken = features_taken(name, engine, numeric=is_numeric(classical_of(problem)))
    for target, read in _forms(problem, conditional=conditional, limits=limits):
        missing = set(target.kind.features) - taken
        if missing <= METRIC:
            if missing:
                target.clear_quality_metrics()
            return Form(target, read, sees_costs=not missing)
        lacks = missing - METRIC
    raise UnsupportedError(f"{describe_features(lacks)}, by {name}")


def features_taken(name: str, engine: Any, *, numeric: bool) -> frozenset[str]:
    """Return the features that `engine`, called `name`, takes in fact, in problems that are `numeric` or not."""
    taken = frozenset(engine.supported_kind().features) - OVERSTATED.get(name, frozenset())
    return taken if numeric else taken | MODEST


def _forms(problem: AnyProblem, *, conditional: bool, limits: Limits) -> Iterator[tuple[up.Problem, Read]]:
    """Yield the lifted problem, if unified-planning can express it, then the ground one, with their ways back.

    A problem in time or with numbers is yielded lifted only; a classical one with numbers with the bounds of its
    functions as types, and as conditions.
    """
    if isinstance(problem, Problem) and asks_for_time(problem):
        timed = write_timed_problem(problem, None, limits)
        yield timed.problem, _reader_of(timed)
        return
    if isinstance(problem, Problem) and is_numeric(problem):
        for typed_bounds in (True, False):
            outgoing = write_problem(problem, None, limits, typed_bounds=typed_bounds)
            yield outgoing.problem, _reader_of(outgoing)
        return
    if is_numeric(classical_of(problem)):
        other = to_unified_planning(problem, limits=limits)
        yield other.problem, _reader_of(other)
        return
    lifted = _lift(problem, limits)
    if lifted is not None:
        yield lifted.problem, _reader_of(lifted)
    if not isinstance(problem, Problem):
        flat: OtherOutgoing = service_of(problem).to_unified_planning(problem, limits=limits, is_ground=True)
        yield flat.problem, _reader_of(flat)
        return
    task = ground(problem, limits)
    if task.unreachable_goal is not None:
        raise GoalUnreachableError(task.unreachable_goal)
    plain = to_propositional(task, conditional=conditional)
    target = write_problem(plain.problem, None, Limits())
    yield target.problem, lambda plan: Found(plain.steps(target.steps(plan)))


def _lift(problem: AnyProblem, limits: Limits) -> Outgoing | OtherOutgoing | None:
    """Return `problem` as it is declared; None where it is too wide or unified-planning cannot express it."""
    if is_wide(classical_of(problem)):
        return None
    try:
        return to_unified_planning(problem, limits=limits)
    except UnsupportedError:
        return None


def _reader_of(outgoing: Outgoing | OtherOutgoing) -> Read:
    """Return the function that maps plans for `outgoing` back."""
    if isinstance(outgoing, Outgoing) and not isinstance(outgoing, TimedOutgoing):
        return lambda plan: Found(outgoing.steps(plan))

    def read(plan: Any) -> Found:
        found = outgoing.plan(plan)
        return Found(found.steps, found.tree, found.times)

    return read


TAKE_AXIOMS: Final = frozenset({"fast-downward", "symk", "symk-opt"})
"""Engines whose planners take derived predicates, in the search that the engine starts."""


def solve_text(problem: Problem, engine: Any, limits: Limits) -> Answer:
    """Write the PDDL text of `problem` into the working directory, have `engine` solve it, and return the answer.

    Raises `UnsupportedError` for constructs that PDDL cannot express.
    """
    from unified_planning.engines.pddl_planner import run_command

    exported = export(problem, "adl", limits=limits)
    Path("domain.pddl").write_text(exported.domain, encoding="utf-8")
    Path("problem.pddl").write_text(exported.problem, encoding="utf-8")
    command = engine._get_cmd("domain.pddl", "problem.pddl", "plan")  # noqa: SLF001 - what engines of this kind define
    late, printed, code = run_command(engine, command, timeout=limits.remaining)
    steps: tuple[Step, ...] | None = None
    if Path("plan").exists():
        steps = exported.read_plan(Path("plan").read_text(encoding="utf-8")).steps
    judged = SimpleNamespace(quality_metrics=[None])
    status = engine._result_status(judged, steps, code).name  # noqa: SLF001 - as above
    return Answer(
        EngineOutcome.FINISHED,
        status="TIMEOUT" if late and code else status,
        steps=steps,
        sees_costs=True,
        reason="".join(printed[1]).strip(),
    )
