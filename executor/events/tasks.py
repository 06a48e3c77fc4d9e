"""Keep the tasks of a hierarchical run, and their decomposition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from executor.plans.action_plan import ActionPlan
from planner.errors import Location, PlanError
from planner.language.declare.fields import CodePlace
from planner.model import Problem

if TYPE_CHECKING:
    from htn.model import Decomposition, HtnDomain, HtnProblem


TASKS: Final = "the tasks"
"""What a run drops that goes on to its goal without them."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The tasks of a run: `problem` states them, `tree` is what they are decomposed into now.

    The steps of `tree` are numbered as their ids are in `steps`.
    """

    problem: HtnProblem
    tree: Decomposition
    steps: tuple[str, ...]

    @classmethod
    def of(
        cls, plan: ActionPlan, problem: Problem, methods: HtnDomain | None, expanded: Problem | None = None
    ) -> Hierarchy | None:
        """Return the tasks of `plan`, which solves `problem`; None for one that is carried out without them.

        `expanded` is the problem with placeholders for what steps create, where some do.
        Raises `PlanError` where there are no tasks or no methods for them, or the decomposition is none.
        """
        from htn.compilations.htn_reductions import replace_classical
        from htn.language.documents import with_tasks
        from htn.language.plan_text import tree_from_data

        if plan.model != "hierarchical" or plan.decomposition is None:
            return None
        name, otherwise = f"plan {plan.id}", "or run it in another execution model, without tasks"
        if methods is None:
            hint = f"write World(methods), with what Methods(domain) gave, {otherwise}"
            raise PlanError(f"{name} came of tasks, and the domain of the world has no methods", hint=hint)
        if plan.tasks is None:
            hint = f"say tasks: [name(arg, …)], {otherwise}"
            raise PlanError(f"{name} has a decomposition, and does not say of which tasks", hint=hint)
        stated = with_tasks(problem, plan.tasks, methods, CodePlace(name).within("tasks"), name)
        stated = replace_classical(stated, expanded or problem)
        return cls(stated, tree_from_data(plan.decomposition, Location(name)), tuple([each.id for each in plan.steps]))

    def with_decomposition(self, data: Mapping[str, Any]) -> Hierarchy:
        """Return the tasks with another decomposition, as `to_dict` gives it."""
        from htn.language.plan_text import tree_from_data

        return replace(self, tree=tree_from_data(data, Location("journal")), steps=tuple(data["steps"]))

    def to_dict(self) -> dict[str, Any]:
        """Return the decomposition as JSON-ready data, with the ids of its steps."""
        return {**self.tree.to_dict(), "steps": list(self.steps)}
