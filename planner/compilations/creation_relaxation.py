"""The relaxation of object creation: all objects of a pool are one, and nothing that is true becomes false.

Renaming the objects of a plan by their pools (see `placeholder_pools`) maps the plan to a plan of this relaxation: no
condition is lost, since the relaxation drops conditions that a fact about a created object is false, or that two of
them differ, and what depends on such conditions. Objects of the same pool become one, and so do equal steps. So the
relaxation bounds the cost of all plans from below, for any number of created objects.

Bounds grow with the number of objects. LM-cut charges each landmark to its actions. Leave out the landmarks that charge
the steps which create the objects of one pool: the others bound the cost of all other steps. A plan that creates more
than k objects of the pool costs at least this bound and that of k + 1 creating steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from planner.compilations.object_creation import created_types
from planner.compilations.placeholder_pools import (
    PooledProblem,
    Pools,
    kind_of_pool,
)
from planner.heuristics.lmcut import Evaluation, Landmark, LmCut
from planner.heuristics.relaxation import relax
from planner.lightweight import dataclass, replace
from planner.limits import Limits
from planner.model.actions import positive_atoms
from planner.model.domain import DomainModel, TypeHierarchy
from planner.model.formulas import (
    FALSE,
    Atom,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Number,
    Variable,
    children,
    with_children,
)
from planner.model.problem import Goal, Problem
from planner.model.unknown_facts import instances_of
from planner.plan import Step, divide_exactly
from planner.task.ground_task import INFINITY, Allowance, Task, bits


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The relaxation of a problem with `pools`, as a ground `task` without costs for what is forgone."""

    problem: Problem
    pools: Pools
    pooled: PooledProblem
    task: Task
    ground_pooled: Callable[[Limits], Task] | None
    """Grounds the problem of `pooled` once, if nothing but deletes tells it from the relaxation."""

    @property
    def is_unreachable(self) -> bool:
        """Whether no plan reaches the goal, however many objects it creates; not where facts are unknown."""
        return self.task.unreachable_goal is not None and not self.problem.unknown

    def bind(self, step: Step) -> dict[str, str]:
        """Return the arguments of `step` by the names of its parameters, and of the objects that it creates."""
        parameters = self.problem.domain.actions[step.action].step_parameters
        return dict(zip([each.name for each in parameters], step.arguments, strict=True))

    def created_pools(self, step: Step) -> list[str]:
        """Return the pools of the objects that `step` creates."""
        action = self.problem.domain.actions.get(step.action)
        created = () if action is None else action.created_arguments(step.arguments)
        return [self.pooled.pool_of[name] for name in created]


def ground_merged(problem: Problem, pools: Pools, limits: Limits) -> Relaxation | None:
    """Return the relaxation of `problem` with `pools`; None if it is too large. Raises `LimitReached`."""
    from planner.grounding.ground import ground_relaxation

    assumed = [fact for pattern in problem.unknown for fact in instances_of(problem, pattern)]
    initial = tuple(dict.fromkeys([*problem.initial, *assumed]))
    hard = Goal(problem.goal.hard)
    bare = replace(problem, goal=hard, constraints=(), budgets={}, unknown=(), initial=initial)
    pooled = pools.compile(bare, {})
    if pooled is None:
        return None
    relaxed = _drop_negations(pooled.problem, created_types(problem.domain.actions.values()))
    task, ground_pooled = ground_relaxation(relaxed, limits)
    is_same = replace(bare, budgets=problem.budgets) == problem and relaxed == pooled.problem
    return Relaxation(problem, pools, pooled, task, ground_pooled if is_same else None)


def _drop_negations(problem: Problem, created: Iterable[str]) -> Problem:
    """Return `problem` without conditions that facts about objects of types in `created` are false, or that two differ.

    Conditions that derived facts or facts of conditional effects are false are dropped, too.
    """
    domain = problem.domain
    dropper = _NegationDropper(domain, created)
    actions = {
        name: replace(
            action,
            requires=dropper.drop(action.requires, action.parameters),
            when=tuple(
                [
                    replace(each, requires=dropper.drop(each.requires, (*action.parameters, *each.variables)))
                    for each in action.when
                ]
            ),
        )
        for name, action in domain.actions.items()
    }
    axioms = tuple([replace(each, condition=dropper.drop(each.condition, each.parameters)) for each in domain.axioms])
    goal = Goal(dropper.drop(problem.goal.hard, ()))
    return replace(problem, domain=replace(domain, actions=actions, axioms=axioms), goal=goal)


