"""Determinizations of uncertain actions: all outcomes (Yoon, Fern and Givan, 2007) and expected costs.

The all-outcomes determinization has one action for each outcome. The outcome replaces what the action `provides` and
`modifies`; conditional effects belong to all outcomes. A problem is hopeless if this determinization has no plan.

Expected costs assume that a step is repeated until its intended outcome occurs: an action whose intended outcome has
probability p costs 1/p times as much (the self-loop relaxation: Keyder and Geffner, 2008).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_EVEN, Decimal

from planner.compilations import reserve_name
from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.passes import compile_away
from planner.errors import PlanError, UnsupportedError
from planner.lightweight import Any, Final, dataclass, replace
from planner.limits import Limits
from planner.model import TRUE, Action, Arithmetic, Atom, CostFunction, CostTerm, Number, Problem, When
from planner.model.constructs import Construct
from planner.model.formulas import Term, exact_number
from planner.model.problem import seal_like
from planner.options import ANY_PLAN, Solve
from planner.plan import Status, exact_sum
from planner.problem_kinds import check_classical
from planner.semantics.undefined_values import keep_needed

ROUNDING: Final = Decimal("1e-15")
"""Maximum by which probabilities may fall short of 1 because decimals are rounded."""


@dataclass(frozen=True, slots=True)
class OutcomeOf:
    """The outcome of `action` with this number, from 0."""

    action: str
    number: int


@dataclass(frozen=True, slots=True)
class Determinized:
    """A problem in plain ADL whose actions have one outcome each; `ways` maps their names to declared outcomes."""

    problem: Problem
    ways: Mapping[str, OutcomeOf]


def determinize(problem: Problem) -> Determinized:
    """Compile `problem` to plain ADL with one action for each outcome of each action.

    Actions with one outcome keep their names. The outcome in which nothing changes, as a `risk` says, needs no action.
    """
    most = max([len(action.outcomes) for action in problem.domain.actions.values()], default=0)
    variants = [compile_away(fix_outcome(problem, number), Construct.CHANGES) for number in range(max(most, 1))]
    actions: dict[str, Action] = {}
    ways: dict[str, OutcomeOf] = {}
    taken = set(problem.domain.actions)
    for name, action in problem.domain.actions.items():
        for number in range(max(len(action.outcomes), 1)):
            own = name if number == 0 else reserve_name(f"{name}-{number}", taken, "-")
            variant = variants[number].domain.actions[name]
            actions[own] = replace(variant, name=own, risk=Decimal(0), outcomes=(), cases=())
            ways[own] = OutcomeOf(name, number)
    first = variants[0]
    return Determinized(replace(first, domain=replace(first.domain, actions=actions)), ways)


def outcome_probabilities(action: Action, arguments: tuple[Term, ...]) -> tuple[Decimal, ...]:
    """Return the probability of each outcome of a step; the rest, up to 1, is the probability that nothing changes."""
    risk, odds = action.odds(arguments)
    whole = sum(odds, Decimal(0))
    return tuple([(1 - risk) * share / whole for share in odds] or [1 - risk])


def keep_relevant_actions(problem: Problem, used: Iterable[str] = ()) -> Problem:
    """Remove the actions of which no outcome is relevant to the goal; the actions `used` stay."""
    actions = problem.domain.actions
    merged = {name: _merge_outcomes(action) for name, action in actions.items()}
    kept = remove_irrelevant_actions(
        replace(problem, domain=replace(problem.domain, actions=merged)), used
    ).domain.actions
    if len(kept) == len(actions):
        return problem
    return replace(problem, domain=replace(problem.domain, actions={name: actions[name] for name in kept}))


def _merge_outcomes(action: Action) -> Action:
    """Return an action with the effects of all outcomes of `action`."""
    if not action.outcomes:
        return action
    effects = [When(TRUE, each.provides, each.modifies) for each in action.outcomes if each.provides or each.modifies]
    return replace(action, provides=(), modifies=(), when=(*action.when, *effects))


def fix_outcome(problem: Problem, number: int) -> Problem:
    """Give each action of `problem` the outcome of this number as its only one; or its last outcome if it has fewer."""
    actions = {
        name: replace(action, provides=chosen.provides, modifies=chosen.modifies, numbers=chosen.numbers)
        for name, action in problem.domain.actions.items()
        for chosen in [action.outcomes[min(number, len(action.outcomes) - 1)] if action.outcomes else action]
    }
    return replace(problem, domain=replace(problem.domain, actions=actions))


ROUNDED: Final = Decimal("0.000001")
"""Expected costs are rounded to multiples of this."""


def expected_costs(problem: Problem) -> Problem:
    """Return `problem` with the expected cost, use and duration of each step, repeated until its intended outcome.

    Actions keep their `risk` and `outcomes`, which classical searches ignore. The intended outcome has the action's own
    `provides` and `modifies`; where no outcome has them, only the risk counts. Numbers are rounded to 6 decimals, half
    to even. Raises `InputError` for a problem that is not classical.
    """
    check_classical(problem, "expected_costs", "give its classical part: problem.classical")
    actions = {name: _expect_attempts(action, problem) for name, action in problem.domain.actions.items()}
    if all(action is problem.domain.actions[name] for name, action in actions.items()):
        return problem
    return seal_like(replace(problem, domain=replace(problem.domain, actions=actions)), problem)


def success_probability(action: Action, arguments: tuple[str, ...]) -> Decimal:
    """Return the probability of the intended outcome in one attempt at a step."""
    risk, odds = action.odds(arguments)
    intended = action.provides, action.modifies, action.numbers
    shares = [share for each, share in zip(action.outcomes, odds, strict=True) if _effects(each) == intended]
    return (1 - risk) * (sum(shares, Decimal(0)) if shares else 1)


def _effects(outcome: Any) -> tuple[Any, Any, Any]:
    return outcome.provides, outcome.modifies, outcome.numbers


def _expect_attempts(action: Action, problem: Problem) -> Action:
    """Return `action` with its expected cost, use and duration."""
    times = None if action.cases else 1 / success_probability(action, ())
    if times == 1:
        return action
    uses = {name: _multiply(terms, times, action, problem) for name, terms in action.uses.items()}
    duration = action.duration
    if times is not None and isinstance(duration, int | Decimal):
        duration = (duration * times).quantize(ROUNDED)
    cost, needed = _multiply(action.cost, times, action, problem), keep_needed(action, problem)
    return replace(action, cost=cost, uses=uses, duration=duration, needs_values=needed)


def _multiply(
    terms: tuple[CostTerm, ...], times: Decimal | None, action: Action, problem: Problem
) -> tuple[CostTerm, ...]:
    """Return the sum of `terms` multiplied by `times`; None: by a factor that depends on the arguments of a step."""
    numbers = [term for term in terms if isinstance(term, int | Decimal)]
    if times is not None and len(numbers) == len(terms):
        return (_round(exact_sum(numbers) * times),)
    return (CostFunction(_ExpectedSum(terms, action, problem.values)),)


def _round(number: Number) -> Number:
    return exact_number(Decimal(number).quantize(ROUNDED, ROUND_HALF_EVEN))


@dataclass(frozen=True, slots=True)
class _ExpectedSum:
    """The expected sum of `terms` over all attempts at a step of `action`, as a function of its arguments."""

    terms: tuple[CostTerm, ...]
    action: Action
    values: Mapping[Atom, Number]

    def __call__(self, *arguments: str) -> Number:
        """Return the number. Raises `PlanError` where a static value is missing."""
        binding = {each.name: value for each, value in zip(self.action.step_parameters, arguments, strict=False)}
        total = exact_sum(self._value(term, arguments, binding) for term in self.terms)
        return _round(total / success_probability(self.action, arguments))

    def _value(self, term: CostTerm, arguments: tuple[str, ...], binding: Mapping[str, str]) -> Number:
        match term:
            case CostFunction():
                return term.value(arguments)
            case Atom():
                key = term.substitute(binding)
                if key not in self.values:
                    raise PlanError(f"{key} has no value")
                return self.values[key]
            case Arithmetic():
                raise UnsupportedError(f"the cost {term} of an uncertain action", "give it as one function")
            case _:
                return term


def is_hopeless(problem: Problem, limits: Limits, solve: Solve) -> bool:
    """Return whether the all-outcomes determinization of `problem` is proved to have no plan.

    `solve` is `planner.solve.answer`. Constraints are dropped, since they name steps and outcomes have other names.
    """
    lucky = replace(determinize(problem).problem, constraints=())
    return solve(lucky, ANY_PLAN.within(limits)).status is Status.UNSOLVABLE
