"""Ground problems: what planners compute of a problem before and while they search it, in atoms.

`GroundProblem` is a façade. What it returns is computed by the stages that search uses.
"""

from __future__ import annotations

import os

from planner.errors import InputError
from planner.lab.abstract_spaces import Abstraction, Pattern, project_to, refine_cartesian
from planner.lab.evaluators import Evaluator, build_evaluator
from planner.lab.landmark_graph import LandmarkGraph, LmCutLandmarks, find_cuts, find_landmark_graph
from planner.lab.pair_mutexes import PairMutexes, find_pair_mutexes
from planner.lab.relaxed_solutions import RelaxedSolution, find_relaxed_solution
from planner.lab.state_space import Fact, GroundState, StateSpace
from planner.lightweight import replace
from planner.limits import Limits, check_limits
from planner.model import Atom, Formula, Goal, Not, Problem
from planner.model.constructs import Construct, Service, refuse
from planner.problem_kinds import AnyProblem, resolve_classical
from planner.task.ground_task import Task


class GroundProblem(StateSpace):
    """The ground form of `problem`: its state space, and what can be computed of it.

    `unreachable_goal` is a part of the goal that not even the delete relaxation reaches; None if there is no such part.
    States without a mention are the initial state. Costs and estimates are in the units of the problem, exact.
    """

    def __init__(self, problem: Problem, task: Task, unreachable_goal: Formula | None = None) -> None:
        super().__init__(problem, task)
        self.unreachable_goal = unreachable_goal

    def __repr__(self) -> str:
        task = self.task
        sizes = f"{len(task.facts)} facts, {len(task.variables)} variables, {len(task.actions)} actions"
        return f"<GroundProblem {self.problem.name}: {sizes}>"

    def mutex_groups(self) -> tuple[tuple[Fact, ...], ...]:
        """Return the groups of facts, found by grounding, of which no reachable state has two; groups may overlap.

        (Fišer and Komenda, 2018.) `variables` is a choice of disjoint ones.
        """
        return tuple([self.name_facts(group) for group in self.task.mutexes if len(group) > 1])

    def h2(self, *, time_limit: float | None = None) -> PairMutexes:
        """Return what h² finds, forwards and backwards, within `time_limit` seconds."""
        check_limits(time_limit, None)
        return find_pair_mutexes(self, time_limit)

    def landmarks(self) -> LandmarkGraph:
        """Return the fact landmarks of the delete relaxation, small disjunctive ones, and their orderings."""
        return find_landmark_graph(self)

    def heuristic(self, name: str, *, unit_costs: bool = False, seed: int = 0) -> Evaluator:
        """Return the heuristic `name` of `planner.heuristics.REGISTRY` as a function of states.

        With `unit_costs`, each action costs 1. Random numbers, if the heuristic draws any, come from `seed`. Raises
        `InputError` for an unknown name.
        """
        return build_evaluator(self, name, unit_costs=unit_costs, seed=seed)

    def lmcut(self, state: GroundState | None = None) -> LmCutLandmarks:
        """Return the disjunctive action landmarks that LM-cut finds in `state`, and their sum."""
        return find_cuts(self, self.initial if state is None else state)

    def relaxed_plan(
        self, state: GroundState | None = None, *, optimal: bool = False, time_limit: float | None = None
    ) -> RelaxedSolution | None:
        """Return a plan of the delete relaxation from `state`: that of h_FF, or if `optimal`, a cheapest one (h+).

        Return None if there is none: `state` is a dead end. The search for a cheapest one may take long; after
        `time_limit` seconds, it returns the best one so far and a lower bound.
        """
        check_limits(time_limit, None)
        start = self.initial if state is None else state
        return find_relaxed_solution(self, start, optimal=optimal, time_limit=time_limit)

    def projection(self, pattern: Pattern) -> Abstraction:
        """Return the projection to `pattern`: some of `variables`, their numbers, or facts that stand for theirs.

        Raises `InputError` for a pattern with more than 100 000 abstract states.
        """
        return project_to(self, pattern)

    def cartesian(self, states: int = 100) -> Abstraction:
        """Return the Cartesian abstraction that refinement at flaws makes, with up to so many `states`.

        It has more if cutting out the goal takes more; fewer if the abstract plan is a plan of the problem.
        """
        return refine_cartesian(self, states)


def ground(
    domain: AnyProblem | str | os.PathLike[str],
    problem: str | os.PathLike[str] | None = None,
    *,
    whole: bool = False,
) -> GroundProblem:
    """Ground a problem: one that was declared or loaded, or what `planner.load` finds by these names.

    The ground problem is the one that `solve` searches: without facts that never change, and without what does not
    matter to the goal; with `whole`, the latter stays. Hard constraints on the way are compiled to facts. Actions have
    their intended outcomes.

    Raises `InputError` for mistakes, and `UnsupportedError` for hierarchical problems (ground their `classical` part)
    and for what no single ground problem expresses: objects that actions create, unknown facts, wishes, budgets and
    deadlines.
    """
    found: AnyProblem
    if isinstance(domain, str | os.PathLike):
        from planner.language.loading.load import load

        found = load(domain, problem)
    elif problem is not None:
        raise InputError("the problem comes with its domain", hint="give the names of both, or the problem alone")
    else:
        found = domain
    hint = "ground its part without tasks and methods: ground(problem.classical)"
    classical = resolve_classical(found, "lab.ground", hint)  # type: ignore[arg-type]
    refuse(classical, Service.GROUND)
    return _ground(classical, whole=whole)


def _ground(problem: Problem, *, whole: bool) -> GroundProblem:
    """Ground a resolved problem; an unreachable goal becomes one fact that never holds, and all else stays."""
    from planner.compilations.passes import compile_away
    from planner.grounding.ground import ground as ground_task
    from planner.grounding.ground import ground_adl

    task = ground_task(problem, Limits(), whole=whole)
    missing = task.unreachable_goal
    if missing is None:
        return GroundProblem(problem, task)
    compiled = compile_away(problem, Construct.CHANGES, Construct.CONSTRAINTS)
    rest = ground_adl(replace(compiled, goal=Goal()), Limits(), {}, whole=True)
    return GroundProblem(problem, _add_false_goal(rest, missing), missing)


def _add_false_goal(task: Task, missing: Formula) -> Task:
    """Return `task` with one more fact, which never holds, as its goal."""
    never: Atom | Not = Atom(str(missing))
    if isinstance(missing, Atom) or (isinstance(missing, Not) and isinstance(missing.part, Atom)):
        never = missing
    number = len(task.facts)
    return replace(task, facts=(*task.facts, never), variables=(*task.variables, (number,)), goal=(number,))
