"""What steps cost on the average until they come out as intended: uncertain actions for searches that know of none.

Steps that fail, or come out otherwise, are taken to be tried again until they do what they provide: an action that does
so with probability p is tried 1/p times (the self-loop relaxation; Keyder and Geffner, 2008).
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Decimal

from planner.annotations import Any, Final
from planner.classical import check_classical
from planner.errors import PlanError
from planner.model import Action, Atom, CostFunction, CostTerm, Number, Problem
from planner.model.numbers import exact_number
from planner.model.problem import sealed_as
from planner.plan import exact_sum
from planner.records import dataclass, replace

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
    return sealed_as(replace(problem, domain=replace(problem.domain, actions=actions)), problem)


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
