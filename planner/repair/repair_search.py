"""The search behind every repair: one ground task, searched with costs and penalties put together as needed.

Bounds: every plan achieves each landmark for the first time by one of its achievers. One landmark after the other takes
the least of what its achievers cost from all of them, so that nothing is counted twice: cost partitioning as with cuts
(Helmert and Domshlak, 2009) over landmarks found backwards (Porteous, Sebastia and Hoffmann, 2001).

First plans: relaxed plans are carried out one after the other (Vidal, 2004). Where most of what is to be done is
independent, a plan of thousands of steps takes a few looks at the task.

Choices about given steps are special actions, which put steps into the plan. What steps create has placeholders: those
of the given steps, and some to spare for new ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from planner.compilations.object_creation import for_steps
from planner.garbage_collection import pause_collector
from planner.grounding.ground import ground
from planner.heuristics.relaxation import AXIOM, Explore, RelaxedTask, make_explorer, relax
from planner.lightweight import Final, dataclass, field, replace
from planner.limits import LimitReached, Limits
from planner.model import Action, Atom, Literal, Not, Problem, Term, When
from planner.model.domain import creates_objects, uncertain_actions
from planner.model.formulas import substitute
from planner.plan import Status, Step, StoppedBy
from planner.portfolio.portfolio import run_portfolio
from planner.portfolio.workplace import Workplace
from planner.search import Ending, Run, Space
from planner.task.ground_task import INFINITY, GroundAction, State, Task


def least_cost(task: Task, costs: Sequence[int], check: Callable[[], None]) -> int:
    """Return a lower bound of what any plan for `task` costs, its actions at these `costs`; `check` is called often."""
    achievers: dict[int, list[int]] = {}
    for number, action in enumerate(task.actions):
        for fact in (*action.adds, *(fact for effect in action.conditional for fact in effect.adds)):
            achievers.setdefault(fact, []).append(number)
    skipped = task.derived.union(task.initial)
    left, total, seen = list(costs), 0, set(skipped)
    waiting = [fact for fact in task.goal if fact not in seen]
    seen.update(waiting)
    for fact in waiting:  # which grows
        check()
        found = achievers.get(fact)
        if not found:
            continue
        least = min([left[number] for number in found])
        if least:
            total += least
            for number in found:
                left[number] -= least
        new = _shared(task.actions[number].precondition for number in found) - seen
        seen |= new
        waiting += sorted(new)
    return total


def _shared(conditions: Iterable[Sequence[int]]) -> set[int]:
    """Return the facts that all `conditions` have."""
    shared: set[int] | None = None
    for condition in conditions:
        shared = set(condition) if shared is None else shared.intersection(condition)
        if not shared:
            break
    return shared or set()


MOST_LOOKS: Final = 20
"""So many relaxed plans are carried out before this is given up."""
MOST_ROUNDS: Final = 50
"""So often what is left of a relaxed plan is gone through for what can be done."""


def lookahead(task: Task, costs: Sequence[int], check: Callable[[], None]) -> list[int] | None:
    """Return a plan for `task`, as numbers of its actions, which are estimated at `costs`; None: none was found so.

    `check` is called often; it raises when a limit is reached.
    """
    space, relaxed = Space(task), relax(task, costs)
    explore, state, plan = make_explorer(relaxed), space.initial, list[int]()
    for _ in range(MOST_LOOKS):
        if space.is_goal(state):
            return plan
        check()
        taken, state = _carried_out(space, state, _relaxed_plan(relaxed, explore, space.closed(state)), check)
        if not taken:
            return None
        plan += taken
    return plan if space.is_goal(state) else None


def _relaxed_plan(relaxed: RelaxedTask, explore: Explore, state: State) -> list[int]:
    """Return the actions of a relaxed plan from `state`, each after those that support it; [] where there is none."""
    value, achiever = explore(state)
    if value == INFINITY:
        return []
    waiting, chosen, order = [relaxed.goal], set[int](), list[int]()
    while waiting:
        operator = achiever[waiting.pop()]
        if operator >= 0 and operator not in chosen:
            chosen.add(operator)
            order.append(operator)
            waiting += relaxed.preconditions[operator]
    actions = [relaxed.actions[operator] for operator in reversed(order)]
    return [action for action in dict.fromkeys(actions) if action != AXIOM]


def _carried_out(
    space: Space, state: State, actions: Iterable[int], check: Callable[[], None]
) -> tuple[list[int], State]:
    """Return those of `actions` that could be taken from `state`, in that order, and the state after them.

    An action that takes away what another one needs waits while anything else can be done.
    """
    task, left, taken = space.task.actions, list(actions), list[int]()
    needed, full = Counter([fact for number in left for fact in task[number].precondition]), space.closed(state)

    def take(number: int) -> None:
        nonlocal state, full
        state = space.apply(number, state)
        full = space.closed(state)
        taken.append(number)
        needed.subtract(task[number].precondition)

    for _ in range(MOST_ROUNDS):
        waiting, before = list[int](), len(taken)
        for number in left:
            check()
            if space.preconditions[number] & ~full or _harms(task[number], needed):
                waiting.append(number)
            else:
                take(number)
        if len(taken) == before:
            ready = next((each for each in waiting if not space.preconditions[each] & ~full), None)
            if ready is None:
                break
            waiting.remove(ready)
            take(ready)
        left = waiting[::-1]
    return taken, state


def _harms(action: GroundAction, needed: Counter[int]) -> bool:
    """Return whether `action` takes away what others need; `needed` says how many need each fact, itself included."""
    return any(needed[fact] > (fact in action.precondition) for fact in action.deletes)


@dataclass(frozen=True, slots=True)
class Choice:
    """A plain ADL problem that has special actions, and what these stand for.

    `steps` are the steps that each of them puts into the plan, and `penalties` what it is to be charged beside costs.
    """

    problem: Problem
    steps: Mapping[str, tuple[Step, ...]]
    penalties: Mapping[str, int] = field(default_factory=dict)


def instance(action: Action, step: Step) -> Action:
    """Return the plain `action` without parameters: as it is with the arguments of `step`."""
    binding = {parameter.name: value for parameter, value in zip(action.parameters, step.arguments, strict=True)}
    return replace(
        action,
        parameters=(),
        requires=substitute(action.requires, binding),
        provides=_bound(action.provides, binding),
        when=tuple([_inside(when, binding) for when in action.when]),
    )


def _inside(when: When, binding: Mapping[Term, Term]) -> When:
    hidden = {variable.name for variable in when.variables}
    binding = {name: value for name, value in binding.items() if name not in hidden}
    return replace(when, requires=substitute(when.requires, binding), provides=_bound(when.provides, binding))


def _bound(literals: Iterable[Literal], binding: Mapping[Term, Term]) -> tuple[Literal, ...]:
    found: list[Literal] = []
    for literal in literals:
        part = substitute(literal, binding)
        assert isinstance(part, Atom | Not)
        found.append(part)
    return tuple(found)


STOPS: Final = (LimitReached, MemoryError, KeyboardInterrupt)
"""What ends the work before its end."""


def stopped_by(stop: BaseException) -> StoppedBy:
    """Return what one of `STOPS` says."""
    if isinstance(stop, LimitReached):
        return stop.stopped_by
    return StoppedBy.MEMORY if isinstance(stop, MemoryError) else StoppedBy.CANCELLED


@dataclass(frozen=True, slots=True)
class Prices:
    """What an action is charged: `cost` for each unit of its cost, and `penalty` for each of its penalty."""

    cost: int = 1
    penalty: int = 1


@dataclass(frozen=True, slots=True)
class Found:
    """The best `plan` that is known, as numbers of the task's actions; None where there is none.

    `proved` says that no plan is charged less. `at_least` is a lower bound of what is charged, and `stopped_by` what
    ended the search.
    """

    plan: list[int] | None
    at_least: int
    proved: bool
    stopped_by: StoppedBy


class Chooser:
    """Searches a choice. Raises `LimitReached` where `limits` does not suffice for grounding."""

    def __init__(self, choice: Choice, limits: Limits) -> None:
        with pause_collector():
            self.task: Task = ground(choice.problem, limits)
        self._choice = choice
        self._limits = limits
        self._space = Space(self.task)
        self._penalties = [choice.penalties.get(action.step.action, 0) for action in self.task.actions]

    def named(self, names: Iterable[str | Step]) -> list[int] | None:
        """Return the plan that takes the special actions of these names, and these steps; None where it is none."""
        numbers: dict[str | tuple[str, tuple[str, ...]], list[int]] = {}
        for number, action in enumerate(self.task.actions):
            step = action.step
            numbers.setdefault(step.action if step.action.startswith("@") else _key(step), []).append(number)
        state, plan = self._space.initial, []
        for name in names:
            full = self._space.closed(state)
            same = numbers.get(name if isinstance(name, str) else _key(name), ())
            fitting = [each for each in same if not self._space.preconditions[each] & ~full]
            if not fitting:
                return None
            plan.append(fitting[0])
            state = self._space.apply(fitting[0], state)
        return plan if self._space.is_goal(state) else None

    def best(self, prices: Prices, known: list[int] | None = None) -> Found:
        """Return the plan that is charged least, or the best one when a limit is reached; `known` is one already."""
        if self.task.unreachable_goal is not None:
            return Found(None, 0, True, StoppedBy.EXHAUSTED)
        run = Run()
        try:
            with pause_collector():
                ending = self._search(prices, known, run)
            ended = StoppedBy.EXHAUSTED if ending is Ending.EXHAUSTED else StoppedBy.INCOMPLETE
        except STOPS as stop:
            ended = stopped_by(stop)
        proved = ended is StoppedBy.EXHAUSTED or run.lower_bound >= run.limit
        return Found(known if run.plan is None else run.plan, run.lower_bound, proved, ended)

    def _search(self, prices: Prices, known: list[int] | None, run: Run) -> Ending:
        charges = [
            action.cost * prices.cost + penalty * prices.penalty
            for action, penalty in zip(self.task.actions, self._penalties, strict=True)
        ]
        actions = [replace(action, cost=cost) for action, cost in zip(self.task.actions, charges, strict=True)]
        task = replace(self.task, actions=tuple(actions))
        if known is not None:
            run.report_plan(known, sum([charges[number] for number in known]))
        run.raise_bound(least_cost(task, charges, self._limits.check))
        quick = None if run.lower_bound == run.limit else lookahead(task, charges, self._limits.check)
        if quick is not None:
            run.report_plan(quick, sum([charges[number] for number in quick]))
        if run.lower_bound == run.limit:
            return Ending.EXHAUSTED
        search = run_portfolio("anytime", Workplace(task, Space(task), run, self._limits.check))
        while True:
            self._limits.check()
            try:
                next(search)
            except StopIteration as stop:
                ending: Ending = stop.value
                return ending

    def fewest(self, known: list[int] | None = None) -> Found:
        """Return the plan with the fewest penalties and, of these, one that costs least; see `best`.

        A penalty that is dearer than all actions together decides, unless a plan without it takes actions again and
        again. So what remains of penalties is searched for a plan with fewer, whatever that costs.
        """
        every = range(len(self.task.actions))
        found = self.best(Prices(penalty=self._cost(every) + 1), known)
        while found.proved and found.plan is not None and (most := self.penalty(found.plan)):
            fewer = self.best(Prices(cost=0), found.plan)
            if fewer.plan is None or self.penalty(fewer.plan) == most:
                return replace(found, proved=fewer.proved, stopped_by=fewer.stopped_by)
            found = self.best(Prices(penalty=self._cost(fewer.plan) + 1), fewer.plan)
        return found

    def _cost(self, actions: Iterable[int]) -> int:
        return sum([self.task.actions[number].cost for number in actions])

    def least_cost(self) -> int:
        """Return a lower bound of what all plans cost, in units of the task, without penalties."""
        return least_cost(self.task, [action.cost for action in self.task.actions], self._limits.check)

    def penalty(self, plan: Iterable[int]) -> int:
        """Return the penalties of `plan`."""
        return sum([self._penalties[number] for number in plan])

    def steps(self, plan: Sequence[int]) -> list[tuple[str, Step]]:
        """Return the steps that `plan` takes, each with the name of the action that stands for it."""
        taken = [self.task.actions[number].step for number in plan]
        return [(each.action, step) for each in taken for step in self._choice.steps.get(each.action, (each,))]


def _key(step: Step) -> tuple[str, tuple[str, ...]]:
    return step.action, step.arguments


SPARE: Final = 2
"""So many objects of each type that steps create are there beside those that the given steps name."""


def with_spare(problem: Problem, steps: Iterable[Step]) -> Problem:
    """Return `problem`, with objects for what `steps` create, and some to spare, if its actions create anything."""
    return for_steps(problem, steps, spare=SPARE)


def claimed(problem: Problem, status: Status) -> Status:
    """Return `status` as what may be claimed: no proof, where more objects might be created than were tried.

    Where actions may come out otherwise than intended, nothing is unsolvable.
    """
    if creates_objects(problem.domain):
        return {Status.OPTIMAL: Status.SOLVED, Status.UNSOLVABLE: Status.UNKNOWN}.get(status, status)
    return Status.UNKNOWN if status is Status.UNSOLVABLE and uncertain_actions(problem.domain) else status


def untried(problem: Problem) -> str:
    """Return what was not tried, because of which less is claimed."""
    if creates_objects(problem.domain):
        return f"no more than {SPARE} objects of each type that steps create were tried, beside those that were given"
    return f"only the intended outcomes (of {', '.join(uncertain_actions(problem.domain))}) were tried"
