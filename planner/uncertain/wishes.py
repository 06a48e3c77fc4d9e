"""Soft goals of a decision process: conditions that grounding must keep, and that are asked about in states.

Each wish becomes an action that requires it and provides a fact that the goal asks for; so does an action that requires
nothing. Grounding keeps what these need, and their preconditions are the wishes' conditions, ground.
"""

from __future__ import annotations

from planner.model import Action, Atom, Number, Predicate, Problem
from planner.model.formulas import conjunction, conjuncts
from planner.records import dataclass, replace
from planner.task import State, Task, bits


@dataclass(frozen=True, slots=True)
class Wish:
    """A soft goal: worth `utility` in states in which all facts of one of the `cases` hold."""

    utility: Number
    cases: tuple[State, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A problem whose actions `judges`, one for each wish and one more, provide the fact `judged`."""

    problem: Problem
    judges: tuple[str, ...]
    judged: Atom | None

    @classmethod
    def about(cls, problem: Problem) -> Asked:
        """Return `problem`, in which grounding keeps what its soft goals speak of."""
        wishes, domain = problem.goal.soft, problem.domain
        if not wishes:
            return cls(problem, (), None)
        name = "judged"
        while name in domain.predicates or any(each.startswith(name) for each in domain.actions):
            name += "-"
        judged = Atom(name)
        actions = {name: Action(name, provides=(judged,), cost=())}
        for number, wish in enumerate(wishes):
            own = f"{name}{number}"
            actions[own] = Action(own, requires=wish.condition, provides=(judged,), cost=())
        domain = replace(
            domain, actions={**domain.actions, **actions}, predicates={**domain.predicates, name: Predicate(name)}
        )
        hard = conjunction([*conjuncts(problem.goal.hard), judged])
        asked = replace(problem, domain=domain, goal=replace(problem.goal, hard=hard, soft=()))
        return cls(asked, tuple(actions), judged)

    def answered(self, task: Task) -> tuple[Task, list[tuple[State, ...]]]:
        """Return the ground task of `problem` without what was added, and the cases of the wishes."""
        cases: dict[str, list[State]] = {name: [] for name in self.judges[1:]}
        for action in task.actions:
            if action.step.action in cases:
                cases[action.step.action].append(bits(action.precondition))
        kept = tuple([action for action in task.actions if action.step.action not in self.judges])
        goal = tuple([fact for fact in task.goal if task.facts[fact] != self.judged])
        return replace(task, actions=kept, goal=goal), list(map(tuple, cases.values()))
