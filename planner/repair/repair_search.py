"""The search behind every repair: a ground task with special actions for given steps, searched by costs and penalties.

The lower bound takes landmarks one after the other: each takes the least cost of its achievers from all of them, so
that no cost counts twice. This is cost partitioning as in LM-cut (Helmert and Domshlak, 2009) over landmarks found
backwards (Porteous, Sebastia and Hoffmann, 2001).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from planner.compilations.object_creation import for_steps
from planner.garbage_collection import pause_collector
from planner.grounding.ground import ground
from planner.jit import library
from planner.lightweight import Final, dataclass, field, replace
from planner.limits import STOPS, LimitReached, Limits, stop_reason
from planner.model import Action, Atom, Literal, Not, Problem, Term, When
from planner.model.actions import CostFunction, CostTerm
from planner.model.domain import creates_objects, is_internal, uncertain_actions
from planner.model.formulas import Arithmetic, substitute
from planner.model.unknown_numbers import find_unread
from planner.plan import Status, Step, StoppedBy
from planner.portfolio.portfolio import run_portfolio
from planner.portfolio.workplace import Workplace
from planner.pruning.h2 import prune
from planner.search import Ending, Run, Space
from planner.search.search_run import advance
from planner.semantics.undefined_values import list_amounts, substitute_amount
from planner.task.ground_task import Task


def bound_by_landmarks(task: Task, costs: Sequence[int], check: Callable[[], None]) -> int:
    """Return a lower bound on the cost of plans for `task` with these `costs` of actions; `check` is called often."""
    achievers: dict[int, list[int]] = {}
    for number, action in enumerate(task.actions):
        for fact in (*action.adds, *(fact for effect in action.conditional for fact in effect.adds)):
            achievers.setdefault(fact, []).append(number)
    skipped = task.derived.union(task.initial)
    left, total, seen = list(costs), 0, set(skipped)
    waiting = [fact for fact in task.goal if fact not in seen]
    seen.update(waiting)
    for fact in waiting:  # grows meanwhile
        check()
        found = achievers.get(fact)
        if not found:
            continue
        least = min([left[number] for number in found])
        if least:
            total += least
            for number in found:
                left[number] -= least
        new = _intersect(task.actions[number].precondition for number in found) - seen
        seen |= new
        waiting += sorted(new)
    return total


def _intersect(conditions: Iterable[Sequence[int]]) -> set[int]:
    """Return the facts that all `conditions` have in common."""
    shared: set[int] | None = None
    for condition in conditions:
        shared = set(condition) if shared is None else shared.intersection(condition)
        if not shared:
            break
    return shared or set()


@dataclass(frozen=True, slots=True)
class Choice:
    """A plain ADL problem with special actions: the `steps` that each puts into the plan, and its `penalties`."""

    problem: Problem
    steps: Mapping[str, tuple[Step, ...]]
    penalties: Mapping[str, int] = field(default_factory=dict)


def instantiate(action: Action, step: Step) -> Action:
    """Return the plain `action` with the arguments of `step` in place of its parameters."""
    binding = {parameter.name: value for parameter, value in zip(action.parameters, step.arguments, strict=True)}
    return replace(
        action,
        parameters=(),
        requires=substitute(action.requires, binding),
        provides=_substitute_literals(action.provides, binding),
        when=tuple([_instantiate_effect(when, binding) for when in action.when]),
        numbers=tuple([each.substitute(binding) for each in action.numbers]),
        uses={
            name: tuple([_instantiate_amount(each, step, binding) for each in terms])
            for name, terms in action.uses.items()
        },
        needs_values=tuple([substitute_amount(each, binding) for each in list_amounts(action)]),
    )


def _instantiate_amount(amount: CostTerm, step: Step, binding: Mapping[Term, Term]) -> CostTerm:
    if isinstance(amount, CostFunction):
        return amount.value(step.arguments)
    return substitute_amount(amount, binding) if isinstance(amount, Atom | Arithmetic) else amount


def _instantiate_effect(when: When, binding: Mapping[Term, Term]) -> When:
    hidden = {variable.name for variable in when.variables}
    binding = {name: value for name, value in binding.items() if name not in hidden}
    return replace(
        when,
        requires=substitute(when.requires, binding),
        provides=_substitute_literals(when.provides, binding),
        numbers=tuple([each.substitute(binding) for each in when.numbers]),
    )


def _substitute_literals(literals: Iterable[Literal], binding: Mapping[Term, Term]) -> tuple[Literal, ...]:
    found: list[Literal] = []
    for literal in literals:
        part = substitute(literal, binding)
        assert isinstance(part, Atom | Not)
        found.append(part)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Prices:
    """Weights of the cost and the penalty of an action in what it is charged."""

    cost: int = 1
    penalty: int = 1


@dataclass(frozen=True, slots=True)
class Found:
    """The best `plan` found, as numbers of the actions; None if there is none.

    `proved` says that no plan is charged less; `at_least` is a lower bound on the charge.
    """

    plan: list[int] | None
    at_least: int
    proved: bool
    stopped_by: StoppedBy


class Chooser:
    """Grounds and searches a choice; raises `LimitReached` if grounding exceeds `limits`."""

    def __init__(self, choice: Choice, limits: Limits) -> None:
        with pause_collector():
            self.task: Task = ground(choice.problem, limits)
        self._choice = choice
        self._limits = limits
        self._space = Space(self.task)
        self._penalties = [choice.penalties.get(action.step.action, 0) for action in self.task.actions]

    def find_named_plan(self, names: Iterable[str | Step]) -> list[int] | None:
        """Return the plan of these special actions (by name) and steps; None if it is not valid."""
        numbers: dict[str | tuple[str, tuple[str, ...]], list[int]] = {}
        for number, action in enumerate(self.task.actions):
            step = action.step
            numbers.setdefault(step.action if is_internal(step.action) else _key(step), []).append(number)
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

    def search_best(self, prices: Prices, known: list[int] | None = None, limits: Limits | None = None) -> Found:
        """Return the plan that is charged least, or the best one found within the limits; `known` is a first plan.

        `limits` are those of this search, by default what is left of all.
        """
        if self.task.unreachable_goal is not None:
            return Found(None, 0, True, StoppedBy.EXHAUSTED)
        run = Run()
        try:
            with pause_collector():
                ending = self._search(prices, known, run, limits or self._limits)
            ended = StoppedBy.EXHAUSTED if ending is Ending.EXHAUSTED else StoppedBy.INCOMPLETE
        except STOPS as stop:
            ended = stop_reason(stop)
        proved = ended is StoppedBy.EXHAUSTED or run.lower_bound >= run.limit
        return Found(known if run.plan is None else run.plan, run.lower_bound, proved, ended)

    def _search(self, prices: Prices, known: list[int] | None, run: Run, limits: Limits) -> Ending:
        charges = [
            action.cost * prices.cost + penalty * prices.penalty
            for action, penalty in zip(self.task.actions, self._penalties, strict=True)
        ]
        actions = [replace(action, cost=cost) for action, cost in zip(self.task.actions, charges, strict=True)]
        task = replace(self.task, actions=tuple(actions))
        if known is not None:
            run.report_plan(known, sum([charges[number] for number in known]))
        run.raise_bound(bound_by_landmarks(task, charges, limits.check))
        if run.lower_bound == run.limit:
            return Ending.EXHAUSTED
        search = run_portfolio("anytime", Workplace(task, Space(task), run, limits.check))
        while True:
            limits.check()
            ending = advance(search)
            if ending is not None:
                return ending

    def search_fewest_penalties(self, known: list[int] | None = None, share: float = 1.0) -> Found:
        """Return a plan of least penalty and, of these, of least cost; see `search_best`.

        A penalty that exceeds the cost of all actions decides, unless a plan of less penalty repeats actions. So plans
        of less penalty are searched for at any cost afterwards. All of this takes at most a `share` of the time.
        """
        every, limits = range(len(self.task.actions)), self._limits.share(share)
        found = self.search_best(Prices(penalty=self._cost(every) + 1), known, limits)
        while found.proved and found.plan is not None and (most := self.penalty(found.plan)):
            fewer = self.search_best(Prices(cost=0), found.plan, limits)
            if fewer.plan is None or self.penalty(fewer.plan) == most:
                return replace(found, proved=fewer.proved, stopped_by=fewer.stopped_by)
            found = self.search_best(Prices(penalty=self._cost(fewer.plan) + 1), fewer.plan, limits)
        return found

    def has_fewest_penalties(self, plan: list[int], count_lost: Callable[[Iterable[str]], int]) -> bool:
        """Return whether it can be proved that no plan has a smaller penalty than `plan`, at any cost.

        `count_lost` returns a lower bound on the penalty, from the names of the actions that are left by grounding, and
        by h², which leave only such as some plan may have. The proof may take all of the time that is left.
        """
        penalty = self.penalty(plan)
        if penalty <= count_lost([action.step.action for action in self.task.actions]):
            return True
        try:
            pruned = prune(self.task, self._limits.check, entries=library.load("h2", "disambiguation"))
        except LimitReached:
            return False
        if penalty <= count_lost([action.step.action for action in pruned.task.actions]):
            return True
        found = self.search_best(Prices(cost=0), plan)
        return found.proved and found.plan is not None and self.penalty(found.plan) == penalty

    def _cost(self, actions: Iterable[int]) -> int:
        return sum([self.task.actions[number].cost for number in actions])

    def bound_cost(self) -> int:
        """Return a lower bound on the cost of all plans, in units of the task, without penalties."""
        return bound_by_landmarks(self.task, [action.cost for action in self.task.actions], self._limits.check)

    def penalty(self, plan: Iterable[int]) -> int:
        """Return the penalty of `plan`."""
        return sum([self._penalties[number] for number in plan])

    def steps(self, plan: Sequence[int]) -> list[tuple[str, Step]]:
        """Return the steps of `plan`, each with the name of its action in the task."""
        taken = [self.task.actions[number].step for number in plan]
        return [(each.action, step) for each in taken for step in self._choice.steps.get(each.action, (each,))]


def _key(step: Step) -> tuple[str, tuple[str, ...]]:
    return step.action, step.arguments


SPARE: Final = 2
"""Number of placeholders of each type for objects of new steps, beside those of the given steps."""


def add_spare_objects(problem: Problem, steps: Iterable[Step]) -> Problem:
    """Return `problem` with placeholders for objects that `steps` and new steps create, if its actions create any."""
    return for_steps(problem, steps, spare=SPARE)


def weaken_claim(problem: Problem, status: Status) -> Status:
    """Return `status` without a proof if more created objects, or other values of unknown numbers, were not searched.

    With uncertain outcomes, nothing is proved unsolvable either, as only intended ones were searched.
    """
    if creates_objects(problem.domain) or find_unread(problem):
        return {Status.OPTIMAL: Status.SOLVED, Status.UNSOLVABLE: Status.UNKNOWN}.get(status, status)
    return Status.UNKNOWN if status is Status.UNSOLVABLE and uncertain_actions(problem.domain) else status


def describe_untried(problem: Problem) -> str:
    """Return in words what was not searched."""
    if creates_objects(problem.domain):
        return f"no more than {SPARE} objects of each type that steps create were tried, beside those that were given"
    if unread := find_unread(problem):
        return f"no other values of unknown numbers, such as {unread[0]}, were tried"
    return f"only the intended outcomes (of {', '.join(uncertain_actions(problem.domain))}) were tried"
