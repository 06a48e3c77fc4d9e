"""Ground tasks that keep every step: also those without effects, and those that do not matter to the goal.

Questions about all facts and steps need what search may leave out. A flag that every action adds keeps grounding from
dropping an action because it changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from copy import copy
from functools import cached_property, partial

from planner.compilations.passes import compile_away
from planner.garbage_collection import pause_collector
from planner.grounding.action_tables import make_price
from planner.grounding.ground import ground_adl
from planner.jit import library
from planner.lightweight import Final, dataclass, replace
from planner.limits import Limits
from planner.model import Atom, Goal, Predicate, Problem
from planner.model.constructs import Construct
from planner.plan import Step
from planner.portfolio.portfolio import Start, run_portfolio, search_by
from planner.portfolio.workplace import Workplace
from planner.pruning.h2 import Pairs
from planner.repair.repair_search import instantiate
from planner.search import Ending, Run, Space
from planner.semantics.simulation import Simulation
from planner.task.finite_domain import translate_task
from planner.task.ground_task import ConditionalEffect, GroundAction, State, Task, bits, facts_of

FLAG: Final = "@stepped"
"""The predicate of the fact that every action adds."""
Key = tuple[str, tuple[str, ...]]
"""The action and the arguments of a step."""


def key_of(step: Step) -> Key:
    """Return the action and the arguments of `step`."""
    return step.action, step.arguments


class Versions:
    """The versions into which reading has split actions; steps are named by the first."""

    def __init__(self, problem: Problem) -> None:
        self._others: dict[str, list[str]] = {}
        for version, name in problem.domain.versions.items():
            self._others.setdefault(name, []).append(version)

    def keys(self, steps: Iterable[Step]) -> list[Key]:
        """Return the keys of all versions of `steps`."""
        return [(name, each.arguments) for each in steps for name in (each.action, *self._others.get(each.action, ()))]


class WholeTask:
    """The ground task of `problem` with all steps that the delete relaxation reaches, unless their conditions clash.

    Without `with_goal`, the goal is true. With `only`, there are only these steps. `task` has the actions without the
    flag. Constraints on the way, budgets and deadlines do not restrict its plans.
    """

    def __init__(
        self, problem: Problem, limits: Limits, *, with_goal: bool, only: Collection[Step] | None = None
    ) -> None:
        self.problem = problem
        with pause_collector():
            plain = compile_away(_drop_demands(problem, with_goal=with_goal), Construct.CHANGES)
            if only is not None:
                plain = _instantiate_steps(plain, only)
            self.flagged = ground_adl(_add_flag(plain), limits, {}, whole=True)
        actions = self.flagged.actions
        if only is not None:
            named = dict(zip(_name_steps(only), only, strict=True))
            actions = [replace(each, step=named[each.step.action]) for each in actions]
        self.number_of = {fact: number for number, fact in enumerate(self.flagged.facts) if isinstance(fact, Atom)}
        flag = self.number_of.pop(Atom(FLAG), None)
        actions = [replace(each, adds=tuple([fact for fact in each.adds if fact != flag])) for each in actions]
        self.task: Task = replace(self.flagged, actions=tuple(actions))
        self.space = Space(self.task)

    @cached_property
    def initial(self) -> frozenset[Atom]:
        """The facts that hold in the initial state, derived ones included."""
        simulation = Simulation(self.problem)
        found = set(simulation.facts)
        for predicate in self.problem.domain.derived:
            variables = self.problem.domain.predicates[predicate].parameters
            atom = Atom(predicate, tuple([variable.name for variable in variables]))
            condition = simulation.rules.compiler.compile(atom)
            domains = simulation.rules.universe.domains(variables)
            found |= {atom.substitute(row) for row in simulation.world.solver.solutions([condition], domains, {})}
        return frozenset(found)

    @cached_property
    def added(self) -> list[tuple[int, ...]]:
        """The facts that each action may make true."""
        return [
            (*action.adds, *[fact for effect in action.conditional for fact in effect.adds])
            for action in self.task.actions
        ]

    @cached_property
    def numbers_of(self) -> dict[Key, list[int]]:
        """The numbers of the actions of each step: one for each alternative of its precondition."""
        found: dict[Key, list[int]] = {}
        for number, action in enumerate(self.task.actions):
            found.setdefault(key_of(action.step), []).append(number)
        return found


def _drop_demands(problem: Problem, *, with_goal: bool) -> Problem:
    goal = Goal(problem.goal.hard) if with_goal else Goal()
    return replace(problem, goal=goal, constraints=(), budgets={}, deadline=None)


def _name_steps(steps: Collection[Step]) -> list[str]:
    return [f"@{place}" for place in range(len(steps))]


def _instantiate_steps(plain: Problem, steps: Collection[Step]) -> Problem:
    """Return the plain ADL problem whose actions are these different steps, without parameters."""
    actions = {}
    for name, step in zip(_name_steps(steps), steps, strict=True):
        action = plain.domain.actions[step.action]
        cost = (make_price(action, plain)(step.arguments),)
        actions[name] = replace(instantiate(action, step), name=name, cost=cost)
    return replace(plain, domain=replace(plain.domain, actions=actions))


def _add_flag(plain: Problem) -> Problem:
    flag, domain = Atom(FLAG), plain.domain
    actions = {name: replace(each, provides=(*each.provides, flag)) for name, each in domain.actions.items()}
    predicates = {**domain.predicates, FLAG: Predicate(FLAG)}
    return replace(plain, domain=replace(domain, actions=actions, predicates=predicates))


@dataclass(frozen=True, slots=True)
class ForwardMutexes:
    """What h² (Haslum and Geffner, 2000) excludes from reachable states: facts, as bits, and actions, by number."""

    facts: State
    actions: frozenset[int]


def find_forward_mutexes(task: Task, limits: Limits) -> ForwardMutexes:
    """Return what h² excludes going forwards from the initial state, whatever the goal."""
    values = translate_task(replace(task, goal=()), limits.check)
    pairs = Pairs(values, library.load("h2", "disambiguation"), limits.check)
    before = -1
    while True:
        for _ in pairs.sharpen():
            limits.check()
        if pairs.count() == before:
            break
        before = pairs.count()
        for _ in pairs.forwards():
            limits.check()
    rows = pairs.copy()
    base = [fact for fact in range(len(task.facts)) if fact not in task.derived]
    never = [fact for fact in base if not rows(values.value_of[fact]) >> values.value_of[fact] & 1]
    usable = set(pairs.actions())
    return ForwardMutexes(bits(never), frozenset(range(len(task.actions))) - usable)


@dataclass(frozen=True, slots=True)
class Searched:
    """A `plan` for a task, as numbers of its actions; or None, and whether it is `proved` that there is none."""

    plan: list[int] | None
    proved: bool


ANYTIME: Final[Start] = partial(run_portfolio, "anytime")
"""Searches for plans and proofs by turns."""
GREEDY: Final[Start] = search_by("greedy")
"""Searches for a plan that is near."""


def aim_at(space: Space, goal: Iterable[int]) -> Space:
    """Return the state space of the same task with another goal; what was computed of the actions is shared."""
    found = copy(space)
    found.task = replace(space.task, goal=tuple(goal))
    found.goal = bits(found.task.goal)
    return found


def search_plan(space: Space, limits: Limits, start: Start = ANYTIME) -> Searched:
    """Search for any plan in `space`, or a proof that there is none; raises `LimitReached` at a limit."""
    task = space.task
    if task.unreachable_goal is not None:
        return Searched(None, proved=True)
    run = Run()
    search = start(Workplace(task, space, run, limits.check))
    ending: Ending | None = None
    while ending is None and run.plan is None:
        limits.check()
        try:
            next(search)
        except StopIteration as stop:
            ending = stop.value
    search.close()
    return Searched(run.plan, proved=run.plan is not None or ending is Ending.EXHAUSTED)


def forbid_fact(task: Task, fact: int, *, needing: bool) -> Task:
    """Return `task` without the plans that make base `fact` true, or with `needing`, without those that need it.

    Actions go that add it, or have it as a precondition. A conditional effect that would do so ends a fact that the
    goal needs, so that no plan lets it fire.
    """
    alive = len(task.facts)
    actions: list[GroundAction] = []
    is_marked = False
    for action in task.actions:
        if fact in (action.precondition if needing else action.adds):
            continue
        fatal = [each for each in action.conditional if fact in (each.condition if needing else each.adds)]
        if fatal:
            is_marked = True
            extra = [ConditionalEffect(each.condition, (), (alive,)) for each in fatal]
            action = replace(action, conditional=(*action.conditional, *extra))  # noqa: PLW2901 - one name for both
        actions.append(action)
    if not is_marked:
        return replace(task, actions=tuple(actions))
    return replace(
        task,
        facts=(*task.facts, Atom("@alive")),
        variables=(*task.variables, (alive,)),
        initial=(*task.initial, alive),
        goal=(*task.goal, alive),
        actions=tuple(actions),
    )


def reach_relaxed(task: Task, initial: Iterable[int], actions: Iterable[GroundAction] | None = None) -> State:
    """Return the facts that the delete relaxation reaches from `initial`, as bits, by all or some `actions`.

    Negated derived facts count as reached.
    """
    waiting: dict[int, list[int]] = {}
    missing: list[int] = []
    gains: list[tuple[int, ...]] = []
    free = [negated for layer in task.axioms for negated, _ in layer.negated]
    reached = set(initial).union(free)
    queue = [*reached]

    def add_operator(needed: tuple[int, ...], gained: tuple[int, ...]) -> None:
        number = len(missing)
        missing.append(len(needed))
        gains.append(gained)
        for fact in needed:
            waiting.setdefault(fact, []).append(number)
        if not needed:
            take(gained)

    def take(gained: tuple[int, ...]) -> None:
        for fact in gained:
            if fact not in reached:
                reached.add(fact)
                queue.append(fact)

    for action in task.actions if actions is None else actions:
        add_operator(action.precondition, action.adds)
        for effect in action.conditional:
            add_operator(tuple(sorted({*action.precondition, *effect.condition})), effect.adds)
    for layer in task.axioms:
        for rule in layer.rules:
            add_operator(rule.body, (rule.head,))
    while queue:
        for number in waiting.get(queue.pop(), ()):
            missing[number] -= 1
            if not missing[number]:
                take(gains[number])
    return bits(reached)


def states_along(space: Space, plan: Iterable[int]) -> list[State]:
    """Return the states that `plan` goes through, the initial one first, without derived facts."""
    found = [space.initial]
    for action in plan:
        found.append(space.apply(action, found[-1]))
    return found


def atoms_of(task: Task, state: State) -> Iterable[Atom]:
    """Return the atoms among the facts of `state`."""
    return [atom for fact in facts_of(state) if isinstance(atom := task.facts[fact], Atom)]