class _NegationDropper:
    """Weakens formulas over `domain` to ones that stay true when objects of types in `created` become one.

    What a conditional effect adds is not false either: in the relaxation, effects come about that do not in a plan, and
    adding wins over deleting.
    """

    def __init__(self, domain: DomainModel, created: Iterable[str]) -> None:
        self._types = TypeHierarchy(domain.types)
        self._created = list(created)
        when = [effect for action in domain.actions.values() for effect in action.when]
        self._dropped = domain.derived.union(
            [atom.predicate for each in when for atom in positive_atoms(each.provides)]
        )

    def drop(self, formula: Formula, variables: Iterable[Variable]) -> Formula:
        """Return `formula` over `variables`, weakened."""
        return self._drop(formula, {each.name: self._may_be_created(each) for each in variables}, positive=True)

    def _may_be_created(self, variable: Variable) -> bool:
        return self._types.is_a(self._created, variable.types)

    def _drop(self, formula: Formula, scope: Mapping[str, bool], *, positive: bool) -> Formula:
        match formula:
            case Not(part):
                return Not(self._drop(part, scope, positive=not positive))
            case Imply(premise, conclusion):
                return Imply(
                    self._drop(premise, scope, positive=not positive), self._drop(conclusion, scope, positive=positive)
                )
            case Atom(predicate, args) if not positive and (
                predicate in self._dropped or any(scope.get(arg, False) for arg in args)
            ):
                return FALSE
            case Equals(left, right) if not positive and scope.get(left, False) and scope.get(right, False):
                return FALSE
            case Exists(variables, _) | Forall(variables, _):
                scope = {**scope, **{each.name: self._may_be_created(each) for each in variables}}
        parts = [self._drop(part, scope, positive=positive) for part in children(formula)]
        return with_children(formula, tuple(parts)) if parts else formula


@dataclass(frozen=True, slots=True)
class CreationBounds:
    """Lower bounds on the costs of plans.

    `total` is that of all plans. `without` maps pools to a bound on the cost of the steps that do not create objects of
    the pool; for all other pools it is `total`.
    """

    total: Number
    without: Mapping[str, Number]

    def without_kind(self, kind: str) -> Number:
        """Return a lower bound on the cost of all steps but those which create the objects of a pool of type `kind`."""
        return min([self.total, *[bound for pool, bound in self.without.items() if kind_of_pool(pool) == kind]])


def count_copies(relaxation: Relaxation, limits: Limits) -> int:
    """Return how many objects of a pool a plan may need, since the goal needs facts of which one has one at a time.

    This guides search, and proves nothing. Raises `LimitReached`.
    """
    from planner.grounding.ground import ground

    about: dict[tuple[str, str], set[Atom]] = {}
    for fact in _find_needed_facts(relaxation.task):
        if isinstance(fact, Atom):
            for name in relaxation.pooled.pool_of.keys() & set(fact.args):
                about.setdefault((fact.predicate, name), set()).add(fact)
    if all(len(facts) == 1 for facts in about.values()):
        return 1
    task = ground(relaxation.pooled.problem, limits)
    most = 1
    for group in task.mutexes:
        facts_in = {task.facts[fact] for fact in group}
        most = max(most, *[len(facts_in.intersection(facts)) for facts in about.values()])
    return most


def _find_needed_facts(task: Task) -> Iterator[Atom | Not]:
    """Yield the goal facts, and those from which alone a goal fact can be derived."""
    bodies: dict[int, list[tuple[int, ...]]] = {}
    for rule in [rule for layer in task.axioms for rule in layer.rules]:
        bodies.setdefault(rule.head, []).append(rule.body)
    waiting, seen = [*task.goal], set(task.goal)
    for fact in waiting:
        yield task.facts[fact]
        rules = bodies.get(fact, [])
        more = [each for each in rules[0] if each not in seen] if len(rules) == 1 else []
        seen.update(more)
        waiting += more


def bound_uses(relaxation: Relaxation, limits: Limits) -> Iterator[tuple[Allowance, int]]:
    """Yield each budget, with the units that all plans use of it at least. Raises `LimitReached`."""
    from planner.grounding.allowances import find_allowances

    problem, task = relaxation.problem, relaxation.task
    for allowance in find_allowances(replace(relaxation.pooled.problem, budgets=problem.budgets), task):
        estimate = LmCut(relax(task, allowance.uses), len(allowance.uses), limits.check)
        needed = Evaluation(estimate, bits(task.initial), []).find_landmarks(INFINITY)
        yield allowance, needed if needed < INFINITY else 0


def bound_costs(relaxation: Relaxation, limits: Limits) -> CreationBounds:
    """Return lower bounds by LM-cut on the costs of plans with any number of created objects. Raises `LimitReached`."""
    task = relaxation.task
    costs = [action.cost for action in task.actions]
    estimate = LmCut(relax(task, costs), len(costs), limits.check)
    landmarks: list[Landmark] = []
    total = Evaluation(estimate, bits(task.initial), landmarks).find_landmarks(INFINITY)
    if total == INFINITY:
        return CreationBounds(0, {})
    creates = {}
    for number, action in enumerate(task.actions):
        pools = relaxation.created_pools(action.step)
        if pools:
            creates[number] = pools
    charged: dict[str, int] = {}
    for landmark in landmarks:
        for pool in {pool for number in landmark.actions & creates.keys() for pool in creates[number]}:
            charged[pool] = charged.get(pool, 0) + landmark.worth
    resolution = task.resolution
    without = {pool: divide_exactly(total - worth, resolution) for pool, worth in charged.items()}
    return CreationBounds(divide_exactly(total, resolution), without)
