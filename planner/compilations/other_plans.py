"""Other plans than known ones: the problem whose plans take all the steps of none of these.

A plan takes all the steps of a known one if it takes each as often at least, in any order and at any times. Solving a
problem, forbidding the plan and solving again gives one plan after another (Katz and Sohrabi, 2020, "Reshaping Diverse
Planning"), without those that only have steps to spare (Katz, Sohrabi and Udrea, 2022, "Who Needs These Operators
Anyway: Top Quality Planning with Operator Subset Criteria"). There are finitely many, as none contains another one.

    marks   facts count how often each step of a known plan was done; in time, numbers do, which steps at once add to
    goal    a step of each known plan was done less often, or a soft goal is reached that the plan forgoes

Actions keep their names and arguments, so that the compilation fits all kinds of problems: a plan of the compiled
problem is one of the declared problem, at the same charge. Objects that steps create have no names yet, so all of them
count as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from planner.compilations.lifted_regression import Objects, conjoin, disjoin
from planner.compilations.trajectory_constraints import Counter as CountingFacts
from planner.lightweight import Any, Final, dataclass, replace
from planner.model.actions import Action, NumericEffect, When
from planner.model.constructs import Construct, has
from planner.model.domain import Function, Predicate
from planner.model.formulas import (
    FALSE,
    TRUE,
    Atom,
    Comparison,
    Equals,
    Formula,
    Not,
    Term,
    atoms_in,
    conjuncts,
    negate,
    with_conjuncts,
)
from planner.model.problem import Goal, Problem, SoftGoal, is_temporal, seal_like
from planner.plan import Plan, Step
from planner.problem_kinds import classical_of, with_classical

MARK: Final = "@taken "
"""Prefix of the names of marks; the step, and how often it is done, follow."""
CREATED: Final = "_"
"""Stands for an object that a step creates, in place of its name."""


def count_steps(problem: Problem, steps: Sequence[Step]) -> Counter[Atom]:
    """Return how often each step is taken, with its given arguments; created objects have no names there."""
    known = {each.name for each in problem.all_objects}
    actions = problem.domain.actions
    given = [(step.action, actions[step.action].declared_arguments(step.arguments)) for step in steps]
    return Counter([Atom(name, tuple([arg if arg in known else CREATED for arg in args])) for name, args in given])


def forbid_plans(problem: Any, plans: Sequence[Plan]) -> Any:
    """Return the problem whose plans are those of `problem`, of any kind, that take all the steps of none of `plans`.

    A plan that takes them, and reaches a soft goal that the known plan forgoes, stays, too.
    """
    return with_classical(problem, _forbid(classical_of(problem), plans))


@dataclass(frozen=True, slots=True)
class _Mark:
    """Counts up to `times` how often `step` is done, in facts, or in a number.

    Where once is enough, and the step is known by its arguments, each step of the action leaves a fact with these, so
    that no effect has a condition.
    """

    step: Atom
    times: int
    is_number: bool

    @property
    def name(self) -> str:
        return f"{MARK}{self.step} {self.times}"

    @property
    def is_plain(self) -> bool:
        return self.times == 1 and CREATED not in self.step.args

    @property
    def less(self) -> Formula:
        """The condition that the step was done less often."""
        if self.is_plain:
            return Not(self._leave(self.step.args))
        return Comparison(Atom(self.name), "<", self.times) if self.is_number else Not(self._facts.full)

    def _leave(self, arguments: tuple[Term, ...]) -> Atom:
        return Atom(f"{MARK}{self.step.predicate}", arguments)

    @property
    def _facts(self) -> CountingFacts:
        return CountingFacts(self.name, self.times)

    def effects(self, action: Action, objects: Objects) -> list[When]:
        """Return what a step of `action` changes in the count."""
        if action.name != self.step.predicate:
            return []
        if self.is_plain:
            return [When(TRUE, (self._leave(tuple([each.name for each in action.parameters])),))]
        covered = conjoin([*self._cover(action, objects)])
        if covered == FALSE:
            return []
        if self.is_number:
            return [When(covered, numbers=(NumericEffect(Atom(self.name), "+=", 1),))]
        return self._facts.effects(covered)

    def _cover(self, action: Action, objects: Objects) -> Iterator[Formula]:
        """Yield the conditions on its parameters under which a step of `action` is this one."""
        for parameter, arg in zip(action.parameters, self.step.args, strict=True):
            if arg != CREATED:
                yield Equals(parameter.name, arg)
            else:
                yield from [negate(Equals(parameter.name, name)) for name in objects.of(parameter.types)]


def _forbid(problem: Problem, plans: Sequence[Plan]) -> Problem:
    in_time = is_temporal(problem) or has(problem, Construct.DEADLINE)
    marks: dict[tuple[Atom, int], _Mark] = {}
    parts: list[Formula] = []
    for plan in plans:
        counts = count_steps(problem, plan.steps)
        own = [
            marks.setdefault((step, times), _Mark(step, times, in_time and times > 1)) for step, times in counts.items()
        ]
        reached = [wish.condition for wish in plan.forgone if isinstance(wish, SoftGoal)]
        parts.append(disjoin([*[each.less for each in own], *reached]))
    return _add_marks(problem, [*marks.values()], conjoin(parts))


def _add_marks(problem: Problem, marks: Sequence[_Mark], goal: Formula) -> Problem:
    domain, objects = problem.domain, Objects(problem)
    effects = {
        action.name: [*dict.fromkeys(effect for mark in marks for effect in mark.effects(action, objects))]
        for action in domain.actions.values()
    }
    facts = {
        fact: domain.actions[name].parameters if fact.args else ()
        for name, found in effects.items()
        for each in found
        for part in each.provides
        for fact in atoms_in(part)
    }
    functions = {mark.name: Function(mark.name) for mark in marks if mark.is_number}
    changed = replace(
        domain,
        actions={name: _extend(action, effects[name]) for name, action in domain.actions.items()},
        predicates={
            **domain.predicates,
            **{each.predicate: Predicate(each.predicate, kinds) for each, kinds in facts.items()},
        },
        functions={**domain.functions, **functions},
    )
    hard = with_conjuncts(problem.goal.hard, *conjuncts(goal))
    values = {**problem.values, **{Atom(name): 0 for name in functions}}
    return seal_like(replace(problem, domain=changed, goal=Goal(hard, problem.goal.soft), values=values), problem)


def _extend(action: Action, effects: Sequence[When]) -> Action:
    """Return `action` with more effects; those without a condition stand beside its own."""
    always = [each for each in effects if each.requires == TRUE]
    return replace(
        action,
        provides=(*action.provides, *[literal for each in always for literal in each.provides]),
        numbers=(*action.numbers, *[number for each in always for number in each.numbers]),
        when=(*action.when, *[each for each in effects if each.requires != TRUE]),
    )
