"""Grounding of decision processes: the all-outcomes determinisation of a problem, and the choices that its steps are.

Each soft goal becomes an action that requires it and provides a fact of the goal, so that grounding keeps the facts
that the soft goal needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from planner.compilations.budgets import without_budgets
from planner.compilations.determinization import (
    ROUNDING,
    OutcomeOf,
    determinize,
    keep_relevant_actions,
    outcome_probabilities,
)
from planner.garbage_collection import pause_collector
from planner.grounding.ground import ground_adl
from planner.lightweight import Final, dataclass, replace
from planner.limits import Limits
from planner.model import Action, Atom, Predicate, Problem
from planner.model.constructs import Construct, has
from planner.model.formulas import with_conjuncts
from planner.model.problem import NumericMetric, is_numeric, is_temporal
from planner.plan import Step
from planner.policies.markov_decision_process import (
    NOTHING,
    Branch,
    Choice,
    Effects,
    Process,
    Purse,
    Wish,
    with_marks,
)
from planner.policies.metric_prices import move_prices
from planner.semantics.spending import make_sequential
from planner.task.ground_task import GroundAction, State, Task, bits
from planner.task.numeric_task import NumericEffects


@dataclass(frozen=True, slots=True)
class JudgedProblem:
    """A problem with artificial actions `judges`, for each wish and for none, that provide the goal fact `judged`."""

    problem: Problem
    judges: tuple[str, ...]
    judged: Atom | None

    @classmethod
    def of(cls, problem: Problem) -> JudgedProblem:
        """Add the judges to `problem`, so that grounding keeps the facts of its soft goals."""
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
        hard = with_conjuncts(problem.goal.hard, judged)
        asked = replace(problem, domain=domain, goal=replace(problem.goal, hard=hard, soft=()))
        return cls(asked, tuple(actions), judged)

    def strip(self, task: Task) -> tuple[Task, list[tuple[State, ...]]]:
        """Remove the judges from the ground task; return it with the cases of each wish."""
        cases: dict[str, list[State]] = {name: [] for name in self.judges[1:]}
        for action in task.actions:
            if action.step.action in cases:
                cases[action.step.action].append(bits(action.precondition))
        kept = tuple([action for action in task.actions if action.step.action not in self.judges])
        goal = tuple([fact for fact in task.goal if task.facts[fact] != self.judged])
        return replace(task, actions=kept, goal=goal), list(map(tuple, cases.values()))


def process_of(problem: Problem, limits: Limits, *, whole: bool = False) -> Process:
    """Ground the decision process of `problem`: all that some outcomes can reach and the goal needs.

    With `whole`, keep what the goal does not need, too.
    Where no outcomes lead to the hard goal, the task has only `unreachable_goal`. Where facts are unknown, the states
    are belief states. Raises as `ground` does, and `UnsupportedError` where unknown facts affect more than the
    applicability of actions.
    """
    if is_temporal(problem):
        from planner.policies.timed_process import timed_process_of

        return timed_process_of(problem, limits)
    problem = make_sequential(problem)
    if has(problem, Construct.UNKNOWN):
        from planner.policies.belief_states import sensing_process_of

        return sensing_process_of(problem, limits, whole=whole)
    compiled = determinize(problem if whole else keep_relevant_actions(problem))
    source = compiled.problem
    if problem.constraints:
        source = with_marks(source, {name: way.action for name, way in compiled.ways.items()})
    return ground_process(source, compiled.ways, problem.domain.actions, limits, whole=whole)


HAPPENED: Final = "@happened"
"""The predicate of the fact that some step has happened, by which grounding keeps steps that change nothing else."""


def keep_idle_steps(problem: Problem) -> Problem:
    """Let all steps of `problem`, whatever their outcomes, provide a fact, so that grounding keeps them all."""
    trace, domain = Atom(HAPPENED), problem.domain
    actions = {
        name: replace(
            action,
            provides=(*action.provides, trace),
            outcomes=tuple([replace(each, provides=(*each.provides, trace)) for each in action.outcomes]),
        )
        for name, action in domain.actions.items()
    }
    predicates = {**domain.predicates, HAPPENED: Predicate(HAPPENED)}
    return replace(problem, domain=replace(domain, actions=actions, predicates=predicates))


def ground_process(
    problem: Problem,
    ways: Mapping[str, OutcomeOf],
    actions: Mapping[str, Action],
    limits: Limits,
    *,
    whole: bool = False,
    by_ends: bool = False,
) -> Process:
    """Ground the process of `problem`, whose actions are the outcomes (`ways`) of `actions`; others are no choices.

    With `whole`, keep what is not relevant, too. With `by_ends`, only ends have a price by the metric's fluents.
    """
    with pause_collector():
        asked = JudgedProblem.of(problem)
        together = {name: way.action for name, way in ways.items() if actions[way.action].is_uncertain}
        numeric = None
        if is_numeric(problem):
            from planner.grounding.ground_numeric import ground_numeric

            free = without_budgets(asked.problem)
            numeric = ground_numeric(free, limits, by_ends=True, together=together, whole=whole)
            task, cases = asked.strip(numeric.task)
            kept = [
                changes
                for action, changes in zip(numeric.task.actions, numeric.changes, strict=True)
                if action.step.action not in asked.judges
            ]
            numeric = replace(numeric, task=task, changes=kept)
            if not by_ends:
                numeric = move_prices(numeric)
            bare = [action.cost * (numeric.task.resolution // task.resolution) for action in task.actions]
            task = numeric.task
        else:
            task, cases = asked.strip(ground_adl(asked.problem, limits, together, whole=whole))
            bare = [action.cost for action in task.actions]
        wishes = [Wish(soft.utility, each) for soft, each in zip(problem.goal.soft, cases, strict=False)]
        purse = Purse.of(asked.problem, task)
        changes = numeric.changes if numeric else [()] * len(task.actions)
        found = _choices(task.actions, bare, changes, ways, actions)
        choices = _reversible_first(found, actions)
        process = Process(task, choices, tuple(wishes), purse, numeric)
        process.is_metric = isinstance(problem.metric, NumericMetric)
        return process


def _reversible_first(choices: Iterable[Choice], actions: Mapping[str, Action]) -> tuple[Choice, ...]:
    """Sort `choices`: among equally good ones, searches take the first, and what is irreversible had better wait."""
    return tuple(sorted(choices, key=lambda choice: "irreversible" in actions[choice.step.action].tags))


def _choices(
    ground: Sequence[GroundAction],
    bare: Sequence[int],
    changes: Sequence[tuple[NumericEffects, ...]],
    ways: Mapping[str, OutcomeOf],
    actions: Mapping[str, Action],
) -> Iterator[Choice]:
    """Yield the choices: the outcomes of one step under one precondition; a missing outcome changes nothing.

    `bare` are the costs of `ground` actions without what their effects add to the metric: those of steps that fail.
    """
    found: dict[tuple[str, tuple[str, ...], tuple[int, ...]], dict[int, tuple[int, GroundAction]]] = {}
    for number, action in enumerate(ground):
        way = ways.get(action.step.action)
        if way is None:
            continue
        key = (way.action, action.step.arguments, action.precondition)
        found.setdefault(key, {}).setdefault(way.number, (number, action))
    for (name, arguments, precondition), parts in found.items():
        place, first = next(iter(parts.values()))
        odds = outcome_probabilities(actions[name], arguments)
        branches = _branches(parts, changes, odds)
        if branches:
            cost = _expected_cost({outcome: each.cost for outcome, (_, each) in parts.items()}, odds, bare[place])
            failing = 1 - sum(odds, Decimal(0))
            step = Step(name, arguments, first.step.cost)
            yield Choice(step, cost, precondition, branches, float(failing) if failing > ROUNDING else 0.0)


def _expected_cost(costs: Mapping[int, int], odds: Sequence[Decimal], failing: int) -> float:
    """Return the expected cost of a step by the `costs` of its outcomes; without one, it is that of a failing step."""
    if all(cost == failing for cost in costs.values()):
        return failing
    total = sum([float(odds[outcome]) * cost for outcome, cost in costs.items()])
    return total + failing * float(1 - sum([odds[outcome] for outcome in costs], Decimal(0)))


def _branches(
    parts: Mapping[int, tuple[int, GroundAction]],
    changes: Sequence[tuple[NumericEffects, ...]],
    odds: Sequence[Decimal],
) -> tuple[Branch, ...]:
    """Return the branches, merged by effects; none where no outcome changes anything."""
    shares: dict[Effects, tuple[Decimal, int]] = {}
    for outcome, (number, action) in parts.items():
        if odds[outcome]:
            effects = (action.adds, action.deletes, action.conditional, changes[number])
            share, first = shares.get(effects, (Decimal(0), number))
            shares[effects] = (share + odds[outcome], first)
    rest = 1 - sum([share for share, _ in shares.values()], Decimal(0))
    branches = [(float(share), number) for share, number in shares.values()]
    return (*branches, *([(float(rest), NOTHING)] if rest > ROUNDING else [])) if branches else ()
