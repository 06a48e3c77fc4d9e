"""Constraints of decision processes: how far they are kept is part of the state.

A hard constraint that is broken leaves nothing to be done, and no goal to be reached; a soft one is a wish. What has
happened is looked at in the state that a step leaves (`planner.normalise.observers`), so that it does not matter in
which way the step comes out. A step of which nothing comes, as its risk says, has not happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.model import TRUE, Action, Atom, Goal, Not, Problem, When
from planner.model.formulas import conjunction, conjuncts
from planner.normalise.constraints import MARK, is_monitor, without_constraints
from planner.plan import Step
from planner.records import dataclass, field, replace
from planner.validate import Simulation


def with_marks(problem: Problem, names: Mapping[str, str]) -> Problem:
    """Return `problem` in plain ADL without constraints: facts mark how far they are kept, and the goal asks for that.

    Actions in `names` go by another name where constraints speak of steps.
    """
    if not problem.constraints:
        return problem
    marked = _marked(problem, names)
    own = len(problem.goal.soft)
    settled = [*zip(problem.constraints, marked.goal.soft[own:], strict=True)]
    hard = [wish.condition for each, wish in settled if each.utility is None]
    soft = [wish for each, wish in settled if each.utility is not None]
    broken = [Atom(f"{MARK}{place}-broken") for place, each in enumerate(problem.constraints) if each.utility is None]
    whole = [Not(fact) for fact in broken if fact.predicate in marked.domain.predicates]
    actions = {
        name: replace(action, requires=conjunction([*conjuncts(action.requires), *whole]))
        for name, action in marked.domain.actions.items()
    }
    goal = Goal(conjunction([*conjuncts(marked.goal.hard), *hard]), (*marked.goal.soft[:own], *soft))
    return replace(marked, domain=replace(marked.domain, actions=actions), goal=goal)


def _marked(problem: Problem, names: Mapping[str, str]) -> Problem:
    """Return `problem` with all its constraints as soft goals, after its own."""
    soft = tuple([replace(each, utility=each.utility or 1) for each in problem.constraints])
    return without_constraints(replace(problem, constraints=soft), names=names, plainly=True)


@dataclass(frozen=True, slots=True)
class Kept:
    """How far the constraints of a problem are kept after some steps: `facts` that a policy looks at.

    In the `watcher`, steps do nothing but change these.
    """

    facts: frozenset[Atom]
    watcher: Simulation = field(repr=False, compare=False)

    @classmethod
    def of(cls, problem: Problem) -> Kept:
        """Return how it is in the initial state of `problem`."""
        marked = _marked(replace(problem, unknown=(), likely={}), {})
        actions = {name: _watching(action) for name, action in marked.domain.actions.items()}
        watcher = Simulation(replace(marked, domain=replace(marked.domain, actions=actions)))
        return cls(frozenset(filter(is_monitor, watcher.facts)), watcher)

    def after(self, facts: Iterable[Atom], step: Step) -> Kept:
        """Return how it is after `step`, of which something came, was taken where exactly `facts` held."""
        state = self.watcher.copy()
        held, now = state.facts, self.facts.union(facts)
        state.world.update(held - now, now - held)
        state.apply(step)
        return Kept(frozenset(filter(is_monitor, state.facts)), self.watcher)


def _watching(action: Action) -> Action:
    """Return `action` with its effects on marks alone."""
    when = [When(each.requires, tuple(filter(is_monitor, each.provides)), ()) for each in action.when]
    provides = tuple(filter(is_monitor, action.provides))
    kept = tuple([each for each in when if each.provides])
    return replace(action, requires=TRUE, provides=provides, modifies=(), when=kept, outcomes=(), cases=(), after=())
