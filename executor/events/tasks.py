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
"""The dropped goal of a run that gives up its tasks."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The tasks of a run: `problem` states them, `tree` is their present decomposition.

    `steps` has the ids of the numbered steps in `tree`.
    """

    problem: HtnProblem
    tree: Decomposition
    steps: tuple[str, ...]

    @classmethod
    def of(
        cls, plan: ActionPlan, problem: Problem, methods: HtnDomain | None, expanded: Problem | None = None
    ) -> Hierarchy | None:
        """Read the tasks of `plan`, which solves `problem`; return None for a plan that is carried out without tasks.

        `expanded` is the problem with placeholders for created objects, if there are any. Raises `PlanError` without
        tasks or methods, or for an invalid decomposition.
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

    def with_problem(self, problem: Problem) -> Hierarchy:
        """Return the tasks with `problem` as their classical part, which has other objects."""
        from htn.compilations.htn_reductions import replace_classical

        return replace(self, problem=replace_classical(self.problem, problem))

    def with_decomposition(self, data: Mapping[str, Any]) -> Hierarchy:
        """Return the tasks with another decomposition, in the form of `to_dict`."""
        from htn.language.plan_text import tree_from_data

        return replace(self, tree=tree_from_data(data, Location("journal")), steps=tuple(data["steps"]))

    def list_tasks(self, id_: str) -> list[str]:
        """Return the tasks that the step `id_` is for, as texts, the innermost first."""
        nodes = self.tree.nodes
        above = {child: place for place, node in enumerate(nodes) for child in node.children}
        leaves = (place for place, node in enumerate(nodes) if node.step is not None and self.steps[node.step] == id_)
        place, found = next(leaves, None), list[str]()
        while place in above:
            place = above[place]
            found.append(str(nodes[place].task))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the decomposition as JSON-ready data, with the ids of its steps."""
        return {**self.tree.to_dict(), "steps": list(self.steps)}
