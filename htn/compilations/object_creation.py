"""Tasks whose actions create objects, planned with placeholders for these.

They are those of `planner.compilations.object_creation`.

A subtask that is such an action has what it creates as its last arguments, as steps of plans have: parameters of the
method, which the subtasks after it can speak of.

Search for tasks whose actions create objects: rounds with ever more placeholders
(`planner.compilations.creation_rounds`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from htn.model import HtnProblem
from planner.compilations.creation_rounds import Creation, CreationRounds, creations_of, rule_sizes
from planner.compilations.object_creation import (
    Guards,
    add_placeholders,
    compile_object_creation,
    created_types,
    expand_in_order,
    for_steps,
)
from planner.lightweight import replace
from planner.model import Atom, Problem, TypeHierarchy
from planner.model.domain import creates_objects
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Result, Step
from planner.validation.verdict import Verdict


def over(problem: HtnProblem, classical: Problem) -> HtnProblem:
    """Return `problem` over `classical`: its classical part, perhaps in another state, with placeholders.

    The variables that preconditions of methods quantify stand for what exists.
    """
    source = problem.classical
    if not creates_objects(source.domain) or creates_objects(classical.domain):
        return replace(problem, classical=classical)
    types = TypeHierarchy(source.domain.types)
    guards = Guards(expand_in_order(source.domain).existing, created_types(source.domain.actions.values()), types)
    methods = {
        name: replace(each, precondition=guards.condition(each.precondition))
        for name, each in problem.domain.methods.items()
    }
    existing = expand_in_order(source.domain).existing
    facts = [Atom(existing, (each.name,)) for each in source.all_objects if types.is_a(each.types, guards.types)]
    classical = replace(classical, initial=tuple(dict.fromkeys((*classical.initial, *facts))))
    domain = replace(problem.domain, classical=classical.domain, methods=methods)
    return replace(problem, domain=domain, classical=classical)


def named_by(problem: HtnProblem, steps: Iterable[Step]) -> HtnProblem:
    """Return `problem` with what creating steps among `steps` name as placeholders; as it is if nothing creates."""
    return over(problem, for_steps(problem.classical, steps))


def with_enough(problem: HtnProblem) -> HtnProblem:
    """Return `problem` with placeholders enough for relaxed reachability; as it is if nothing creates.

    See `planner.compilations.creation_rounds.add_enough_placeholders`; methods are rules, too.
    """
    if not creates_objects(problem.classical.domain):
        return problem
    types = TypeHierarchy(problem.classical.domain.types)
    scopes = [problem.parameters, *(each.parameters for each in problem.domain.methods.values())]
    counts = {
        kind: max(size, *(sum(types.is_a((kind,), each.types) for each in scope) for scope in scopes))
        for kind, size in rule_sizes(problem.classical).items()
    }
    return over(problem, add_placeholders(problem.classical, counts))


def solve_with_creation(problem: HtnProblem, options: SolveOptions, solve: Solve) -> Result:
    """Return the answer to `problem`, in which actions create objects; `solve` answers for problems without such.

    OPTIMAL and UNSOLVABLE hold for any number of created objects.
    """
    return _HtnRounds(problem, options, solve).solve_within_limits()


class _HtnRounds(CreationRounds):
    """Rounds for tasks."""

    def find_creations(self) -> list[Creation]:
        """Return what the actions create that the tasks may lead to."""
        actions = self._problem.classical.domain.actions
        return creations_of([actions[name] for name in _leads_to(self._problem)], self._problem.classical)

    def count_fewest_steps(self) -> int:
        """Return how many creating steps of one kind every plan has at least: tasks say nothing of that."""
        return 0

    def add_placeholders(self, counts: Mapping[str, int]) -> HtnProblem:
        """Return the problem with so many placeholders of each type."""
        return over(self._problem, compile_object_creation(self._problem.classical, counts).problem)

    def check_plan(self, plan: Plan) -> Verdict:
        """Return what the independent checker says about `plan`."""
        from htn.verification.validate import validate

        return validate(self._problem, plan)

    def is_proved(self, steps: int) -> bool:
        """Return whether the tasks lead to nothing that creates, or cannot be done even with deletes ignored."""
        from htn.explain.impossible_tasks import is_impossible

        return not self._creations or (steps == 1 and is_impossible(with_enough(self._problem), self._limits))


def _leads_to(problem: HtnProblem) -> list[str]:
    """Return the names of the actions that the tasks may lead to."""
    domain = problem.domain
    found = dict.fromkeys([each.task.predicate for each in problem.network.subtasks])
    open_names = list(found)
    while open_names:
        for method in domain.methods_for(open_names.pop()):
            fresh = [each.task.predicate for each in method.network.subtasks if each.task.predicate not in found]
            found.update(dict.fromkeys(fresh))
            open_names += dict.fromkeys(fresh)
    return [name for name in found if name in domain.classical.actions]
