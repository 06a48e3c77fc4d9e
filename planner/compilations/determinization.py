"""Determinizations of uncertain actions: all outcomes (Yoon, Fern and Givan, 2007), the intended one, expected costs.

All outcomes: one action for each outcome, which replaces what its action `provides` and `modifies`; conditional effects
belong to all of them. Expected costs: a step is tried until it comes out as intended, so an action that does so with
probability p costs 1/p times as much (the self-loop relaxation: Keyder and Geffner, 2008). Where not even the best
outcomes lead to the goal, the problem is hopeless.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_EVEN, Decimal

from planner.compilations.adl import compile_adl
from planner.compilations.lifted_relevance import relevant_part
from planner.errors import PlanError
from planner.lightweight import Any, Final, dataclass, replace
from planner.limits import Limits
from planner.model import TRUE, Action, Atom, CostFunction, CostTerm, Number, Problem, When
from planner.model.formulas import Term, exact_number
from planner.model.problem import seal_like
from planner.options import ANY_PLAN, Solve
from planner.plan import Status, exact_sum
from planner.problem_kinds import check_classical

ROUNDING: Final = Decimal("1e-15")
"""What probabilities may lack by the rounding of decimals."""


@dataclass(frozen=True, slots=True)
class Way:
    """The outcome of `action` that has this number; its only one, where it has no others."""

    action: str
    number: int


@dataclass(frozen=True, slots=True)
class Determinised:
    """A problem in plain ADL whose actions each have one outcome; `ways` says by their names what they stand for."""

    problem: Problem
    ways: Mapping[str, Way]


def determinise(problem: Problem) -> Determinised:
    """Return `problem` with one action for each outcome of each action, without `modifies`, `stale_with` and `after`.

    Actions that come out in one way keep their names. That nothing changes, as a `risk` says, needs no action.
    """
    most = max([len(action.outcomes) for action in problem.domain.actions.values()], default=0)
    variants = [compile_adl(with_outcomes(problem, number)).problem for number in range(max(most, 1))]
    actions: dict[str, Action] = {}
    ways: dict[str, Way] = {}
    for name, action in problem.domain.actions.items():
        for number in range(max(len(action.outcomes), 1)):
            own = name if number == 0 else _fresh(f"{name}-{number}", problem, actions)
            actions[own] = replace(
                variants[number].domain.actions[name], name=own, risk=Decimal(0), outcomes=(), cases=()
            )
            ways[own] = Way(name, number)
    first = variants[0]
    return Determinised(replace(first, domain=replace(first.domain, actions=actions)), ways)


def chances(action: Action, arguments: tuple[Term, ...]) -> tuple[Decimal, ...]:
    """Return how likely a step does not fail and comes out in each way; what is left of 1 is that nothing changes."""
    risk, odds = action.odds(arguments)
    whole = sum(odds, Decimal(0))
    return tuple([(1 - risk) * share / whole for share in odds] or [1 - risk])


def relevant(problem: Problem, used: Iterable[str] = ()) -> Problem:
    """Return `problem` without the actions of which no outcome can help, but for those that are `used`."""
    actions = problem.domain.actions
    merged = {name: _merged(action) for name, action in actions.items()}
    kept = relevant_part(replace(problem, domain=replace(problem.domain, actions=merged)), used).domain.actions
    if len(kept) == len(actions):
        return problem
    return replace(problem, domain=replace(problem.domain, actions={name: actions[name] for name in kept}))


def _merged(action: Action) -> Action:
    """Return an action that does what any outcome of `action` does."""
    if not action.outcomes:
        return action
    effects = [When(TRUE, each.provides, each.modifies) for each in action.outcomes if each.provides or each.modifies]
    return replace(action, provides=(), modifies=(), when=(*action.when, *effects))


def with_outcomes(problem: Problem, number: int) -> Problem:
    """Return `problem` with actions that come out in the way of this number, or in their last."""
    actions = {
        name: replace(action, provides=chosen.provides, modifies=chosen.modifies)
        for name, action in problem.domain.actions.items()
        for chosen in [action.outcomes[min(number, len(action.outcomes) - 1)] if action.outcomes else action]
    }
    return replace(problem, domain=replace(problem.domain, actions=actions))


def _fresh(name: str, problem: Problem, taken: Mapping[str, Action]) -> str:
    while name in problem.domain.actions or name in taken:
        name += "-"
    return name


ROUNDED: Final = Decimal("0.000001")
"""What expected costs are multiples of."""


def expected_costs(problem: Problem) -> Problem:
    """Return `problem` with what each step costs, uses and takes on the average until it comes out as intended.

    Actions keep their `risk` and `outcomes`, of which classical searches take no notice. Of outcomes, those that are
    `provides` and `modifies` are intended; where none is, or there are none, only the risk counts. Numbers are rounded
    to 6 decimals, half to even. Raises `InputError` for what is no classical problem.
    """
    check_classical(problem, "expected_costs", "give its classical part: problem.classical")
    actions = {name: _until_done(action, problem) for name, action in problem.domain.actions.items()}
    if all(action is problem.domain.actions[name] for name, action in actions.items()):
        return problem
    return seal_like(replace(problem, domain=replace(problem.domain, actions=actions)), problem)


def success(action: Action, arguments: tuple[str, ...]) -> Decimal:
    """Return how likely one attempt at a step comes out as intended."""
    risk, odds = action.odds(arguments)
    intended = action.provides, action.modifies
    shares = [share for each, share in zip(action.outcomes, odds, strict=True) if _effects(each) == intended]
    return (1 - risk) * (sum(shares, Decimal(0)) if shares else 1)


def _effects(outcome: Any) -> tuple[Any, Any]:
    return outcome.provides, outcome.modifies


def _until_done(action: Action, problem: Problem) -> Action:
    """Return `action` with what it takes on the average."""
    times = None if action.cases else 1 / success(action, ())
    if times == 1:
        return action
    uses = {name: _times(terms, times, action, problem) for name, terms in action.uses.items()}
    duration = None if action.duration is None or times is None else (action.duration * times).quantize(ROUNDED)
    return replace(
        action, cost=_times(action.cost, times, action, problem), uses=uses, duration=duration or action.duration
    )


def _times(
    terms: tuple[CostTerm, ...], times: Decimal | None, action: Action, problem: Problem
) -> tuple[CostTerm, ...]:
    """Return the sum of `terms`, so many `times`; None: as often as the arguments of a step ask for."""
    numbers = [term for term in terms if isinstance(term, int | Decimal)]
    if times is not None and len(numbers) == len(terms):
        return (_rounded(exact_sum(numbers) * times),)
    return (CostFunction(Expected(terms, action, problem.values)),)


def _rounded(number: Number) -> Number:
    return exact_number(Decimal(number).quantize(ROUNDED, ROUND_HALF_EVEN))


@dataclass(frozen=True, slots=True)
class Expected:
    """What a step takes on the average, as a function of its arguments: the sum of `terms` as often as it is tried."""

    terms: tuple[CostTerm, ...]
    action: Action
    values: Mapping[Atom, Number]

    def __call__(self, *arguments: str) -> Number:
        """Return the number; raises `PlanError` where a static value is missing."""
        binding = {each.name: value for each, value in zip(self.action.step_parameters, arguments, strict=False)}
        total = exact_sum(self._value(term, arguments, binding) for term in self.terms)
        return _rounded(total / success(self.action, arguments))

    def _value(self, term: CostTerm, arguments: tuple[str, ...], binding: Mapping[str, str]) -> Number:
        match term:
            case CostFunction():
                return term.value(arguments)
            case Atom():
                key = term.substitute(binding)
                if key not in self.values:
                    raise PlanError(f"{key} has no value")
                return self.values[key]
            case _:
                return term


def is_hopeless(problem: Problem, limits: Limits, solve: Solve) -> bool:
    """Return whether `problem` has no plan even where each action comes out as one likes; False if that is not known.

    `solve` is `planner.solve.answer`. Constraints are left out: steps that come out otherwise have other names here.
    """
    lucky = replace(determinise(problem).problem, constraints=())
    return solve(lucky, ANY_PLAN.within(limits)).status is Status.UNSOLVABLE
