"""All-outcomes determinisation: one action for each outcome (Yoon, Fern and Givan, 2007).

An outcome replaces what its action `provides` and `modifies`; the action's conditional effects belong to all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from planner.annotations import Final
from planner.model import TRUE, Action, Problem, When
from planner.model.atoms import Term
from planner.normalise import relevant_part, to_adl
from planner.records import dataclass, replace

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
    variants = [to_adl(with_outcomes(problem, number)) for number in range(max(most, 1))]
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
