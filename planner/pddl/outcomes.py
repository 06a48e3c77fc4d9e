"""Uncertain actions in the form that PPDDL has words for: `probabilistic` effects (Younes and Littman, 2004)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext

from planner.annotations import Final
from planner.errors import UnsupportedError
from planner.model import OPEN, TRUE, Action, Atom, DomainModel, Not, Outcome, Problem, When
from planner.normalise import to_adl
from planner.pddl.expressions import split_common
from planner.records import replace

_EXACT: Final = 60
"""Digits that the product of two probabilities has at most; each has up to 28."""
_DOCUMENTS: Final = "YAML and JSON documents say it (--to yaml)"


def to_plain_outcomes(problem: Problem) -> Problem:
    """Return `problem` in plain ADL, but for outcomes: these provide literals, and modify open patterns only.

    A risk becomes an outcome that changes nothing. The intended outcome of each action comes first. Raises
    `UnsupportedError` for probabilities that depend on arguments, and where outcomes differ in conditional effects.
    """
    if not any(action.is_uncertain for action in problem.domain.actions.values()):
        return to_adl(problem)
    from planner.uncertain.determinise import with_outcomes  # noqa: PLC0415 - few problems are uncertain

    if problem.constraints:
        raise UnsupportedError("constraints beside uncertain outcomes, in PDDL", _DOCUMENTS)
    most = max(len(action.outcomes) for action in problem.domain.actions.values())
    variants = [to_adl(with_outcomes(problem, number)) for number in range(max(most, 1))]
    actions = {
        name: _with_plain_outcomes(action, [each.domain.actions[name] for each in variants])
        for name, action in problem.domain.actions.items()
    }
    return replace(variants[0], domain=replace(variants[0].domain, actions=actions))


def find_unlikely(domain: DomainModel) -> list[str]:
    """Return the actions that intend an outcome which is not the likeliest of those that change anything.

    PDDL does not say which outcome is intended: our reader, for one, takes the likeliest.
    """
    found = []
    for action in domain.actions.values():
        pairs = zip(action.outcomes, split_common(action.outcomes)[1] if action.outcomes else (), strict=True)
        intended = [each.probability for each in action.outcomes if _is_intended(each, action)]
        others = [
            each.probability
            for each, rest in pairs
            if not _is_intended(each, action) and (rest.provides or rest.modifies)
        ]
        if intended and others and max(others) > intended[0]:
            found.append(action.name)
    return found


def _is_intended(outcome: Outcome, action: Action) -> bool:
    return (outcome.provides, outcome.modifies) == (action.provides, action.modifies)


def _with_plain_outcomes(action: Action, variants: Sequence[Action]) -> Action:
    """Return `action`, which is the action in `variants` where it comes out in the way of their number."""
    if not action.is_uncertain:
        return variants[0]
    if action.cases:
        raise UnsupportedError(f"probabilities of '{action.name}' that depend on its arguments, in PDDL", _DOCUMENTS)
    ways = variants[: max(len(action.outcomes), 1)]
    always = [tuple([each for each in way.when if not _is_retraction(each)]) for way in ways]
    if any(each != always[0] for each in always) or (action.risk and always[0]):
        construct = f"uncertain outcomes of '{action.name}' beside conditional effects that are not part of them all"
        raise UnsupportedError(f"{construct}, in PDDL", _DOCUMENTS)
    outcomes = _outcomes(action, ways)
    return replace(variants[0], provides=outcomes[0].provides, when=always[0], risk=Decimal(0), outcomes=outcomes)


def _outcomes(action: Action, ways: Sequence[Action]) -> tuple[Outcome, ...]:
    """Return the outcomes, the intended one first, and that nothing changes last where there is a risk."""
    shares = [each.probability for each in action.outcomes] or [Decimal(1)]
    intended = [_is_intended(each, action) for each in action.outcomes]
    with localcontext() as context:
        context.prec = _EXACT
        found = [
            Outcome(share * (1 - action.risk), way.provides, tuple(map(_pattern, filter(_is_retraction, way.when))))
            for share, way in zip(shares, ways, strict=True)
        ]
    first = intended.index(True) if True in intended else 0
    nothing = [Outcome(action.risk)] if action.risk else []
    return (found[first], *found[:first], *found[first + 1 :], *nothing)


def _is_retraction(effect: When) -> bool:
    """Return whether `effect` retracts all facts of one pattern, whatever holds."""
    match effect.requires, effect.provides:
        case required, (Not(Atom() as atom),) if required == TRUE and effect.variables:
            return all(atom.args.count(variable.name) == 1 for variable in effect.variables)
    return False


def _pattern(effect: When) -> Atom:
    """Return the pattern of the facts that `effect` retracts."""
    (literal,) = effect.provides
    assert isinstance(literal, Not)  # noqa: S101 - it is a retraction
    assert isinstance(literal.part, Atom)  # noqa: S101 - as above
    return literal.part.substitute({variable.name: OPEN for variable in effect.variables})


def determinize(domain: DomainModel) -> DomainModel:
    """Return `domain` with the intended outcome of each action alone: its single-outcome determinization.

    Source: Yoon, Fern and Givan (2007, "FF-Replan").
    """
    certain = {name: replace(action, outcomes=(), risk=Decimal(0), cases=()) for name, action in domain.actions.items()}
    return replace(domain, actions=certain)
