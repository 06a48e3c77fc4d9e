"""The forms that a problem can be given to an engine in, from the richest to the plainest, and which one it takes.

How wide conditions grow when they are multiplied out, as the translators of most planners do first of all.

Problems that unified-planning has no words for, handed to engines that read PDDL as the text that they would read.

unified-planning knows no derived predicates, but the planners behind some of its engines do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, overload

from planner.errors import UnsupportedError
from planner.grounding.ground import ground
from planner.language.pddl.export import export
from planner.limits import Limits
from planner.model import And, Formula, Imply, Not, Or, Problem
from planner.model.formulas import children
from planner.plan import Step
from planner.problem_kinds import AnyProblem, OtherProblem, service_of
from planner.unified_planning.formula_writer import bottom_up
from planner.unified_planning.jobs import Answer, EngineOutcome
from planner.unified_planning.problem_features import in_words
from planner.unified_planning.problem_writer import Outgoing, to_unified_planning
from planner.unified_planning.propositional_form import propositional

if TYPE_CHECKING:
    import unified_planning.model as up

    from planner.unified_planning.problem_features import OtherOutgoing

WIDE: Final = 5_000
"""From so many conjunctions on, a condition is left to our own grounding."""


def is_wide(problem: Problem) -> bool:
    """Return whether any condition of `problem` has `WIDE` conjunctions or more in disjunctive normal form."""
    actions = problem.domain.actions.values()
    formulas = [problem.goal.hard, *[action.requires for action in actions]]
    formulas += [effect.requires for action in actions for effect in action.when]
    return any(width(formula) >= WIDE for formula in formulas)


def width(formula: Formula) -> int:
    """Return the number of conjunctions that `formula` is multiplied out to, at most."""
    sizes: list[tuple[int, int]] = []
    for part, _ in bottom_up(formula, {}, lambda _: None):
        count = len(children(part))
        parts = sizes[len(sizes) - count :]
        sizes[len(sizes) - count :] = [_size(part, parts)]
    return sizes[0][0]


def _size(formula: Formula, parts: list[tuple[int, int]]) -> tuple[int, int]:
    """Return how many conjunctions `formula` and its negation make, from what its parts make."""
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
        "INT_NUMBERS_IN_ACTIONS_COST",
        "PLAN_LENGTH",
        "REAL_NUMBERS_IN_ACTIONS_COST",
        "STATIC_FLUENTS_IN_ACTIONS_COST",
    }
)
"""Features that an engine may do without: it finds plans all the same, whatever they cost."""

MODEST: Final = frozenset({"UNDEFINED_INITIAL_NUMERIC"})
"""Features that engines need not name: a cost without a value is that of an instance that is never applicable."""

OVERSTATED: Final = {
    "aries": frozenset({"STATIC_FLUENTS_IN_ACTIONS_COST"}),
    "fast-downward-opt": frozenset({"EXISTENTIAL_CONDITIONS", "UNIVERSAL_CONDITIONS"}),
}
"""Features that an engine says it takes, and does not: Aries ends with an internal error; Fast Downward's translator
makes derived predicates of quantifiers, and its heuristic refuses those."""


Read: TypeAlias = Callable[[Any], tuple[tuple[Step, ...], Any]]


@dataclass(frozen=True, slots=True)
class Form:
    """A problem as an engine takes it; `sees_costs` says that it is told the costs.

    `read` maps its plans back: to steps, and the tasks that they came of, if any.
    """

    problem: up.Problem
    read: Read
    sees_costs: bool


class GoalUnreachableError(Exception):
    """Grounding proved that the goal cannot be reached, by the part of it that is given."""

    def __init__(self, part: Formula) -> None:
        super().__init__(part)
        self.part = part


def form_for(problem: AnyProblem, name: str, engine: Any, limits: Limits) -> Form:
    """Return `problem` in the richest form that `engine`, called `name`, takes.

    Raises `UnsupportedError` where it takes none, `GoalUnreachableError` where grounding proves that there is no plan,
    and `LimitReached` when a limit is reached.
    """
    lacks: set[str] = set()
    conditional = "CONDITIONAL_EFFECTS" in engine.supported_kind().features
    if isinstance(problem, Problem):
        forms = _forms(problem, conditional=conditional, limits=limits)
    else:
        forms = _others(problem, limits)
    for target, read in forms:
        missing = set(target.kind.features) - offered(name, engine)
        if missing <= METRIC:
            if missing:
                target.clear_quality_metrics()
            return Form(target, read, sees_costs=not missing)
        lacks = missing - METRIC
    raise UnsupportedError(f"{in_words(lacks)}, by {name}")


def offered(name: str, engine: Any) -> frozenset[str]:
    """Return the features that `engine`, called `name`, really takes."""
    return frozenset(engine.supported_kind().features) - OVERSTATED.get(name, frozenset()) | MODEST


def _forms(problem: Problem, *, conditional: bool, limits: Limits) -> Iterator[tuple[up.Problem, Read]]:
    """Yield the lifted problem where there are words for it, then the ground one, both with their ways back."""
    lifted = _lifted(problem, limits)
    if lifted is not None:
        yield lifted.problem, lambda plan: (lifted.steps(plan), None)
    task = ground(problem, limits)
    if task.unreachable_goal is not None:
        raise GoalUnreachableError(task.unreachable_goal)
    plain = propositional(task, conditional=conditional)
    target = to_unified_planning(plain.problem)
    yield target.problem, lambda plan: (plain.steps(target.steps(plan)), None)


def _others(problem: OtherProblem, limits: Limits) -> Iterator[tuple[up.Problem, Read]]:
    """Yield a problem of another kind in the same two forms."""
    lifted = _lifted(problem, limits)
    if lifted is not None:
        yield lifted.problem, _reading(lifted)
    plain = service_of(problem).to_unified_planning(problem, limits=limits, is_ground=True)
    yield plain.problem, _reading(plain)


def _reading(outgoing: OtherOutgoing) -> Read:
    def read(plan: Any) -> tuple[tuple[Step, ...], Any]:
        found = outgoing.plan(plan)
        return found.steps, found.tree

    return read


@overload
def _lifted(problem: Problem, limits: Limits) -> Outgoing | None: ...


@overload
def _lifted(problem: OtherProblem, limits: Limits) -> OtherOutgoing | None: ...


def _lifted(problem: AnyProblem, limits: Limits) -> Outgoing | OtherOutgoing | None:
    """Return `problem` as it is written; None where that has no words, or would be multiplied out to very many."""
    if is_wide(problem if isinstance(problem, Problem) else problem.classical):
        return None
    try:
        return to_unified_planning(problem, limits=limits)
    except UnsupportedError:
        return None


TAKE_AXIOMS: Final = frozenset({"fast-downward", "symk", "symk-opt"})
"""Engines whose planners take derived predicates, with the search that the engine asks of them."""


def solve_text(problem: Problem, engine: Any, limits: Limits) -> Answer:
    """Return what `engine` makes of the PDDL text of `problem`, written into the working directory.

    Raises `UnsupportedError` for what PDDL cannot say.
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
